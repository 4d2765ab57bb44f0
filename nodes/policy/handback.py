"""Giving the wheel back (chapter 15.12.4): results that a human made, a plan that a human changed, and what stays."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from nodes.policy.readiness import downstream
from state.outcome import Outcome
from state.plan import Plan, Task
from state.record import HUMAN, TaskRecord

Results = Mapping[str, JsonValue]


def hand_back_faults(records: Sequence[TaskRecord], results: Results, plan: Plan | None) -> list[str]:
    """What keeps a hand-back from being merged, in words; empty when nothing does."""
    known = [task.id for task in plan.tasks] if plan else [record.id for record in records]
    unknown = [repr(task_id) for task_id in results if task_id not in known]
    empty = [repr(task_id) for task_id, result in results.items() if result in (None, "", {}, [])]
    faults = []
    if unknown:
        faults.append(f"there is no task {', '.join(unknown)} to give a result for; there are {', '.join(known)}")
    if empty:
        faults.append(f"the result of {', '.join(empty)} is empty; leave it out, or say what came of it")
    return faults


def handed_back(
    records: Sequence[TaskRecord], results: Results, plan: Plan | None, *, at: float, iteration: int, by: str = HUMAN
) -> list[TaskRecord]:
    """`records` after a human has handed back.

    Tasks that are the same in the changed plan stay as they are; those that changed, and all that is built on them or
    on a result that is new, are to be done again. What a human gave a result for is done. `at`: seconds since epoch,
    `by`: who handed back.
    """
    kept = _kept(records, plan)
    old = {record.id: record for record in records}
    changed = [record.id for record in kept if record.id not in old or old[record.id].task != record.task]
    stale = downstream([record.task for record in kept], [*changed, *results])
    return [
        _given(record, results[record.id], at, iteration, by)
        if record.id in results
        else (_anew(record) if record.id in stale else record)
        for record in kept
    ]


def dropped(before: Sequence[TaskRecord], after: Sequence[TaskRecord]) -> list[TaskRecord]:
    """The records that are gone, or are to be done again: what they had parked or recruited is void."""
    now = {record.id: record for record in after}
    return [record for record in before if record.id not in now or now[record.id] != record]


def _kept(records: Sequence[TaskRecord], plan: Plan | None) -> list[TaskRecord]:
    """A record for each task of the plan, in its order, then the recruits of those that are left as they were."""
    if plan is None:
        return list(records)
    old = {record.id: record for record in records}
    kept = [_same_or_new(task, old.get(task.id)) for task in plan.tasks]
    staying = {record.id for record in kept if record is old.get(record.id)} | {HUMAN}
    for record in records:
        if record.recruited_by and record.id not in {one.id for one in kept} and _has_recruiter(record, staying, old):
            kept.append(record)
            staying.add(record.id)
    return kept


def _has_recruiter(record: TaskRecord, staying: set[str], old: Mapping[str, TaskRecord]) -> bool:
    """Whether whoever asked for a recruit is still there; a person always is."""
    return record.recruited_by in staying or record.recruited_by not in old


def _same_or_new(task: Task, record: TaskRecord | None) -> TaskRecord:
    return record if record and record.task == task else TaskRecord(task=task)


def _anew(record: TaskRecord) -> TaskRecord:
    return record.model_copy(update={"status": "pending", "outcome": None, "feedback": ""})


def _given(record: TaskRecord, result: JsonValue, at: float, iteration: int, by: str) -> TaskRecord:
    outcome = Outcome(
        task_id=record.id,
        agent=HUMAN,
        status="done",
        result=result,
        decided_by=by,
        iteration=iteration,
        started_at=at,
        finished_at=at,
    )
    return record.model_copy(update={"status": "done", "outcome": outcome, "feedback": ""})
