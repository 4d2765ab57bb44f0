"""Tool calls of graphs that have ToolNodes (`create_agent` has one), as the worker's own: asked about, done once.

The calls of one turn wait together: nothing of it is done before all of it is answered, so that a node that runs again
does not repeat what was done beside a question.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from pydantic import JsonValue

from nodes.agents.internals import Go
from nodes.agents.toolgate import ToolGate
from nodes.agents.worker.calls import open_calls
from nodes.agents.worker.overseeing import deed_of
from nodes.agents.worker.perform import changes_the_world, charged, failed, recorded
from nodes.runtime.deeds import Case, mark_of
from nodes.runtime.subthread import plain
from state.outcome import as_text
from state.text import in_words


class Turns:
    """The calls of one graph's ToolNodes."""

    def __init__(self, gate: ToolGate) -> None:
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
            case = await self._case_of(call, said)
            if case is None:
                return failed(call, "this very call is being made already")
            self._at_work.add(case.deed.id)
        try:
            return await self._answer(call, case, tool, go)
        finally:
            self._at_work.discard(case.deed.id)

    async def _case_of(self, call: ToolCall, said: Sequence[BaseMessage]) -> Case | None:
        """What stands between the call and being made, once nothing of its turn waits; None if it is being made."""
        turn = open_calls(cast(Any, said))
        if not any(_is_same(one, call) for one, _ in turn):  # its middleware has changed it
            turn.append((call, mark_of(call["name"], call["args"])))
        cases = [(one, await self._case(one, mark, is_mine=_is_same(one, call))) for one, mark in turn]
        if waiting := [case.question for _, case in cases if case and case.question and case.is_waiting]:
            self.gate.wait(waiting)
        return next((case for one, case in cases if case and _is_same(one, call)), None)

    async def _case(self, call: ToolCall, mark: str, *, is_mine: bool) -> Case | None:
        deed = deed_of(call, mark, self.gate)
        if deed.id in self._at_work or (not is_mine and self.gate.was_decided(deed)):
            return None
        return await self.gate.look_into(deed)

    async def _answer(self, call: ToolCall, case: Case, tool: BaseTool, go: Go) -> Any:
        effects, marks = self.gate.floor.effects, tool.metadata or {}
        if case.before and case.stands:
            return recorded(call, case.before)
        if case.is_rejected:
            return failed(call, as_text((await case.rejected(effects)).reply))
        if refusal := await charged(marks, call, self.gate):
            return refusal
        made = cast(ToolCall, {**call, "args": case.args})
        with self.gate.letting_through(call["name"], case.args):
            if changes_the_world(tool.name, marks, self.gate.floor.run.policy):
                reply = await self._once(made, case, go)
            else:
                reply = await go(made)
        return _with_edit(reply, case)

    async def _once(self, call: ToolCall, case: Case, go: Go) -> Any:
        """Make a call that changes the world, with its intent and its outcome on the ledger."""
        effects = self.gate.floor.effects
        effect = await effects.intend(case.deed.effect(cast(dict[str, JsonValue], plain(call["args"]))))
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


def _with_edit(reply: Any, case: Case) -> Any:
    """The tool's answer, which says so where a human has had it called with other arguments than its model did."""
    if case.edit is None or not isinstance(reply, ToolMessage) or not isinstance(reply.content, str):
        return reply
    by = case.decision.by if case.decision else "a human"
    note = f"({by} had it called with {json.dumps(case.edit, ensure_ascii=False, default=str)})"
    return reply.model_copy(update={"content": f"{note}\n{reply.content}"})
