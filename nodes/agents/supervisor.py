"""A Baton supervisor as an agent of another one.

It has its own scope: plan, mail and recruits of its own, on a thread below the outer one. What people see and decide is
the outer one's (`nodes.runtime.nesting`): journal, questions, side effects, budget, depth, control and room. The outer
lease covers it: nobody else can start its thread, because only the outer run knows it.
"""

from typing import Any

from nodes.agents.graph import onwards
from nodes.agents.interrupts import from_inside, questions_of
from nodes.agents.invocation import Job
from nodes.agents.results import outcome_of
from nodes.policy.report import joined, sinks
from nodes.runtime.calling import Parked
from nodes.runtime.context import nested_folder
from nodes.runtime.durable import Stand, SubThread, open_subthread
from nodes.runtime.nesting import Nesting
from state.errors import AgentFailed
from state.record import Artifact, Outcome, TaskRecord, Usage
from state.run import Phase
from state.text import as_text

LONGEST_INPUT = 20_000
"""Characters of each input that go into the inner request."""


async def run_nested(job: Job) -> Outcome:
    """One try of a nested supervisor.

    Raises:
        Parked: some of its agents wait for a human, or the outer run is paused.
        AgentFailed: it failed, or is nested deeper than the policy of a supervisor around it allows.
    """
    left = job.floor.run.ceiling - len(job.chain)
    if left <= 0:
        deep = f"the limit of {job.floor.run.ceiling} (max_delegation_depth, counted through nesting) is reached"
        raise AgentFailed(f"supervisor {job.spec.name} is nested too deep: {deep}", "limit")
    graph = job.spec.run.copy(update={"store": job.floor.run.store})
    thread = open_subthread(job.floor, graph, job.thread, context=_nesting(job, left - 1))
    job.floor.slots.release()  # its agents take the room
    try:
        stand = await _to_its_end(job, thread)
    finally:
        await job.floor.slots.acquire()
    return _outcome(job, stand)


def _nesting(job: Job, ceiling: int) -> Nesting:
    floor = job.floor
    return Nesting(
        journal=floor.run.journal,
        questions=floor.questions,
        effects=floor.effects,
        budget=floor.meter,
        steering=floor.steering,
        slots=floor.slots,
        folder=nested_folder(floor.run.folder, job.ledger_task),
        task_id=job.ledger_task,
        agent=job.spec.name,
        path=tuple(job.path),
        asks=job.asks,
        acts=job.acts,
        outward=lambda question: from_inside(question, job),
        ceiling=ceiling,
    )


async def leave_board(job: Job, outcome: Outcome) -> None:
    """Take a nested supervisor off the board whose try is over; where it goes on in another one, it shows itself."""
    if outcome.status != "parked":
        await job.floor.run.journal.wipe(f"{job.ledger_task}/{job.asks}")


async def _to_its_end(job: Job, thread: SubThread) -> Stand:
    """Run it until nothing inside can go on: what was answered while it came to rest is taken up at once."""
    while True:
        try:
            return await onwards(job, thread, _given(job))
        except Parked:
            if job.floor.steering.is_stopping or not await _is_answered(job, thread):
                raise


async def _is_answered(job: Job, thread: SubThread) -> bool:
    stand = await thread.stand()
    asked = questions_of(stand.questions, job) if stand else []
    return bool(asked) and all(question.is_answered(job.floor.steering.decisions) for question in asked)


def _given(job: Job) -> dict[str, Any]:
    """The inner request: the task, what it builds on, what has to be respected; and the same sources."""
    brief = job.brief
    parts = [brief.task.description]
    parts += [f"Result of {task_id}:\n{as_text(result)[:LONGEST_INPUT]}" for task_id, result in brief.inputs.items()]
    parts += [f"Respect: {brief.constraints}"] if brief.constraints else []
    parts += [f"The last version was sent back: {brief.feedback}"] if brief.feedback else []
    return {"query": "\n\n".join(parts), "sources": job.floor.run.paths}


def _outcome(job: Job, stand: Stand) -> Outcome:
    """What the inner run delivered; what it used is on the outer ledger already."""
    values = stand.values
    used = Usage.model_validate(values.get("usage") or {})
    if values.get("phase") != Phase.complete:
        kind = "limit" if job.floor.meter.exhausted else "permanent"
        raise AgentFailed(f"{values.get('error') or 'it was ' + str(values.get('phase'))}", kind)  # type: ignore[arg-type]
    records = [TaskRecord.model_validate(task) for task in values.get("tasks") or []]
    made = outcome_of(joined(sinks(records)) or values.get("report"), job.spec.name, job.brief)
    known = [
        record.outcome.confidence for record in records if record.outcome and record.outcome.confidence is not None
    ]
    artifacts = [Artifact.model_validate(one) for one in values.get("artifacts") or []]
    changes = {"usage": used, "artifacts": artifacts, "confidence": min(known) if known else None}
    return made.model_copy(update=changes)
