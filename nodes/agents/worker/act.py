"""Runs the tool calls of one turn. A sensitive one waits for a human: the worker parks, the rest is done first.

What changes the outside world goes through the ledger of side effects, and happens once. A worker that calls the same
tool with the same arguments over and over is told so, and then stopped.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import JsonValue, TypeAdapter, ValidationError

from nodes.agents.tool_calls import (
    broken_calls,
    changes_the_world,
    charged,
    contained_tool,
    failed,
    last_reply,
    open_calls,
    recorded,
    side_effect_of,
    with_edits,
    without_answer,
)
from nodes.agents.worker.context import WorkerContext, WorkerState
from nodes.runtime.calling import CANCELLED, HandOver, Parked, is_an_end
from nodes.runtime.side_effects import Clearance, SideEffect, clearance_for
from state.errors import AgentFailed, ToolRefused
from state.record import Failure
from state.side_effect import EffectStatus
from state.supervisor import Update
from state.text import all_unicode, in_words


@dataclass(frozen=True)
class Proposal:
    """A tool call that has no answer yet, and what stands between it and being made."""

    call: ToolCall
    clearance: Clearance


def opening(state: WorkerState) -> Literal["brief", "act", "think"]:
    """Where a worker starts: at its brief, or where its conversation ends."""
    messages = state.get("messages")
    if not messages:
        return "brief"
    return "act" if open_calls(messages) or broken_calls(messages) else "think"


async def act(state: WorkerState, runtime: Runtime[WorkerContext]) -> Update:
    """Answer every open tool call, or say which ones wait for a human."""
    context = runtime.context
    if context.invocation.execution.signals.is_stopping:
        return {"halted": True}
    messages = state["messages"]
    if why := stopped(messages):
        calls = sum(isinstance(message, AIMessage) for message in messages)
        why = f"{why}; {without_answer(f'{calls} calls', messages)}"
        return {"failure": Failure(kind="limit", message=why).model_dump(mode="json")}
    proposals = [Proposal(call, await _clearance(call, mark, context)) for call, mark in open_calls(messages)]
    policy = context.invocation.execution.run.policy
    if why := next(filter(None, (proposal.clearance.denial(policy) for proposal in proposals)), ""):
        return {"failure": Failure(kind="denied", message=why).model_dump(mode="json")}
    ready = [proposal for proposal in proposals if not proposal.clearance.is_waiting]
    replies = await asyncio.gather(*(_answer(proposal, context, messages) for proposal in ready))
    parked = [reply for reply in replies if isinstance(reply, Parked)]
    handed = next((reply for reply in replies if isinstance(reply, HandOver)), None)
    questions = [p.clearance.question for p in proposals if p.clearance.question and p.clearance.is_waiting]
    questions += [question for one in parked for question in one.approvals]
    said = [reply for reply in replies if isinstance(reply, ToolMessage)]
    return {
        "messages": [*_edited(messages, ready), *broken_calls(messages), *said],
        "questions": [question.model_dump(mode="json") for question in questions],
        "halted": any(not one.approvals for one in parked),
        "handed": {"to": handed.to, "note": handed.note} if handed else None,
    }


def after_act(state: WorkerState) -> Literal["think", "conclude"]:
    """Park if something waits for a human or the run is stopping, end if it was stopped or handed over, else go on."""
    ends = ("questions", "halted", "failure", "handed")
    return "conclude" if any(state.get(key) for key in ends) else "think"


async def _clearance(call: ToolCall, mark: str, context: WorkerContext) -> Clearance:
    side_effect = side_effect_of(call, mark, context.tool(call["name"]), context.invocation)
    return await clearance_for(side_effect, context.invocation.execution)


def _edited(messages: list[AnyMessage], proposals: list[Proposal]) -> list[AnyMessage]:
    """The reply as a human has edited it, where one has: it takes the place of the one with the same id."""
    reply = last_reply(messages)
    edits = {str(p.call["id"]): p.clearance.edit for p in proposals if p.clearance.edit is not None}
    return [with_edits(reply, edits)] if reply and edits else []


Reply = ToolMessage | Parked | HandOver
"""What comes of a call: an answer, or the end of the worker's turn."""


async def _answer(proposal: Proposal, context: WorkerContext, messages: Sequence[AnyMessage]) -> Reply:
    call, clearance = proposal.call, proposal.clearance
    if why := refused(call, messages):
        return failed(call, why)
    if clearance.before and clearance.is_final:
        return recorded(call, clearance.before)
    if clearance.is_rejected:
        return recorded(call, await clearance.rejected(context.invocation.execution.effects))
    return await perform(cast(ToolCall, {**call, "args": clearance.args}), clearance.side_effect, context)


