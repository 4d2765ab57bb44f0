"""Run the tools the model asked for. A sensitive one waits for a human: the worker parks, the rest is done first."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import ValidationError

from nodes.agents.worker.bench import Bench, WorkerState
from nodes.agents.worker.loops import refused, stopped
from nodes.policy.oversight import is_sensitive, needs_approval
from nodes.runtime.desk import HandedOver, Parked
from state.approval import Approval, Decision, Risk
from state.errors import AgentFailed, ToolRefused
from state.outcome import Failure
from state.supervisor import Update

LONGEST_REPLY = 50_000
"""Characters of a tool's answer that go into the conversation."""


def opening(state: WorkerState) -> Literal["brief", "act", "think"]:
    """Where a worker starts: at its brief, or where its conversation ends."""
    messages = state.get("messages")
    if not messages:
        return "brief"
    calls, broken = open_calls(state)
    return "act" if calls or broken else "think"


async def act(state: WorkerState, runtime: Runtime[Bench]) -> Update:
    """Answer every open tool call, or say which ones wait for a human."""
    bench = runtime.context
    if bench.floor.steering.is_stopping:
        return {"halted": True}
    calls, broken = open_calls(state)
    if why := stopped(state["messages"]):
        return {"failure": Failure(kind="limit", message=why).model_dump(mode="json")}
    questions = {str(call["id"]): _question(call, bench) for call in calls}
    waiting = [q for q in questions.values() if q and q.id not in bench.floor.steering.decisions]
    ready = [call for call in calls if questions[str(call["id"])] not in waiting]
    known = state["messages"]
    replies = await asyncio.gather(*(_answer(call, questions[str(call["id"])], bench, known) for call in ready))
    parked = [reply for reply in replies if isinstance(reply, Parked)]
    waiting += [question for one in parked for question in one.approvals]
    handed = next((reply for reply in replies if isinstance(reply, HandedOver)), None)
    return {
        "messages": [*broken, *(reply for reply in replies if isinstance(reply, ToolMessage))],
        "questions": [question.model_dump(mode="json") for question in waiting],
        "halted": any(not one.approvals for one in parked),
        "handed": {"to": handed.to, "note": handed.note} if handed else None,
    }


def after_act(state: WorkerState) -> Literal["think", "conclude"]:
    """Park if something waits for a human or the run is stopping, end if it was stopped or handed over, else go on."""
    ends = ("questions", "halted", "failure", "handed")
    return "conclude" if any(state.get(key) for key in ends) else "think"


def open_calls(state: WorkerState) -> tuple[list[ToolCall], list[ToolMessage]]:
    """The calls of the last reply that have no answer yet, and answers to those that could not even be parsed."""
    messages = state["messages"]
    last = max((n for n, message in enumerate(messages) if isinstance(message, AIMessage)), default=None)
    if last is None:
        return [], []
    answered = {message.tool_call_id for message in messages[last:] if isinstance(message, ToolMessage)}
    reply = cast(AIMessage, messages[last])
    broken = [
        ToolMessage(f"the arguments are not valid JSON: {call.get('args')}; call again", tool_call_id=str(call["id"]))
        for call in reply.invalid_tool_calls
        if call["id"] not in answered
    ]
    return [call for call in reply.tool_calls if call["id"] not in answered], broken


def _question(call: ToolCall, bench: Bench) -> Approval | None:
    """The approval that this call needs, if any."""
    tool = bench.tool(call["name"])
    if tool is None:
        return None
    marks = tool.metadata or {}
    sensitive = bool(marks.get("sensitive")) or is_sensitive(tool.name, bench.floor.run.policy)
    risk = cast(Risk, marks.get("risk", "high" if sensitive else "low"))
    cost = float(marks.get("cost", 0.0))
    reason = str(marks.get("ask") or "") or needs_approval(
        sensitive=sensitive, risk=risk, cost=cost, policy=bench.floor.run.policy
    )
    if not reason:
        return None
    task = bench.brief.task
    return Approval(
        id=f"{task.id}.{bench.brief.iteration}.{call['id']}",
        task_id=task.id,
        agent=bench.spec.name,
        path=list(bench.path),
        action=tool.name,
        args=call["args"],
        risk=risk,
        reason=reason,
        description=f"**{bench.spec.name}** wants to call `{tool.name}` for task `{task.id}`: {task.description}",
    )


async def _answer(
    call: ToolCall, question: Approval | None, bench: Bench, messages: Sequence[AnyMessage]
) -> ToolMessage | Parked | HandedOver:
    if why := refused(call, messages):
        return _failed(call, why)
    decision = bench.floor.steering.decisions.get(question.id) if question else None
    if decision and decision.type == "reject":
        return _rejected(call, decision)
    args = decision.args if decision and decision.type == "edit" and decision.args is not None else call["args"]
    tool = bench.tool(call["name"])
    if tool is None:
        known = ", ".join(t.name for t in bench.tools) or "none"
        return _failed(call, f"there is no tool {call['name']!r}; you have: {known}")
    return await _charged(tool, call, bench) or await _run(tool, call, args)


async def _charged(tool: BaseTool, call: ToolCall, bench: Bench) -> ToolMessage | None:
    """Put the tool's price on the ledger; an answer, instead of the call, where the run's budget has no room for it."""
    cost = float((tool.metadata or {}).get("cost", 0.0))
    try:
        if cost:
            await bench.floor.meter.spend(bench.account or bench.brief.task.id, bench.spec.name, cost)
    except AgentFailed as error:
        return _failed(call, str(error))
    return None


async def _run(tool: BaseTool, call: ToolCall, args: dict[str, Any]) -> ToolMessage | Parked | HandedOver:
    """One tool call; what goes wrong goes back to the model in one line. It may also end the worker's turn here."""
    try:
        reply = await tool.ainvoke({"name": tool.name, "args": args, "id": call["id"], "type": "tool_call"})
    except (Parked, HandedOver) as ends:
        return ends
    except ToolRefused as error:
        return _failed(call, str(error))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        return _failed(call, f"{tool.name} cannot take these arguments: {wrong}")
    except Exception as error:  # noqa: BLE001 - the tool boundary: whatever a tool raises is for its caller to read
        return _failed(call, f"{tool.name} failed: {type(error).__name__}: {error}")
    if len(reply.text) > LONGEST_REPLY:
        reply.content = str(reply.text)[:LONGEST_REPLY] + "\n… cut here; ask for less at a time"
    return cast(ToolMessage, reply)


def _failed(call: ToolCall, why: str) -> ToolMessage:
    return ToolMessage(why, tool_call_id=str(call["id"]), name=call["name"], status="error")


def _rejected(call: ToolCall, decision: Decision) -> ToolMessage:
    said = f": {decision.message}" if decision.message else ""
    return _failed(call, f"{decision.by} did not allow this{said}; do not call it again, go on without it")
