"""Asks a human before sensitive tools that agents with a loop of their own call, and does each once.

Calls come here in three ways, to one guard:

- In the ToolNodes of a graph (`create_agent` has one) it stands around each call, and calls are treated as the worker's
  own: those of one turn wait together, and nothing of it is done before all of it is answered, so that a node that runs
  again does not repeat what was done beside a question.
- Around a tool that was made `governed` it stands wherever that is called, a function's own code included.
- Of every other LangChain tool it hears by a callback, which can stop a call and change nothing about it: a human can
  approve or reject, not edit, and what was done for one approval is asked about again before it is done again.

Where an answer is missing the graph stops there, by an interrupt of LangGraph's that carries nothing: what waits for
a human is an approval like any other, kept with the conversation of the parked agent.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any, NoReturn, cast
from uuid import UUID

from langchain_core.messages import BaseMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.tools import tool as made_tool
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.types import Command
from pydantic import JsonValue

from nodes.agents.callbacks import AgentCallbacks, Call, ToolCalled
from nodes.agents.invocation import Invocation
from nodes.agents.tool_calls import (
    GO_ON,
    GovernedTool,
    changes_the_world,
    charged,
    contained_tool,
    failed,
    is_overseen,
    open_calls,
    recorded,
    side_effect_by_marks,
    side_effect_of,
)
from nodes.policy.approvals import denial
from nodes.runtime.side_effects import Clearance, SideEffect, clearance_for, idempotency_key
from state.approval import Answer, Approval, Decision
from state.errors import AgentFailed, ToolRefused
from state.side_effect import Effect, EffectStatus
from state.text import as_text, in_words, to_json

TOOLS = "tools"
"""Under this a parked agent keeps what it was asked at this gate."""
MIDDLEWARE = "middleware"
"""Under this, what its own human-in-the-loop middleware has asked: that is not asked again here."""
PLACE = "langgraph_checkpoint_ns"
"""Under this LangGraph notes, in the metadata of a call, which step of which graph makes it."""

ANEW: tuple[EffectStatus, ...] = ("refused",)
CHOICES: tuple[Answer, ...] = ("approve", "reject")

_passed: ContextVar[str] = ContextVar("the call that has passed the gate", default="")


class Waits(GraphInterrupt):
    """A tool call waits for a human. LangChain logs what a callback raises, so it says so there, once."""

    def __init__(self, questions: Sequence[Approval]) -> None:
        super().__init__(())
        self._asked = ", ".join(question.action for question in questions)

    def __repr__(self) -> str:
        return f"Waits(a human is asked about {self._asked} first)"


class NotAllowed(ToolInvocationError, AgentFailed):
    """A human said no to a tool call. A ToolNode tells its model so, unless it was made to do something else.

    As text it is for people: it may be the reason why an agent failed. `message` is what the ToolNode tells.
    """

    def __init__(self, told: str) -> None:
        AgentFailed.__init__(self, told, "denied")
        self.message = told + GO_ON


class ToolGuard(AgentCallbacks):
    """For one try of one agent. `goes_on`: it goes on where it stood after an answer, and does not begin anew.

    Calls made directly in one of the LangChain runs `own` are those of a function's own code: it asks by its desk.
    """

    def __init__(self, invocation: Invocation, *, goes_on: bool, own: Collection[UUID | None] = ()) -> None:
        super().__init__()
        self.asked: dict[str, Approval] = {}
        """What is asked in this stretch, by id."""
        self._invocation, self._goes_on, self._own = invocation, goes_on, own
        self._before = _approvals(invocation, TOOLS)
        self._middleware = _approvals(invocation, MIDDLEWARE)
        self._at_work: set[str] = set()
        self._looking = asyncio.Lock()
        self._times: Counter[str] = Counter()
        self._under_way: dict[UUID, Effect] = {}

    # What was asked, and what was said to it.

    def waiting(self) -> list[Approval]:
        """What was asked, now or before, and has no answer."""
        known = {question.id: question for question in self._before} | self.asked
        return [question for question in known.values() if self._decision(question) is None]

    def denied(self) -> str:
        """Why the agent ends after what was answered, or an empty string."""
        policy, said = self._invocation.execution.run.policy, ((one, self._decision(one)) for one in self._before)
        return next((why for one, no in said if no and (why := denial(no, one.action, policy))), "")

    def kept(self, by_middleware: Sequence[Approval] = ()) -> dict[str, JsonValue]:
        """What the agent keeps while it waits."""
        kept = {TOOLS: self.waiting(), MIDDLEWARE: [*self._middleware, *by_middleware]}
        return {name: [one.model_dump(mode="json") for one in found] for name, found in kept.items() if found}

    def _decision(self, question: Approval | None) -> Decision | None:
        return self._invocation.execution.signals.decisions.get(question.id) if question else None

    def _wait(self, questions: Iterable[Approval]) -> NoReturn:
        """Stop here, until these are answered."""
        found = {question.id: question for question in questions}
        self.asked |= found
        raise Waits(list(found.values()))

    def _was_allowed(self, side_effect: SideEffect) -> bool:
        """Whether the agent's own middleware has asked about this very call, and a human has allowed it."""
        said = ((one, self._decision(one)) for one in self._middleware)
        return idempotency_key(side_effect.name, side_effect.args) in {
            idempotency_key(one.action, decision.args if decision.args is not None else one.args)
            for one, decision in said
            if decision and decision.type != "reject"
        }

    def _was_decided(self, side_effect: SideEffect) -> bool:
        """Whether the agent's own middleware has asked about the call as its model made it, whatever was said."""
        mark = idempotency_key(side_effect.name, side_effect.args)
        return any(idempotency_key(one.action, one.args) == mark and self._decision(one) for one in self._middleware)

    async def _clearance(self, side_effect: SideEffect) -> Clearance:
        """What stands between the agent and its side effect; a tool that left with a question of its own runs again."""
        execution = self._invocation.execution
        before = await execution.effects.find(side_effect.id)
        if (before is None or before.status in ANEW) and self._was_allowed(side_effect):
            side_effect = replace(side_effect, signs=None)
        return await clearance_for(side_effect, execution, repeatable=ANEW)

    # Calls that it stands around, in ToolNodes.

    async def around(
        self,
        call: ToolCall,
        tool: BaseTool,
        said: Sequence[BaseMessage],
        tools: Mapping[str, BaseTool],
        go: Callable[[ToolCall], Awaitable[Any]],
    ) -> Any:
        """The answer to a call of a conversation: what the tool says, or why it is not done.

        Raises:
            GraphInterrupt: something of the same turn waits for a human.
        """
        async with self._looking:
            clearance = await self._clearance_in_turn(call, said, {**tools, tool.name: tool})
            if clearance is None:
                return failed(call, "this very call is being made already")
            self._at_work.add(clearance.side_effect.id)
        try:
            return await self._answer(call, clearance, tool, go)
        finally:
            self._at_work.discard(clearance.side_effect.id)

    async def _clearance_in_turn(
        self, call: ToolCall, said: Sequence[BaseMessage], tools: Mapping[str, BaseTool]
    ) -> Clearance | None:
        """What stands between the call and being made, once nothing of its turn waits; None if it is being made."""
        turn = open_calls(cast(Any, said))
        if not any(_is_same(one, call) for one, _ in turn):  # its middleware has changed it
            turn.append((call, idempotency_key(call["name"], call["args"])))
        known: list[tuple[ToolCall, Clearance]] = []
        for one, mark in turn:
            side_effect = side_effect_of(one, mark, tools.get(one["name"]), self._invocation)
            if side_effect.id not in self._at_work and (_is_same(one, call) or not self._was_decided(side_effect)):
                known.append((one, await self._clearance(side_effect)))
        if waiting := [one.question for _, one in known if one.question and one.is_waiting]:
            self._wait(waiting)
        return next((clearance for one, clearance in known if _is_same(one, call)), None)

    async def _answer(
        self, call: ToolCall, clearance: Clearance, tool: BaseTool, go: Callable[[ToolCall], Awaitable[Any]]
    ) -> Any:
        if clearance.before and clearance.is_final:
            return recorded(call, clearance.before)
        if clearance.is_rejected:
            return recorded(call, await clearance.rejected(self._invocation.execution.effects))
        marks = tool.metadata or {}
        if refusal := await charged(marks, call, self._invocation):
            return refusal
        made = cast(ToolCall, {**call, "args": clearance.args})
        return _with_edit(await self._done(clearance, marks, lambda: go(made)), clearance)

    async def _done(self, clearance: Clearance, marks: Mapping[str, Any], do: Callable[[], Awaitable[Any]]) -> Any:
        """What `do` returns; with its intent and its outcome on the ledger where it changes the world."""
        invocation, side_effect = self._invocation, clearance.side_effect
        with _passing(side_effect.name, clearance.args):
            if not changes_the_world(side_effect.name, marks, invocation.execution.run.policy):
                return await do()
            args = cast(dict[str, JsonValue], to_json(clearance.args))
            effect = await invocation.execution.effects.begin(side_effect.effect(args))
            try:
                made = await do()
            except Exception as error:
                await self._settle(effect, error)
                raise
            await self._settle(effect, made)
            return made

    async def _settle(self, effect: Effect, made: object) -> None:
        """Put on the ledger what came of a call: what it returned or raised."""
        effects = self._invocation.execution.effects
        match made:
            case GraphBubbleUp():  # it asks by itself, and runs again when that is answered
                await effects.settle(effect, "refused", reply="")
            case BaseException():
                await effects.settle(effect, "failed", reply=f"{effect.tool} failed: {in_words(made)}")
            case ToolMessage():
                await effects.settle(effect, "failed" if made.status == "error" else "done", reply=made.text)
            case _:
                reply = "it was done" if isinstance(made, Command) else to_json(made)
                await effects.settle(effect, "done", reply=reply)

    # Calls of governed tools.

    async def govern(self, tool: BaseTool, given: Mapping[str, Any]) -> Any:
        """What a governed tool returns, now or when it was called before the code around it began anew.

        Raises:
            GraphInterrupt: a human has to be asked first.
            NotAllowed: a human said no.
            AgentFailed: the run's budget has no room for what it costs.
            ToolException: it was called before, and failed.
        """
        marks, inner = tool.metadata or {}, cast(StructuredTool, contained_tool(tool))
        args = {name: value for name, value in given.items() if name in tool.args}  # without what is injected
        place = str((get_config().get("metadata") or {}).get(PLACE, ""))
        call = ToolCall(name=tool.name, args=cast(dict[str, Any], to_json(args)), id=None)
        clearance = await self._clearance(
            side_effect_of(call, self._counted(tool.name, call["args"], place), tool, self._invocation)
        )
        if clearance.before and clearance.is_final:
            if clearance.before.status == "done":
                return clearance.before.reply
            raise ToolException(as_text(clearance.before.reply))
        await self._pass_or_stop(clearance, marks, call)
        made = {**given, **(clearance.args if clearance.edit is not None else {})}
        return await self._done(clearance, marks, lambda: cast(Any, inner.coroutine)(**made))

    async def _pass_or_stop(self, clearance: Clearance, marks: Mapping[str, Any], call: ToolCall) -> None:
        if clearance.question and clearance.is_waiting:
            self._wait([clearance.question])
        if clearance.is_rejected:
            refused = await clearance.rejected(self._invocation.execution.effects)
            raise NotAllowed(as_text(refused.reply))
        if refusal := await charged(marks, call, self._invocation):
            raise AgentFailed(refusal.text, "limit")

    def _counted(self, name: str, args: Mapping[str, Any], place: str) -> str:
        """What tells a call from others, also when the agent goes on after an answer: its place and its number."""
        mark = idempotency_key(name, {"args": args, "place": place if self._goes_on else ""})
        self._times[mark] += 1
        return f"{mark}.{self._times[mark]}"

    @contextmanager
    def governing(self) -> Iterator[None]:
        """While inside, this is the guard that governed tools find; the agent's code begins here, from its top."""
        self._times.clear()
        token = _guard.set(self)
        try:
            yield
        finally:
            _guard.reset(token)

    # Calls that it hears of.

    async def on_start(self, call: Call) -> None:
        """Let the call pass, or stop it.

        Raises:
            GraphInterrupt: a human has to be asked first.
            NotAllowed: a human said no.
            AgentFailed: the run's budget has no room for what it costs.
        """
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        side_effect = self._heard(call)
        clearance = await self._clearance(side_effect)
        if clearance.before and clearance.is_final:
            question = _again(side_effect, clearance.before)
            clearance = replace(clearance, question=question, decision=self._decision(question))
        made = ToolCall(name=call.name, args=call.args, id=str(call.id), type="tool_call")
        await self._pass_or_stop(clearance, call.marks, made)
        if changes_the_world(call.name, call.marks, self._invocation.execution.run.policy):
            begun = side_effect.effect(side_effect.args)
            self._under_way[call.id] = await self._invocation.execution.effects.begin(begun)

    def on_start_sync(self, call: Call) -> None:
        """Let pass what nobody has to know of; AgentFailed for the rest: nobody can be asked in the middle of it."""
        if not isinstance(call, ToolCalled) or self._is_free(call):
            return
        if is_overseen(self._heard(call), self._invocation.execution.run.policy):
            raise AgentFailed(_blocks(call.name), "permanent")

    async def on_end(self, call_id: UUID, made: object) -> None:
        """Put on the ledger what came of it."""
        if effect := self._under_way.pop(call_id, None):
            await self._settle(effect, made)

    def _is_free(self, call: ToolCalled) -> bool:
        """Whether it is let through further out, looked after by itself, or a function's own business."""
        has_passed = _passed.get() == idempotency_key(call.name, call.args)
        return has_passed or call.within in self._own or bool(call.marks.get(GOVERNED))

    def _heard(self, call: ToolCalled) -> SideEffect:
        mark = self._counted(call.name, call.args, str(call.marks.get(PLACE, "")))
        args = cast(dict[str, JsonValue], to_json(call.args))
        return replace(side_effect_by_marks(call.name, args, call.marks, mark, self._invocation), choices=CHOICES)


