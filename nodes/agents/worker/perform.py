"""Run one tool call. What changes the outside world goes through the ledger of side effects, and happens once."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import JsonValue, TypeAdapter, ValidationError

from nodes.agents.confines import CANCELLED, ENDED, is_an_end
from nodes.agents.worker.bench import Bench
from nodes.agents.worker.overseeing import Place
from nodes.policy.oversight import is_sensitive
from nodes.runtime.deeds import Deed
from nodes.runtime.leaving import HandedOver, Parked
from state.effect import Effect, EffectStatus
from state.errors import AgentFailed, ToolRefused
from state.outcome import as_text
from state.policy import Policy
from state.text import all_unicode, in_words

LONGEST_REPLY = 50_000
"""Characters of a tool's answer that go into the conversation."""

Reply = ToolMessage | Parked | HandedOver
"""What comes of a call: an answer, or the end of the worker's turn."""

_ARGS: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def changes_the_world(name: str, marks: Mapping[str, Any], policy: Policy) -> bool:
    """Whether what the tool does is to happen once: it is sensitive, can be undone, or says `side_effect`."""
    return any(marks.get(mark) for mark in ("sensitive", "side_effect", "undo")) or is_sensitive(name, policy)


async def perform(call: ToolCall, deed: Deed, bench: Bench) -> Reply:
    """The tool's answer to a call that is to be done now: for the first time, or again because a human says so.

    `call` has the arguments to use; `deed` tells the action apart, whatever they were edited to.
    """
    tool = bench.tool(call["name"])
    if tool is None:
        known = ", ".join(t.name for t in bench.tools) or "none"
        return failed(call, f"there is no tool {call['name']!r}; you have: {known}")
    marks = tool.metadata or {}
    if refusal := await charged(marks, call, bench):
        return refusal
    if not changes_the_world(tool.name, marks, bench.floor.run.policy):
        return (await _run(tool, call))[0]
    effect = await bench.floor.effects.intend(deed.effect(_ARGS.validate_python(call["args"])))
    reply, status = await _run(tool, call)
    if not isinstance(reply, ToolMessage):  # it left before it did anything
        await bench.floor.effects.settle(effect, "refused", reply="")
        return reply
    artifact = reply.artifact if isinstance(reply.artifact, Mapping) else None
    await bench.floor.effects.settle(effect, status, reply=reply.text, artifact=artifact)
    return reply


def recorded(call: ToolCall, effect: Effect) -> ToolMessage:
    """What the tool answered when the action was done."""
    status = "success" if effect.status == "done" else "error"
    return ToolMessage(
        as_text(effect.reply), tool_call_id=str(call["id"]), name=call["name"], status=status, artifact=effect.artifact
    )


def failed(call: ToolCall, why: str) -> ToolMessage:
    """What goes back to the model when a call came to nothing."""
    return ToolMessage(why, tool_call_id=str(call["id"]), name=call["name"], status="error")


async def charged(marks: Mapping[str, Any], call: ToolCall, bench: Place) -> ToolMessage | None:
    """Put the tool's price on the ledger; an answer, instead of the call, where the run's budget has no room for it."""
    cost = float(marks.get("cost", 0.0))
    try:
        if cost:
            await bench.floor.meter.spend(bench.account or bench.brief.task.id, bench.spec.name, cost)
    except AgentFailed as error:
        return failed(call, str(error))
    return None


async def _run(tool: BaseTool, call: ToolCall) -> tuple[Reply, EffectStatus]:
    """One tool call; what goes wrong goes back to the model in one line. It may also end the worker's turn here."""
    asked: dict[str, Any] = {"name": tool.name, "args": call["args"], "id": call["id"], "type": "tool_call"}
    try:
        reply: ToolMessage = await tool.ainvoke(asked)
    except (Parked, HandedOver) as ends:
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
        case SystemExit():
            return ENDED
        case AgentFailed():
            return str(error)
        case asyncio.CancelledError():
            return CANCELLED
    return in_words(error)
