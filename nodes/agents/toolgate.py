"""The gate before tools that agents with a loop of their own call: what is asked there, and what was answered.

Two ways lead to it: the ToolNodes of a graph (`nodes.agents.toolnodes`), and every other call that LangChain tells of
(`nodes.agents.tooluse`). Where an answer is missing the graph stops there, by an interrupt of LangGraph's that carries
nothing: what waits for a human is an approval like any other, kept with the conversation of the parked agent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NoReturn, cast

from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from pydantic import JsonValue

from nodes.agents.job import Job
from nodes.policy.rejection import denial
from nodes.runtime.deeds import Case, Deed, look_into, mark_of
from nodes.runtime.floor import Floor
from state.agent import AgentSpec
from state.approval import Approval, Decision
from state.brief import Brief
from state.effect import EffectStatus

TOOLS = "tools"
"""Under this a parked agent keeps what it was asked at this gate."""
MIDDLEWARE = "middleware"
"""Under this, what its own human-in-the-loop middleware has asked: that is not asked again here."""

ANEW: tuple[EffectStatus, ...] = ("refused",)

_let_through: ContextVar[str] = ContextVar("the call that has passed the gate", default="")


class ToolGate:
    """For one try of one agent. A `Place`, in the sense of `nodes.agents.worker.overseeing`."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._before = _approvals(job, TOOLS)
        self._middleware = _approvals(job, MIDDLEWARE)
        self.asked: dict[str, Approval] = {}
        """What is asked in this stretch, by id."""
        self.tools: dict[str, BaseTool] = {}
        """Those that are known here, by name."""

    @property
    def spec(self) -> AgentSpec:
        """The agent."""
        return self._job.spec

    @property
    def brief(self) -> Brief:
        """What it works on."""
        return self._job.brief

    @property
    def floor(self) -> Floor:
        """Where."""
        return self._job.floor

    @property
    def path(self) -> tuple[str, ...]:
        """Agents from the one that has the plan's task to this one."""
        return tuple(self._job.path)

    @property
    def account(self) -> str:
        """The plan's task that money is settled on."""
        return self._job.ledger_task

    def tool(self, name: str) -> BaseTool | None:
        """The tool of that name, if it is known here."""
        return self.tools.get(name)

    async def look_into(self, deed: Deed) -> Case:
        """What stands between the agent and its deed; a tool that has left with a question of its own runs again."""
        before = await self.floor.effects.find(deed.id)
        if (before is None or before.status in ANEW) and self.was_asked(deed.name, deed.args):
            deed = replace(deed, signs=None)
        return await look_into(deed, self.floor, done_anew=ANEW)

    def decision(self, question: Approval | None) -> Decision | None:
        """What was said to a question."""
        return self.floor.steering.decisions.get(question.id) if question else None

    def waiting(self) -> list[Approval]:
        """What was asked, now or before, and has no answer."""
        known = {question.id: question for question in self._before} | self.asked
        return [question for question in known.values() if self.decision(question) is None]

    def denied(self) -> str:
        """Why the agent ends after what was answered, or an empty string."""
        policy, said = self.floor.run.policy, ((one, self.decision(one)) for one in self._before)
        return next((why for one, no in said if no and (why := denial(no, one.action, policy))), "")

    def wait(self, questions: Iterable[Approval]) -> NoReturn:
        """Stop here, until these are answered."""
        self.asked |= {question.id: question for question in questions}
        raise GraphInterrupt(())

    def kept(self, by_middleware: Sequence[Approval] = ()) -> dict[str, JsonValue]:
        """What the agent keeps while it waits."""
        kept = {TOOLS: self.waiting(), MIDDLEWARE: [*self._middleware, *by_middleware]}
        return {name: [one.model_dump(mode="json") for one in found] for name, found in kept.items() if found}

    def was_asked(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether the agent's own middleware has asked about this very call, and a human has allowed it."""
        said = ((one, self.decision(one)) for one in self._middleware)
        return mark_of(name, args) in {
            mark_of(one.action, decision.args if decision.args is not None else one.args)
            for one, decision in said
            if decision and decision.type != "reject"
        }

    def was_decided(self, deed: Deed) -> bool:
        """Whether the agent's own middleware has asked about the call as its model made it, whatever was said."""
        mark = mark_of(deed.name, deed.args)
        return any(mark_of(one.action, one.args) == mark and self.decision(one) for one in self._middleware)

    @contextmanager
    def letting_through(self, name: str, args: Mapping[str, Any]) -> Iterator[None]:
        """While inside, this call is not asked about again."""
        token = _let_through.set(mark_of(name, args))
        try:
            yield
        finally:
            _let_through.reset(token)

    def has_passed(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether this call was let through further out."""
        return _let_through.get() == mark_of(name, args)


def _approvals(job: Job, name: str) -> list[Approval]:
    found = cast(list[JsonValue], job.kept.get(name) or [])
    return [Approval.model_validate(one) for one in found]