REFUSED_FROM = 4
"""The call with which a worker is told that the answer will be the same."""
STOPPED_FROM = 8
"""The call with which it is stopped."""


def refused(call: ToolCall, messages: Sequence[AnyMessage]) -> str:
    """Why this call is not made again, or an empty string."""
    times = _times(messages)[_mark(call)]
    if times < REFUSED_FROM:
        return ""
    return (
        f"you have called {call['name']} {times} times with the same arguments, the answer will be the same: "
        "use what you have, try something else, or give your final answer"
    )


def stopped(messages: Sequence[AnyMessage]) -> str:
    """Why a worker is stopped, or an empty string."""
    found = _times(messages).most_common(1)
    if not found or found[0][1] < STOPPED_FROM:
        return ""
    name, times = found[0][0].partition(" ")[0], found[0][1]
    return f"it was stopped: it called {name} {times} times with the same arguments"


def _times(messages: Sequence[AnyMessage]) -> Counter[str]:
    """How often each call was asked for, the open ones included."""
    replies = [message for message in messages if isinstance(message, AIMessage)]
    return Counter(_mark(call) for reply in replies for call in (*reply.tool_calls, *reply.invalid_tool_calls))


def _mark(call: ToolCall | Mapping[str, Any]) -> str:
    return f"{call['name']} {json.dumps(call['args'], sort_keys=True, default=str)}"


LONGEST_REPLY = 50_000
"""Characters of a tool's answer that go into the conversation."""

_ARGS: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


async def perform(call: ToolCall, side_effect: SideEffect, context: WorkerContext) -> Reply:
    """The tool's answer to a call that is to be done now: for the first time, or again because a human says so.

    `call` has the arguments to use; `side_effect` tells the action apart, whatever they were edited to.
    """
    tool = context.tool(call["name"])
    if tool is None:
        known = ", ".join(t.name for t in context.tools) or "none"
        return failed(call, f"there is no tool {call['name']!r}; you have: {known}")
    marks = tool.metadata or {}
    if refusal := await charged(marks, call, context.invocation):
        return refusal
    if not changes_the_world(tool.name, marks, context.invocation.execution.run.policy):
        return (await _run(tool, call))[0]
    effect = await context.invocation.execution.effects.begin(side_effect.effect(_ARGS.validate_python(call["args"])))
    reply, status = await _run(tool, call)
    if not isinstance(reply, ToolMessage):  # it left before it did anything
        await context.invocation.execution.effects.settle(effect, "refused", reply="")
        return reply
    artifact = reply.artifact if isinstance(reply.artifact, Mapping) else None
    if artifact and artifact.get("said"):
        run, agent = context.invocation.execution.run, context.invocation.spec.name
        await run.emit("agent_reported", task_id=context.invocation.brief.task.id, agent=agent, said=artifact["said"])
    await context.invocation.execution.effects.settle(effect, status, reply=reply.text, artifact=artifact)
    return reply


async def _run(tool: BaseTool, call: ToolCall) -> tuple[Reply, EffectStatus]:
    """One tool call; what goes wrong goes back to the model in one line. It may also end the worker's turn here."""
    asked: dict[str, Any] = {"name": tool.name, "args": call["args"], "id": call["id"], "type": "tool_call"}
    try:
        reply: ToolMessage = await contained_tool(tool).ainvoke(asked)
    except (Parked, HandOver) as ends:
        return ends, "refused"
    except ToolRefused as error:
        return failed(call, str(error)), "refused"
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        return failed(call, f"{tool.name} cannot take these arguments: {wrong}"), "refused"
    except BaseException as error:
        if is_an_end(error):
            raise
        return failed(call, f"{tool.name} failed: {_why(error)}"), "failed"
    reply.content = cast(str, all_unicode(cast(JsonValue, reply.content)))
    if len(reply.text) > LONGEST_REPLY:
        reply.content = reply.text[:LONGEST_REPLY] + "\n… cut here; ask for less at a time"
    return reply, "failed" if reply.status == "error" else "done"


def _why(error: BaseException) -> str:
    match error:
        case AgentFailed():
            return str(error)
        case asyncio.CancelledError():
            return CANCELLED
    return in_words(error)