def _approvals(invocation: Invocation, name: str) -> list[Approval]:
    found = cast(list[JsonValue], invocation.kept.get(name) or [])
    return [Approval.model_validate(one) for one in found]


@contextmanager
def _passing(name: str, args: Mapping[str, Any]) -> Iterator[None]:
    """While inside, this call is not asked about again."""
    token = _passed.set(idempotency_key(name, args))
    try:
        yield
    finally:
        _passed.reset(token)


def _is_same(one: ToolCall, other: ToolCall) -> bool:
    return (one["id"], one["name"], one["args"]) == (other["id"], other["name"], other["args"])


def _with_edit(reply: Any, clearance: Clearance) -> Any:
    """The tool's answer, which says so where a human has had it called with other arguments than its model did."""
    if clearance.edit is None or not isinstance(reply, ToolMessage) or not isinstance(reply.content, str):
        return reply
    by = clearance.decision.by if clearance.decision else "a human"
    note = f"({by} had it called with {json.dumps(clearance.edit, ensure_ascii=False, default=str)})"
    return reply.model_copy(update={"content": f"{note}\n{reply.content}"})


def _blocks(name: str) -> str:
    return (
        f"{name} has to be asked about, which cannot be waited for where it is called without await in an async"
        " function: call `await tool.ainvoke(…)`"
    )


