"""Tools that are called elsewhere than in a ToolNode of the agent: in a node's own code, in graphs that tools run.

Heard by a callback, which can stop a call and change nothing about it. So a human can approve or reject, and not edit;
and what was done for one approval is asked about again before it is done again, for instance in a node that runs again.
"""

from collections import Counter
from collections.abc import Collection
from typing import cast
from uuid import UUID

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.errors import GraphBubbleUp
from pydantic import JsonValue

from nodes.agents.hearing import Call, Hearing, ToolCalled
from nodes.agents.internals import CHECKPOINT_NS, NotAllowed
from nodes.agents.toolgate import LEFT, ToolGate
from nodes.agents.worker.act import doubt, presumed, rejected
from nodes.agents.worker.calls import mark_of
from nodes.agents.worker.overseeing import Action, is_overseen, question_about, signs_of
from nodes.agents.worker.perform import changes_the_world, charged
from nodes.runtime.subthread import plain
from state.approval import Answer, Approval
from state.effect import Effect
from state.errors import AgentFailed

CHOICES: tuple[Answer, ...] = ("approve", "reject")


class ToolUse(Hearing):
    """For one try of one agent. `goes_on`: it goes on where it stood after an answer, and does not begin anew.

    Calls made directly in one of the LangChain runs `own` are those of a function's own code: it asks by its desk.
    """

    def __init__(self, gate: ToolGate, *, goes_on: bool, own: Collection[UUID | None] = ()) -> None:
        super().__init__()
        self._gate, self._goes_on, self._own = gate, goes_on, own
        self._times: Counter[str] = Counter()
        self._under_way: dict[UUID, Effect] = {}

    async def begins(self, call: Call) -> None:
        """Let the call pass, or stop it.

        Raises:
            GraphInterrupt: a human has to be asked first.
            NotAllowed: a human said no.
            AgentFailed: the run's budget has no room for what it costs.
        """
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        gate, name = self._gate, self._name(call)
        before = await gate.done(name)
        question = self._again(call, before) if before else await self._first(call, name)
        decision = gate.decision(question)
        if question and not decision:
            gate.wait([question])
        if decision and decision.type == "reject":
            if before and before.status == "intended":
                await gate.floor.effects.settle(before, "presumed", reply=presumed(decision))
            raise NotAllowed(presumed(decision) if before else rejected(_as_made(call), decision).text)
        if refusal := await charged(call.marks, _as_made(call), gate):
            raise AgentFailed(refusal.text, "limit")
        if changes_the_world(call.name, call.marks, gate.floor.run.policy):
            self._under_way[call.id] = await gate.floor.effects.intend(self._effect(call, name))

    def begins_at_once(self, call: Call) -> None:
        """Let pass what nobody has to know of; AgentFailed for the rest: nobody can be asked in the middle of it."""
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        if is_overseen(call.name, call.marks, self._gate.floor.run.policy):
            raise AgentFailed(
                f"{call.name} has to be asked about, which cannot be waited for where it is called without await in an"
                " async function: call `await tool.ainvoke(…)`",
                "permanent",
            )

    async def ended(self, call_id: UUID, made: object) -> None:
        """Put on the ledger what came of it."""
        if effect := self._under_way.pop(call_id, None):
            effects = self._gate.floor.effects
            if isinstance(made, GraphBubbleUp):
                await effects.settle(effect, "refused", reply=LEFT)
            elif isinstance(made, BaseException):
                await effects.settle(effect, "failed", reply=f"{type(made).__name__}: {made}")
            else:
                is_error = isinstance(made, ToolMessage) and made.status == "error"
                said = made.text if isinstance(made, ToolMessage) else str(made)
                await effects.settle(effect, "failed" if is_error else "done", reply=said)

    def _is_free(self, call: ToolCalled) -> bool:
        return call.within in self._own or self._gate.has_passed(call.name, call.args)

    def _name(self, call: ToolCalled) -> str:
        """What tells the action apart, also when the agent goes on after an answer: place, arguments and a count."""
        place = str(call.marks.get(CHECKPOINT_NS, "")) if self._goes_on else ""
        mark = mark_of(call.name, {"args": call.args, "place": place})
        self._times[mark] += 1
        return f"{self._gate.brief.task.id}.{mark}.{self._times[mark]}"

    async def _first(self, call: ToolCalled, name: str) -> Approval | None:
        if self._gate.was_asked(call.name, call.args):
            return None
        action = Action(call.name, _plain_args(call), call.marks, choices=CHOICES)
        return await question_about(action, name, self._gate)

    def _again(self, call: ToolCalled, before: Effect) -> Approval:
        """The question about an action that was begun before."""
        if question := doubt(before, self._gate):
            return question.model_copy(update={"choices": list(CHOICES), "args_schema": None})
        return Approval(
            id=f"{before.id}.again{before.tries}",
            task_id=before.task_id,
            agent=self._gate.spec.name,
            path=list(self._gate.path),
            action=call.name,
            args=_plain_args(call),
            choices=list(CHOICES),
            risk=signs_of(call.name, call.marks, self._gate.floor.run.policy).risk,
            reason="it was called before with the same arguments: the work around it began anew",
            description=f"`{call.name}` was called for task `{before.task_id}`, and this came of it: {before.status}."
            " Approve: call it again. Reject: it is not called again, and the agent is told so.",
        )

    def _effect(self, call: ToolCalled, name: str) -> Effect:
        gate = self._gate
        return Effect(id=name, task_id=gate.brief.task.id, agent=gate.spec.name, tool=call.name, args=_plain_args(call))


def _plain_args(call: ToolCalled) -> dict[str, JsonValue]:
    return cast(dict[str, JsonValue], plain(call.args))


def _as_made(call: ToolCalled) -> ToolCall:
    return ToolCall(name=call.name, args=call.args, id=str(call.id), type="tool_call")
