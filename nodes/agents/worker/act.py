"""Run the tools the model asked for. A sensitive one waits for a human: the worker parks, the rest is done first."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langchain_core.messages import AnyMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime

from nodes.agents.worker.bench import Bench, WorkerState
from nodes.agents.worker.calls import broken_calls, last_reply, open_calls, with_edits
from nodes.agents.worker.loops import refused, stopped
from nodes.agents.worker.overseeing import Place, action_question, schema_of
from nodes.agents.worker.perform import Reply, failed, perform, recorded
from nodes.policy.rejection import denial
from nodes.runtime.desk import HandedOver, Parked
from state.approval import Approval, Decision
from state.effect import Effect
from state.outcome import Failure
from state.supervisor import Update
from state.trigger import Risk


@dataclass(frozen=True)
class Proposal:
    """A tool call that has no answer yet."""

    call: ToolCall
    id: str
    """Tells it apart in this run, whatever id the model gave: that of its approval and of its side effect."""
    before: Effect | None
    """What is known of its side effect."""
    question: Approval | None
    """What a human has to be asked first, if anything."""
    decision: Decision | None
    """What the human said."""

    @property
    def is_waiting(self) -> bool:
        """Whether a human has to decide."""
        return self.question is not None and self.decision is None

    @property
    def edit(self) -> dict[str, Any] | None:
        """The arguments to use instead."""
        return self.decision.args if self.decision and self.decision.type == "edit" else None


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
    if why := next(filter(None, (_denied(proposal, bench) for proposal in proposals)), ""):
        return {"failure": Failure(kind="denied", message=why).model_dump(mode="json")}
    ready = [proposal for proposal in proposals if not proposal.is_waiting]
    replies = await asyncio.gather(*(_answer(proposal, bench, messages) for proposal in ready))
    parked = [reply for reply in replies if isinstance(reply, Parked)]
    handed = next((reply for reply in replies if isinstance(reply, HandedOver)), None)
    questions = [proposal.question for proposal in proposals if proposal.question and proposal.is_waiting]
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
    # Without the round: a task that review sends back does not publish the same thing twice, nor ask about it twice.
    name = f"{bench.brief.task.id}.{mark}"
    before = await bench.floor.effects.find(name)
    question = doubt(before, bench) if before else await action_question(call, name, bench)
    decision = bench.floor.steering.decisions.get(question.id) if question else None
    return Proposal(call, name, before, question, decision)


def doubt(before: Effect, bench: Place) -> Approval | None:
    """The question about an action that was begun and has no recorded end; None for one that has."""
    if before.status != "intended":
        return None
    tool = bench.tool(before.tool)
    risk = cast(Risk, ((tool.metadata or {}) if tool else {}).get("risk", "high"))
    return Approval(
        id=f"{before.id}.again{before.tries}",
        task_id=before.task_id,
        agent=bench.spec.name,
        path=list(bench.path),
        action=before.tool,
        args=before.args,
        risk=risk,
        reason="it may have happened: the work broke off while it was done",
        description=f"`{before.tool}` was begun for task `{before.task_id}`, and nothing says how it ended. Look"
        " whether it happened. Approve: do it (again). Reject: it did happen, or is not to be done.",
        args_schema=schema_of(tool) if tool else None,
    )


def _denied(proposal: Proposal, bench: Bench) -> str:
    if proposal.decision is None or proposal.before is not None:
        return ""
    return denial(proposal.decision, proposal.call["name"], bench.floor.run.policy)


def _edited(messages: list[AnyMessage], proposals: list[Proposal]) -> list[AnyMessage]:
    """The reply as a human has edited it, where one has: it takes the place of the one with the same id."""
    reply = last_reply(messages)
    edits = {str(p.call["id"]): p.edit for p in proposals if p.edit is not None}
    return [with_edits(reply, edits)] if reply and edits else []


async def _answer(proposal: Proposal, bench: Bench, messages: Sequence[AnyMessage]) -> Reply:
    call, before, decision = proposal.call, proposal.before, proposal.decision
    if why := refused(call, messages):
        return failed(call, why)
    if before is None and decision is None:
        return await perform(call, proposal.id, bench)
    if before and decision is None:
        return recorded(call, before)
    if decision and decision.type == "reject":
        if before:
            await bench.floor.effects.settle(before, "presumed", reply=presumed(decision))
            return failed(call, presumed(decision))
        return rejected(call, decision)
    args = proposal.edit if proposal.edit is not None else before.args if before else call["args"]
    return await perform(cast(ToolCall, {**call, "args": args}), proposal.id, bench)


def rejected(call: ToolCall, decision: Decision) -> ToolMessage:
    """What goes back to the model after a no."""
    said = f": {decision.message}" if decision.message else ""
    return failed(call, f"{decision.by} did not allow this{said}; do not call it again, go on without it")


def presumed(decision: Decision) -> str:
    """What goes back to the model when an action that may have happened is not to be done again."""
    said = f": {decision.message}" if decision.message else ""
    return f"{decision.by} says this is not to be done again, it may have been done already{said}; go on"
