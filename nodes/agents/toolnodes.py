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
from nodes.agents.toolgate import LEFT, ToolGate
from nodes.agents.worker.act import Proposal, doubt, presumed, rejected
from nodes.agents.worker.calls import mark_of, open_calls
from nodes.agents.worker.overseeing import action_question
from nodes.agents.worker.perform import changes_the_world, charged, failed, recorded
from nodes.runtime.subthread import plain
from state.effect import Effect


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
        turn = open_calls(cast(Any, said))
        if not any(_is_same(one, call) for one, _ in turn):  # its middleware has changed it
            turn.append((call, mark_of(call["name"], call["args"])))
        async with self._looking:
            proposals = [await self._proposal(one, mark, is_mine=_is_same(one, call)) for one, mark in turn]
            if waiting := [proposal.question for proposal in proposals if proposal.question and proposal.is_waiting]:
                self.gate.wait(waiting)
            mine = [one for one in proposals if _is_same(one.call, call) and one.id not in self._at_work]
            if not mine:
                return failed(call, "this very call is being made already")
            self._at_work.add(mine[0].id)
        try:
            return await self._answer(mine[0], tool, go)
        finally:
            self._at_work.discard(mine[0].id)

    async def _proposal(self, call: ToolCall, mark: str, *, is_mine: bool) -> Proposal:
        gate = self.gate
        name = f"{gate.brief.task.id}.{mark}"
        before = await gate.done(name)
        if name in self._at_work or (not is_mine and gate.was_decided(call["name"], call["args"])):
            return Proposal(call, name, before, None, None)
        if before:
            question = doubt(before, gate)
        else:
            was_asked = gate.was_asked(call["name"], call["args"])
            question = None if was_asked else await action_question(call, name, gate)
        return Proposal(call, name, before, question, gate.decision(question))

    async def _answer(self, proposal: Proposal, tool: BaseTool, go: Go) -> Any:
        call, before, decision = proposal.call, proposal.before, proposal.decision
        if decision and decision.type == "reject":
            if not before:
                return rejected(call, decision)
            await self.gate.floor.effects.settle(before, "presumed", reply=presumed(decision))
            return failed(call, presumed(decision))
        if before and decision is None:
            return recorded(call, before)
        args = proposal.edit if proposal.edit is not None else before.args if before else call["args"]
        marks = tool.metadata or {}
        if refusal := await charged(marks, call, self.gate):
            return refusal
        made = cast(ToolCall, {**call, "args": args})
        with self.gate.letting_through(call["name"], args):
            if changes_the_world(tool.name, marks, self.gate.floor.run.policy):
                reply = await self._once(made, proposal.id, go)
            else:
                reply = await go(made)
        return _with_edit(reply, proposal)

    async def _once(self, call: ToolCall, effect_id: str, go: Go) -> Any:
        """Make a call that changes the world, with its intent and its outcome on the ledger."""
        gate = self.gate
        args = cast(dict[str, JsonValue], plain(call["args"]))
        effects, task = gate.floor.effects, gate.brief.task
        effect = await effects.intend(
            Effect(id=effect_id, task_id=task.id, agent=gate.spec.name, tool=call["name"], args=args)
        )
        try:
            reply = await go(call)
        except GraphBubbleUp:
            await effects.settle(effect, "refused", reply=LEFT)
            raise
        except Exception as error:
            await effects.settle(effect, "failed", reply=f"{call['name']} failed: {type(error).__name__}: {error}")
            raise
        is_error = isinstance(reply, ToolMessage) and reply.status == "error"
        said = reply.text if isinstance(reply, ToolMessage) else "it was done"
        await effects.settle(effect, "failed" if is_error else "done", reply=said)
        return reply


def _is_same(one: ToolCall, other: ToolCall) -> bool:
    return (one["id"], one["name"], one["args"]) == (other["id"], other["name"], other["args"])


def _with_edit(reply: Any, proposal: Proposal) -> Any:
    """The tool's answer, which says so where a human has had it called with other arguments than its model did."""
    if proposal.edit is None or not isinstance(reply, ToolMessage) or not isinstance(reply.content, str):
        return reply
    by = proposal.decision.by if proposal.decision else "a human"
    note = f"({by} had it called with {json.dumps(proposal.edit, ensure_ascii=False, default=str)})"
    return reply.model_copy(update={"content": f"{note}\n{reply.content}"})
