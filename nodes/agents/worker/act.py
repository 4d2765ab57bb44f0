"""Run the tools the model asked for. A sensitive one waits for a human: the worker parks, the rest is done first."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from langchain_core.messages import AnyMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime

from nodes.agents.worker.bench import Bench, WorkerState
from nodes.agents.worker.calls import broken_calls, last_reply, open_calls, with_edits
from nodes.agents.worker.loops import refused, stopped
from nodes.agents.worker.overseeing import deed_of
from nodes.agents.worker.perform import Reply, failed, perform, recorded
from nodes.runtime.deeds import Case, look_into
from nodes.runtime.leaving import HandedOver, Parked
from state.outcome import Failure, as_text
from state.supervisor import Update


@dataclass(frozen=True)
class Proposal:
    """A tool call that has no answer yet, and what stands between it and being made."""

    call: ToolCall
    case: Case


def opening(state: WorkerState) -> Literal["brief", "act", "think"]:
    """Where a worker starts: at its brief, or where its conversation ends."""
    messages = state.get("messages")
    if not messages:
        return "brief"
    return "act" if open_calls(messages) or broken_calls(messages) else "think"


async def act(state: WorkerState, runtime: Runtime[Bench]) -> Update:
    """Answer every open tool call, or say which ones wait for a human."""
    bench = runtime.context
    if bench.floor.steering.is_stopping:
        return {"halted": True}
    messages = state["messages"]
    if why := stopped(messages):
        return {"failure": Failure(kind="limit", message=why).model_dump(mode="json")}
    proposals = [await _proposal(call, mark, bench) for call, mark in open_calls(messages)]
    policy = bench.floor.run.policy
    if why := next(filter(None, (proposal.case.denial(policy) for proposal in proposals)), ""):
        return {"failure": Failure(kind="denied", message=why).model_dump(mode="json")}
    ready = [proposal for proposal in proposals if not proposal.case.is_waiting]
    replies = await asyncio.gather(*(_answer(proposal, bench, messages) for proposal in ready))
    parked = [reply for reply in replies if isinstance(reply, Parked)]
    handed = next((reply for reply in replies if isinstance(reply, HandedOver)), None)
    questions = [p.case.question for p in proposals if p.case.question and p.case.is_waiting]
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


async def _proposal(call: ToolCall, mark: str, bench: Bench) -> Proposal:
    return Proposal(call, await look_into(deed_of(call, mark, bench), bench.floor))


def _edited(messages: list[AnyMessage], proposals: list[Proposal]) -> list[AnyMessage]:
    """The reply as a human has edited it, where one has: it takes the place of the one with the same id."""
    reply = last_reply(messages)
    edits = {str(p.call["id"]): p.case.edit for p in proposals if p.case.edit is not None}
    return [with_edits(reply, edits)] if reply and edits else []


async def _answer(proposal: Proposal, bench: Bench, messages: Sequence[AnyMessage]) -> Reply:
    call, case = proposal.call, proposal.case
    if why := refused(call, messages):
        return failed(call, why)
    if case.before and case.stands:
        return recorded(call, case.before)
    if case.is_rejected:
        return failed(call, as_text((await case.rejected(bench.floor.effects)).reply))
    return await perform(cast(ToolCall, {**call, "args": case.args}), case.deed, bench)
