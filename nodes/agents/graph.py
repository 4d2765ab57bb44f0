"""Compiled graphs as agents, `create_agent` included: own state, own models, own `interrupt()`.

Breakpoints of compiled graphs (`interrupt_before`, `interrupt_after`): a human says whether the graph goes on.
"""

from collections.abc import Sequence
from typing import NoReturn, cast

from pydantic import JsonValue

from nodes.agents.callbacks import Metered
from nodes.agents.internals import guarded
from nodes.agents.interrupts import Question, questions_of
from nodes.agents.invocation import Job
from nodes.agents.prompts import fitted, given_to, input_schema
from nodes.agents.results import outcome_of, plainly, result_of
from nodes.agents.tool_guard import ToolGate, ToolUse, Turns
from nodes.runtime.calling import Parked
from nodes.runtime.durable import Stand, SubThread, open_subthread
from state.approval import Approval
from state.errors import AgentFailed
from state.record import Outcome
from state.text import plain


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


GO_ON = "go on"
HELD = "held"
"""Under this the conversation of a parked agent keeps the checkpoint at which its graph was held."""


def held_before(job: Job, thread: SubThread, stand: Stand) -> Approval | None:
    """The question whether a graph that is found at a breakpoint may go on, as long as nobody has answered it.

    Found is one that parked there, or that was cut off in front of a step which has a breakpoint.

    Raises:
        AgentFailed: class `denied`, a human said no.
    """
    stops = thread.graph.interrupt_before_nodes
    is_in_front = stops == "*" or bool(set(stops) & set(stand.upcoming))
    if stand.has_ended or not (is_in_front or job.kept.get(HELD) == stand.checkpoint):
        return None
    question = _question(job, stand)
    said = job.floor.steering.decisions.get(question.id)
    if said and said.type == "reject":
        raise AgentFailed(f"{said.by} did not allow it to go on {said.message}".strip(), "denied")
    return None if said else question


def held_after(job: Job, thread: SubThread, stand: Stand) -> Approval | None:
    """The same for a graph that has run until it stopped."""
    graph = thread.graph
    is_held = bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes) and not stand.has_ended
    return _question(job, stand) if is_held else None


def kept_place(stand: Stand) -> dict[str, JsonValue]:
    """What is kept of where it stands."""
    return {HELD: stand.checkpoint}


def _question(job: Job, stand: Stand) -> Approval:
    steps = ", ".join(stand.upcoming)
    return Approval(
        id=f"{job.asks}{stand.checkpoint}",
        task_id=job.brief.task.id,
        agent=job.spec.name,
        path=job.path,
        action=GO_ON,
        args={"next": cast(list[JsonValue], list(stand.upcoming))},
        choices=["approve", "reject"],
        reason=f"its graph has a breakpoint before it goes on with {steps}",
        description=f"**{job.spec.name}** stands at a breakpoint of its graph. Next: {steps}",
    )