def _again(side_effect: SideEffect, before: Effect) -> Approval:
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
        description=f"{side_effect.name} was called before, with this end: {before.status}."
        " Approve: call it again. Reject: it is not called again, and the agent is told so.",
    )


GOVERNED = "governed"
"""The mark, in a tool's `metadata`, of those that look after themselves."""

_guard: ContextVar[ToolGuard | None] = ContextVar("the guard of the agent at work", default=None)


def governed(work: BaseTool | Callable[..., Any]) -> GovernedTool:
    """A tool that asks a human by itself, wherever an agent's code calls it, and is done once.

    For what Baton cannot stand around from outside: tools that a function's own code calls, that are called in a graph
    which another graph's code or tool runs, or cut off from LangChain's callbacks. A human can approve, edit or reject
    a call, by the same marks in `metadata` and the same policy as elsewhere; when the code around it runs again, it
    returns what it returned. After a no it raises a ToolException. `work` is a tool made of a function (`@tool`), or a
    function with a docstring.

    Raises:
        TypeError: it is a tool of another kind.
        ToolRefused: by the tool, when it is called elsewhere than in an agent's work: nobody could be asked.
    """
    tool = work if isinstance(work, BaseTool) else made_tool(work)
    if not isinstance(tool, StructuredTool) or isinstance(tool, GovernedTool):
        raise TypeError(f"governed() takes a function, or a tool that @tool made of one, not {type(tool).__name__}")
    source = cast(Callable[..., Any], tool.coroutine or tool.func)

    @wraps(source)
    async def called(**given: Any) -> Any:
        return await _found(tool.name).govern(tool, given)

    @wraps(source)
    def called_without_await(**given: Any) -> Any:
        guard = _found(tool.name)
        if guard.is_on_loop():
            raise AgentFailed(_blocks(tool.name), "permanent")
        return asyncio.run_coroutine_threadsafe(guard.govern(tool, given), guard.loop).result()

    fields = {name: getattr(tool, name) for name in StructuredTool.model_fields}
    marks = {**(tool.metadata or {}), GOVERNED: True}
    return GovernedTool(**{**fields, "metadata": marks, "coroutine": called, "func": called_without_await}, inner=tool)


def _found(name: str) -> ToolGuard:
    if guard := _guard.get():
        return guard
    raise ToolRefused(
        f"{name} is governed: it can be called only by an agent at work in a run, where a human can be asked"
        " (a thread of the agent's own needs `contextvars.copy_context().run`)"
    )
