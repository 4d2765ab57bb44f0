"""Compiled graphs as agents, `create_agent` included: own state, own models, own `interrupt()`."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from pydantic import JsonValue

from nodes.agents.breakpoints import held_after, held_before, kept_place
from nodes.agents.functions import outcome_of
from nodes.agents.given import fitted, given_to, input_schema, result_of
from nodes.agents.internals import guarded
from nodes.agents.job import Job
from nodes.agents.metered import Metered
from nodes.agents.questions import Question, questions_of
from nodes.agents.toolgate import ToolGate
from nodes.agents.toolnodes import Turns
from nodes.agents.tooluse import ToolUse
from nodes.runtime.leaving import Parked
from nodes.runtime.subthread import Stand, SubThread, open_subthread, plain
from state.approval import Approval
from state.errors import AgentFailed
from state.outcome import Outcome


async def run_graph(job: Job) -> Outcome:
    """One try, on a thread of its own below the run's: it goes on where it stood, after an answer or after a crash.

    Raises:
        Parked: it asks, or calls a tool that a human has to allow; all that its branches ask is asked at once, and it
            goes on when all of that is answered.
        AgentFailed: it ended without a result, or the run's budget had no room for one of its model calls.
    """
    metered, gate = Metered(job), ToolGate(job)
    used = ToolUse(gate, goes_on=True)
    graph = guarded(job.spec.run, Turns(gate).guard)
    thread = open_subthread(job.floor, graph, job.thread, callbacks=(*metered.handlers, *used.handlers))
    given = fitted(given_to(job), input_schema(job.spec.run))
    try:
        stand = await onwards(job, thread, given, gate)
    finally:
        await metered.close()
        await used.close()
    outcome = outcome_of(plainly(result_of(stand.values)), job.spec.name, job.brief)
    await job.floor.meter.settle(job.ledger_task, job.spec.name, outcome.usage)
    return outcome.model_copy(update={"usage": outcome.usage + metered.used})


async def onwards(job: Job, thread: SubThread, given: object, gate: ToolGate | None = None) -> Stand:
    """Run a graph to its end, answering what is answered; Parked where it or its `gate` asks, or at a breakpoint."""
    decisions = job.floor.steering.decisions
    before = await thread.stand()
    asked = questions_of(before.questions, job) if before else []
    held = held_before(job, thread, before) if before and not asked else None
    is_open = any(not question.is_answered(decisions) for question in asked) or bool(gate and gate.waiting())
    if job.floor.steering.is_stopping or is_open or held:
        _park(job, asked, gate, before, held)
    if gate and (why := gate.denied()):
        raise AgentFailed(why, "denied")
    answers = {question.interrupt.id: question.answer(decisions, job.asks) for question in asked}
    stand = await thread.run(given, answers, hear=lambda said: _report(job, said))
    if stand.questions or (gate and gate.asked and not stand.has_ended):
        _park(job, questions_of(stand.questions, job), gate)
    if held := held_after(job, thread, stand):
        _park(job, [], gate, stand, held)
    return stand


def _park(
    job: Job,
    asked: Sequence[Question],
    gate: ToolGate | None,
    stand: Stand | None = None,
    held: Approval | None = None,
) -> NoReturn:
    known = job.floor.steering.decisions
    still_open = [approval for question in asked for approval in question.approvals if approval.id not in known]
    kept: dict[str, JsonValue] = {"thread": job.thread}
    if stand and held:
        still_open.append(held)
        kept |= kept_place(stand)
    if gate:
        still_open += gate.waiting()
        kept |= gate.kept([one for question in asked for one in question.approvals if question.is_about_tools])
    raise Parked(*still_open, conversation=job.keeping(**kept))


async def _report(job: Job, said: object) -> None:
    """Pass on what a graph tells about itself."""
    await job.floor.run.emit(
        "agent_reported", task_id=job.ledger_task, agent=job.spec.name, path=job.path, said=plain(said)
    )


def plainly(value: object) -> object:
    """A graph's result as plain JSON; text of any length stays whole."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("result"), str):
        kept = {key: item for key, item in value.items() if key in ("result", "confidence", "artifacts", "cost")}
        return {**kept, "failed": value["failed"]} if value.get("failed") else kept
    made = plain(value, longest=sys.maxsize, most=sys.maxsize)
    if made in ({}, None):
        raise AgentFailed("the graph ended without a result; let it set `result` or end on a message", "invalid")
    return made
