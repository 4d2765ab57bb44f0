"""How a plan shrinks and grows on the way (row M22): what a dependency has answered, and gaps that review finds.

A task is needless where an agent whose result it builds on has said that it answers it too (`also_answers`). It is not
left out where it acts, is critical, is marked for a human, or has been sent back: an agent's word is enough to spare
work, not to end a dispute. Review still holds the result against the task.

A gap becomes a task of the plan: validated like any other, routed, gated, and built on by whoever writes the answer.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from nodes.policy.coverage import says_all_of
from nodes.policy.plans import repair
from nodes.policy.quality import is_decided
from nodes.policy.readiness import downstream
from state.plan import MAX_TASKS, Plan
from state.record import Outcome, TaskRecord
from state.replies import Gap, PlanDraft, TaskDraft
from state.run import Mode

MOST_ADDED = 3
"""Tasks that one review may add."""
_BOUND_TO_HUMANS = frozenset({"critical", "action"})
"""Kinds of task that no result of another can stand for."""


def may_be_spared(record: TaskRecord) -> bool:
    """Whether another's result could stand for the task at all."""
    task = record.task
    has_begun = record.status != "pending" or record.feedback
    return not (has_begun or task.action or record.marks or task.kind in _BOUND_TO_HUMANS)


def spared(task_id: str, dependents: Iterable[TaskRecord]) -> dict[str, str]:
    """Of what builds on a task, what builds on it alone and could be needless once it is done: descriptions by id."""
    alone = [other for other in dependents if other.task.depends_on == [task_id] and may_be_spared(other)]
    return {other.id: other.task.description for other in alone}


def answered_before(record: TaskRecord, inputs: Mapping[str, Outcome], least: float) -> Outcome | None:
    """The result that makes a task needless, as its own; None where it has to be done. `least`: confidence it needs."""
    if not may_be_spared(record):
        return None
    for task_id in record.task.depends_on:
        made = inputs[task_id]
        is_sure = made.confidence is None or made.confidence >= least
        if made.status == "done" and record.id in made.also_answers and is_sure and not made.limited:
            return Outcome(
                task_id=record.id,
                agent=made.agent,
                status="done",
                result=made.result,
                claims=[claim.model_copy(update={"task_id": record.id}) for claim in made.claims],
                confidence=made.confidence,
                model=made.model,
                answered_by=made.answered_by or task_id,
            )
    return None


@dataclass(frozen=True)
class Grown:
    """A plan with what review has added."""

    plan: Plan
    records: list[TaskRecord]
    added: list[str]
    """Ids of the new tasks."""


def grown(
    plan: Plan, records: Sequence[TaskRecord], gaps: Iterable[Gap], roles: Iterable[str], *, beside: bool = False
) -> Grown | None:
    """The plan with a task for each gap; None where nothing was left out that a task can do.

    Whoever puts results together builds on the new tasks too, and does it again, unless they are to stand `beside` what
    is there; what a human has decided stands. `roles`: the team's roles and names.
    """
    joins = {record.id for record in records if _joins(record, records)}
    given = [record.task.description for record in records if record.id not in joins]
    wanted = [
        gap for gap in gaps if gap.description.strip() and not any(says_all_of(one, gap.description) for one in given)
    ]
    taken = {record.id for record in records}
    names = (name for n in range(1, MAX_TASKS) if (name := f"gap{n}") not in taken)
    drafts = [
        TaskDraft(id=next(names), description=gap.description, role=gap.role, kind=_kind(gap))
        for gap in wanted[:MOST_ADDED]
    ]
    if not drafts or len(records) + len(drafts) > MAX_TASKS:
        return None
    tasks = repair(PlanDraft(tasks=drafts), roles)[0].tasks
    ids = [task.id for task in tasks]
    longer = {
        record.id: record.task.model_copy(update={"depends_on": [*record.task.depends_on, *ids]})
        for record in records
        if record.id in joins
    }
    try:
        new = Plan(**{**dict(plan), "tasks": [*(longer.get(task.id, task) for task in plan.tasks), *tasks]})
    except ValidationError:
        return None
    stale = set() if beside else joins | downstream([record.task for record in records], joins)
    again = [
        record.model_copy(
            update={
                "task": longer.get(record.id, record.task),
                "status": "pending"
                if record.id in stale and not is_decided(record) and not record.is_by_human
                else record.status,
            }
        )
        for record in records
    ]
    return Grown(new, [*again, *(TaskRecord(task=task) for task in tasks)], ids)


def _kind(gap: Gap) -> str:
    return "general" if gap.kind.strip().lower() in _BOUND_TO_HUMANS else gap.kind


def _joins(record: TaskRecord, records: Sequence[TaskRecord]) -> bool:
    """Whether the task puts others' results together at the end, and may do so again."""
    is_last = not any(record.id in other.task.depends_on for other in records if other.status == "done")
    is_free = not (record.task.action or is_decided(record) or record.is_by_human)
    return is_last and is_free and bool(record.task.depends_on) and record.recruited_by is None


def followed(mode: Mode, records: Sequence[TaskRecord], rounds: int, added: Collection[str] = ()) -> Mode:
    """The mode that fits a run as it has become: one that has grown is a supervisor's, with its `rounds` of review.

    `added`: ids of tasks that review has just put into the plan; recruits are known by their records.
    """
    more = sum(record.recruited_by is not None or record.id in added for record in records)
    if mode.name == "supervisor" or not more:
        return mode
    planned = len(records) - more
    reason = f"the run has grown beyond its plan of {planned} task{'s' if planned > 1 else ''}"
    complexity = round(min(1.0, mode.complexity + 0.1 * more), 2)
    return Mode(name="supervisor", reason=reason, complexity=complexity, review_rounds=max(rounds, mode.review_rounds))
