"""Which tasks may run, run again, or go on, and the brief they run on (supervisor guide)."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from state.agent import Brief, Mail
from state.conversation import Turn
from state.plan import Task, dependents_of
from state.record import FINAL, Outcome, TaskRecord

Readiness = Literal["ready", "blocked", "hopeless"]


def readiness(
    task: Task,
    inputs: Mapping[str, Outcome],
    on_failed_input: Literal["degrade", "skip"] = "degrade",
    optional: Container[str] = (),
) -> Readiness:
    """What the outcomes of a task's dependencies, and of those they recruited, mean for it.

    `blocked`: one of them waits (for a human, or for one that does). `hopeless`: it has dependencies and none of them
    delivered, or one did not and the policy says `skip`. Otherwise a task that got only some of its inputs is `ready`:
    it works with what there is, and says so. So does a required one that got none, if it could do without all of them:
    they are `optional`.
    """
    if any(outcome.status in ("parked", "blocked") for outcome in inputs.values()):
        return "blocked"
    statuses = [inputs[other].status for other in task.depends_on]
    can_do_without = task.required and all(other in optional for other in task.depends_on)
    if statuses and "done" not in statuses and not can_do_without:
        return "hopeless"
    if on_failed_input == "skip" and any(status != "done" for status in statuses):
        return "hopeless"
    return "ready"


def is_busy(records: Iterable[TaskRecord], waiting: Container[str] = ()) -> bool:
    """Whether anything is at work, or could start: its dependencies, and what they recruited, have all ended.

    `waiting`: ids of tasks that do nothing but wait for another, or for the next superstep.
    """
    by_id = {record.id: record for record in records}
    recruits: dict[str, list[str]] = {}
    needed: dict[str, list[str]] = {}
    for record in by_id.values():
        recruits.setdefault(record.recruiter or "", []).append(record.id)
        for task_id in record.needed_by:
            needed.setdefault(task_id, []).append(record.id)

    def has_ended(task_id: str) -> bool:
        return by_id[task_id].status in FINAL and all(has_ended(other) for other in recruits.get(task_id, []))

    return any(
        record.status == "running"
        or (record.status == "pending" and all(map(has_ended, [*record.task.depends_on, *needed.get(record.id, [])])))
        for record in by_id.values()
        if record.id not in waiting
    )


def goes_on(records: Iterable[TaskRecord], answered: Container[str]) -> bool:
    """Whether there is work to do without a human: a task could start, or a parked one has an answer, or asked nothing.

    The last is one that stopped at a safe point for a pause that was taken back before everybody had stopped. One that
    has recruits at work may have stopped because it waits for them, and they for a human.
    """
    records = list(records)
    recruiters = {record.recruiter for record in records if record.status not in FINAL}
    return is_busy(records) or any(
        any(asked.id in answered for asked in record.outcome.approvals)
        or (not record.outcome.approvals and record.id not in recruiters)
        for record in records
        if record.status == "parked" and record.outcome
    )


def downstream(tasks: Iterable[Task], changed: Iterable[str]) -> set[str]:
    """Ids of all tasks that build, directly or not, on `changed`; without those themselves unless they do too."""
    dependents = dependents_of(tasks)
    found: set[str] = set()
    todo = [other for task_id in changed for other in dependents.get(task_id, [])]
    while todo:
        task_id = todo.pop()
        if task_id not in found:
            found.add(task_id)
            todo += dependents[task_id]
    return found


def sent_back(records: Iterable[TaskRecord], feedback: Mapping[str, str], *, beside: bool = False) -> list[TaskRecord]:
    """`records` with the tasks in `feedback` to be done again, and all that was built on them stale (row M21).

    What a human gave stands; so does all that was built on them where their new results are to stand `beside` it.
    """
    records = list(records)
    stale = set() if beside else downstream([record.task for record in records], feedback)
    result = []
    for record in records:
        if record.id in feedback:
            result.append(record.model_copy(update={"status": "pending", "feedback": feedback[record.id]}))
        elif record.id in stale and not record.is_by_human:
            result.append(record.model_copy(update={"status": "pending", "feedback": ""}))
        else:
            result.append(record)
    return result


def former_of(record: TaskRecord) -> Outcome | None:
    """The result that review has sent back: it still stands where doing it again fails, also after that has parked."""
    if not record.feedback or record.outcome is None:
        return None
    return record.outcome if record.outcome.status == "done" else record.outcome.former


def kept(record: TaskRecord, made: Outcome) -> Outcome:
    """What counts of a task that has come to an end: its former result where doing it better has failed.

    Not where a human has forbidden that: then the task has failed.
    """
    if made.failure is None or made.failure.kind == "denied" or made.status == "parked":
        return made
    former = former_of(record)
    if former is None:
        return made
    names = ("usage", "attempts", "tried", "iteration", "started_at", "finished_at")
    now = {name: getattr(made, name) for name in names}
    return former.model_copy(update={**now, "review": None, "not_improved": made.failure.message})


RECENT_MAIL = 20
"""Messages that go into a brief; the rest stays in the mailbox."""


def assemble_brief(
    query: str,
    record: TaskRecord,
    inputs: Mapping[str, Outcome],
    *,
    mail: Sequence[Mail] = (),
    iteration: int = 0,
    artifacts: int = 0,
    sources: Sequence[str] = (),
    earlier: Sequence[Turn] = (),
    then: Mapping[str, str] | None = None,
    reviews: Mapping[str, str] | None = None,
) -> Brief:
    """The scoped context for the task of `record`; `inputs` are the outcomes of its dependencies, by task id."""
    before = former_of(record) or record.outcome
    delivered: dict[str, JsonValue] = {
        other: outcome.result for other, outcome in inputs.items() if outcome.status == "done"
    }
    return Brief(
        query=query,
        task=record.task,
        inputs=delivered,
        missing=[other for other in inputs if other not in delivered],
        mail=list(mail)[-RECENT_MAIL:],
        feedback=record.feedback,
        previous=before.result if before and record.feedback else "",
        iteration=iteration,
        artifacts=artifacts,
        sources=list(sources),
        earlier=list(earlier),
        then=dict(then or {}),
        reviews={other: said for other, said in (reviews or {}).items() if other in delivered},
    )
