"""Asks a human before sensitive tools that agents with a loop of their own call, and does each once.

Two ways lead here. In the ToolNodes of a graph (`create_agent` has one) calls are treated as the worker's own: those
of one turn wait together, and nothing of it is done before all of it is answered, so that a node that runs again
does not repeat what was done beside a question. Tools called elsewhere (in a node's own code, in graphs that tools
run) are seen by a callback, which can stop a call and change nothing about it: a human can approve or reject, not
edit, and what was done for one approval is asked about again before it is done again.

Where an answer is missing the graph stops there, by an interrupt of LangGraph's that carries nothing: what waits for
a human is an approval like any other, kept with the conversation of the parked agent.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NoReturn, cast
from uuid import UUID

from langchain_core.messages import BaseMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from pydantic import JsonValue

from nodes.agents.callbacks import AgentCallbacks, Call, ToolCalled
from nodes.agents.internals import CHECKPOINT_NS, Go, NotAllowed
from nodes.agents.invocation import Invocation
from nodes.agents.tool_calls import (
    changes_the_world,
    charged,
    deed_of,
    failed,
    is_overseen,
    marked_deed,
    open_calls,
    recorded,
)
from nodes.policy.approvals import denial
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.side_effects import Clearance, SideEffect, clearance_for, idempotency_key
from state.agent import AgentSpec, Brief
from state.approval import Answer, Approval, Decision
from state.errors import AgentFailed
from state.side_effect import Effect, EffectStatus
from state.text import as_text, in_words, to_json

TOOLS = "tools"
"""Under this a parked agent keeps what it was asked at this gate."""
MIDDLEWARE = "middleware"
"""Under this, what its own human-in-the-loop middleware has asked: that is not asked again here."""

ANEW: tuple[EffectStatus, ...] = ("refused",)

_let_through: ContextVar[str] = ContextVar("the call that has passed the gate", default="")


class ToolGuard:
    """For one try of one agent. A `Place`, in the sense of `nodes.agents.tool_calls`."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._before = _approvals(invocation, TOOLS)
        self._middleware = _approvals(invocation, MIDDLEWARE)
        self.asked: dict[str, Approval] = {}
        """What is asked in this stretch, by id."""
        self.tools: dict[str, BaseTool] = {}
        """Those that are known here, by name."""

    @property
    def spec(self) -> AgentSpec:
        """The agent."""
        return self._invocation.spec

    @property
    def brief(self) -> Brief:
        """What it works on."""
        return self._invocation.brief

    @property
    def execution(self) -> ExecutionContext:
        """Where."""
        return self._invocation.execution

    @property
    def path(self) -> tuple[str, ...]:
        """Agents from the one that has the plan's task to this one."""
        return tuple(self._invocation.path)

    @property
    def charged_task(self) -> str:
        """The plan's task that money is settled on."""
        return self._invocation.charged_task

    def tool(self, name: str) -> BaseTool | None:
        """The tool of that name, if it is known here."""
        return self.tools.get(name)

    async def clearance_for(self, side_effect: SideEffect) -> Clearance:
        """What stands between the agent and its side effect; a tool that left with a question of its own runs again."""
        before = await self.execution.effects.find(side_effect.id)
        if (before is None or before.status in ANEW) and self.was_asked(side_effect.name, side_effect.args):
            side_effect = replace(side_effect, signs=None)
        return await clearance_for(side_effect, self.execution, repeatable=ANEW)

    def decision(self, question: Approval | None) -> Decision | None:
        """What was said to a question."""
        return self.execution.signals.decisions.get(question.id) if question else None

    def waiting(self) -> list[Approval]:
        """What was asked, now or before, and has no answer."""
        known = {question.id: question for question in self._before} | self.asked
        return [question for question in known.values() if self.decision(question) is None]

    def denied(self) -> str:
        """Why the agent ends after what was answered, or an empty string."""
        policy, said = self.execution.run.policy, ((one, self.decision(one)) for one in self._before)
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
        return idempotency_key(name, args) in {
            idempotency_key(one.action, decision.args if decision.args is not None else one.args)
            for one, decision in said
            if decision and decision.type != "reject"
        }

    def was_decided(self, side_effect: SideEffect) -> bool:
        """Whether the agent's own middleware has asked about the call as its model made it, whatever was said."""
        mark = idempotency_key(side_effect.name, side_effect.args)
        return any(idempotency_key(one.action, one.args) == mark and self.decision(one) for one in self._middleware)

    @contextmanager
    def passing(self, name: str, args: Mapping[str, Any]) -> Iterator[None]:
        """While inside, this call is not asked about again."""
        token = _let_through.set(idempotency_key(name, args))
        try:
            yield
        finally:
            _let_through.reset(token)

    def has_passed(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether this call was let through further out."""
        return _let_through.get() == idempotency_key(name, args)


def _approvals(invocation: Invocation, name: str) -> list[Approval]:
    found = cast(list[JsonValue], invocation.kept.get(name) or [])
    return [Approval.model_validate(one) for one in found]


class ToolNodeGuard:
    """The calls of one graph's ToolNodes."""

    def __init__(self, gate: ToolGuard) -> None:
        self.gate = gate
        self._at_work: set[str] = set()
        self._looking = asyncio.Lock()

    async def guard(
        self, call: ToolCall, tool: BaseTool, said: Sequence[BaseMessage], tools: Mapping[str, BaseTool], go: Go
    ) -> Any:
        """The answer to a call: what the tool says, or why it is not done.

        Raises:
            GraphInterrupt: something of the same turn waits for a human.
        """
        self.gate.tools.update({**tools, tool.name: tool})
        async with self._looking:
            clearance = await self._case_of(call, said)
            if clearance is None:
                return failed(call, "this very call is being made already")
            self._at_work.add(clearance.side_effect.id)
        try:
            return await self._answer(call, clearance, tool, go)
        finally:
            self._at_work.discard(clearance.side_effect.id)

    async def _case_of(self, call: ToolCall, said: Sequence[BaseMessage]) -> Clearance | None:
        """What stands between the call and being made, once nothing of its turn waits; None if it is being made."""
        turn = open_calls(cast(Any, said))
        if not any(_is_same(one, call) for one, _ in turn):  # its middleware has changed it
            turn.append((call, idempotency_key(call["name"], call["args"])))
        cases = [(one, await self._case(one, mark, is_mine=_is_same(one, call))) for one, mark in turn]
        known = [clearance for _, clearance in cases if clearance]
        if waiting := [one.question for one in known if one.question and one.is_waiting]:
            self.gate.wait(waiting)
        return next((clearance for one, clearance in cases if clearance and _is_same(one, call)), None)

    async def _case(self, call: ToolCall, mark: str, *, is_mine: bool) -> Clearance | None:
        side_effect = deed_of(call, mark, self.gate)
        if side_effect.id in self._at_work or (not is_mine and self.gate.was_decided(side_effect)):
            return None
        return await self.gate.clearance_for(side_effect)

    async def _answer(self, call: ToolCall, clearance: Clearance, tool: BaseTool, go: Go) -> Any:
        effects, marks = self.gate.execution.effects, tool.metadata or {}
        if clearance.before and clearance.is_final:
            return recorded(call, clearance.before)
        if clearance.is_rejected:
            return failed(call, as_text((await clearance.rejected(effects)).reply))
        if refusal := await charged(marks, call, self.gate):
            return refusal
        made = cast(ToolCall, {**call, "args": clearance.args})
        with self.gate.passing(call["name"], clearance.args):
            if changes_the_world(tool.name, marks, self.gate.execution.run.policy):
                reply = await self._once(made, clearance, go)
            else:
                reply = await go(made)
        return _with_edit(reply, clearance)

    async def _once(self, call: ToolCall, clearance: Clearance, go: Go) -> Any:
        """Make a call that changes the world, with its intent and its outcome on the ledger."""
        effects = self.gate.execution.effects
        effect = await effects.begin(clearance.side_effect.effect(cast(dict[str, JsonValue], to_json(call["args"]))))
        try:
            reply = await go(call)
        except GraphBubbleUp:  # it asks by itself, and runs again when that is answered
            await effects.settle(effect, "refused", reply="")
            raise
        except Exception as error:
            await effects.settle(effect, "failed", reply=f"{call['name']} failed: {in_words(error)}")
            raise
        is_error = isinstance(reply, ToolMessage) and reply.status == "error"
        said = reply.text if isinstance(reply, ToolMessage) else "it was done"
        await effects.settle(effect, "failed" if is_error else "done", reply=said)
        return reply


def _is_same(one: ToolCall, other: ToolCall) -> bool:
    return (one["id"], one["name"], one["args"]) == (other["id"], other["name"], other["args"])


def _with_edit(reply: Any, clearance: Clearance) -> Any:
    """The tool's answer, which says so where a human has had it called with other arguments than its model did."""
    if clearance.edit is None or not isinstance(reply, ToolMessage) or not isinstance(reply.content, str):
        return reply
    by = clearance.decision.by if clearance.decision else "a human"
    note = f"({by} had it called with {json.dumps(clearance.edit, ensure_ascii=False, default=str)})"
    return reply.model_copy(update={"content": f"{note}\n{reply.content}"})


CHOICES: tuple[Answer, ...] = ("approve", "reject")


class CallbackGuard(AgentCallbacks):
    """For one try of one agent. `goes_on`: it goes on where it stood after an answer, and does not begin anew.

    Calls made directly in one of the LangChain runs `own` are those of a function's own code: it asks by its desk.
    """

    def __init__(self, gate: ToolGuard, *, goes_on: bool, own: Collection[UUID | None] = ()) -> None:
        super().__init__()
        self._gate, self._goes_on, self._own = gate, goes_on, own
        self._times: Counter[str] = Counter()
        self._under_way: dict[UUID, Effect] = {}

    async def on_start(self, call: Call) -> None:
        """Let the call pass, or stop it.

        Raises:
            GraphInterrupt: a human has to be asked first.
            NotAllowed: a human said no.
            AgentFailed: the run's budget has no room for what it costs.
        """
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        gate, side_effect = self._gate, self._deed(call)
        clearance = await gate.clearance_for(side_effect)
        if clearance.before and clearance.is_final:
            question = self._again(side_effect, clearance.before)
            clearance = replace(clearance, question=question, decision=gate.decision(question))
        if clearance.question and clearance.is_waiting:
            gate.wait([clearance.question])
        if clearance.is_rejected:
            raise NotAllowed(as_text((await clearance.rejected(gate.execution.effects)).reply))
        made = ToolCall(name=call.name, args=call.args, id=str(call.id), type="tool_call")
        if refusal := await charged(call.marks, made, gate):
            raise AgentFailed(refusal.text, "limit")
        if changes_the_world(call.name, call.marks, gate.execution.run.policy):
            self._under_way[call.id] = await gate.execution.effects.begin(side_effect.effect(side_effect.args))

    def on_start_sync(self, call: Call) -> None:
        """Let pass what nobody has to know of; AgentFailed for the rest: nobody can be asked in the middle of it."""
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        if is_overseen(self._deed(call), self._gate.execution.run.policy):
            raise AgentFailed(
                f"{call.name} has to be asked about, which cannot be waited for where it is called without await in an"
                " async function: call `await tool.ainvoke(…)`",
                "permanent",
            )

    async def on_end(self, call_id: UUID, made: object) -> None:
        """Put on the ledger what came of it."""
        if effect := self._under_way.pop(call_id, None):
            effects = self._gate.execution.effects
            if isinstance(made, GraphBubbleUp):
                await effects.settle(effect, "refused", reply="")
            elif isinstance(made, BaseException):
                await effects.settle(effect, "failed", reply=f"{type(made).__name__}: {made}")
            else:
                is_error = isinstance(made, ToolMessage) and made.status == "error"
                said = made.text if isinstance(made, ToolMessage) else str(made)
                await effects.settle(effect, "failed" if is_error else "done", reply=said)

    def _is_free(self, call: ToolCalled) -> bool:
        return call.within in self._own or self._gate.has_passed(call.name, call.args)

    def _deed(self, call: ToolCalled) -> SideEffect:
        """The call as what it does; told apart, also when the agent goes on after an answer, by its place and count."""
        place = str(call.marks.get(CHECKPOINT_NS, "")) if self._goes_on else ""
        mark = idempotency_key(call.name, {"args": call.args, "place": place})
        self._times[mark] += 1
        args = cast(dict[str, JsonValue], to_json(call.args))
        side_effect = marked_deed(call.name, args, call.marks, f"{mark}.{self._times[mark]}", self._gate)
        return replace(side_effect, choices=CHOICES)

    def _again(self, side_effect: SideEffect, before: Effect) -> Approval:
        """The question about an action that was done before, for one approval."""
        return Approval(
            id=f"{before.id}.again{before.tries}",
            task_id=before.task_id,
            agent=side_effect.agent,
            path=list(side_effect.path),
            action=side_effect.name,
            args=side_effect.args,
            choices=list(side_effect.choices),
            risk="critical" if side_effect.signs and side_effect.signs.risk == "critical" else "high",
            reason="it was called before with the same arguments: the work around it began anew",
            description=f"`{side_effect.name}` was called for task `{before.task_id}`, with this end: {before.status}."
            " Approve: call it again. Reject: it is not called again, and the agent is told so.",
        )
