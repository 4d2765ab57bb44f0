"""A Baton supervisor as an agent of another one.

It has its own scope: plan, mail, recruits and questions of its own, on a thread below the outer one. Journal, budget,
depth, control and room are the outer one's (`nodes.runtime.nesting`), and the outer lease covers it: nobody else can
start its thread, because only the outer run knows it.
"""

from typing import Any

from nodes.agents.functions import outcome_of
from nodes.agents.graphs import onwards
from nodes.agents.job import Job
from nodes.policy.report import joined, sinks
from nodes.runtime.nesting import Nesting
from nodes.runtime.subthread import Stand, open_subthread
from state.artifact import Artifact
from state.errors import AgentFailed
from state.outcome import Outcome, as_text
from state.phase import Phase
from state.record import TaskRecord
from state.usage import Usage

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
    thread = open_subthread(job.floor, job.spec.run, job.thread, context=_nesting(job, left - 1))
    job.floor.slots.release()  # its agents take the room
    try:
        stand = await onwards(job, thread, _given(job))
    finally:
        await job.floor.slots.acquire()
    return _outcome(job, stand)


def _nesting(job: Job, ceiling: int) -> Nesting:
    floor = job.floor
    return Nesting(
        journal=floor.run.journal,
        budget=floor.meter,
        steering=floor.steering,
        slots=floor.slots,
        folder=floor.run.folder / "nested" / job.ledger_task,
        task_id=job.ledger_task,
        agent=job.spec.name,
        path=tuple(job.path),
        asks=job.asks,
        ceiling=ceiling,
    )


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
