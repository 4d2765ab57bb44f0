"""When a phase is over (supervisor guide, "phase machine"): each exit criterion as a predicate."""

from collections.abc import Mapping, Sequence

from state.plan import Task, faults
from state.record import FINAL, TaskRecord


def is_decomposed(tasks: Sequence[Task]) -> bool:
    """All tasks exist, with valid dependencies."""
    return bool(tasks) and not faults(tasks)


def is_routed(records: Sequence[TaskRecord]) -> bool:
    """Every task has an agent."""
    return all(record.agent for record in records)


def is_executed(records: Sequence[TaskRecord]) -> bool:
    """Every task is done, failed, skipped or cancelled."""
    return all(record.status in FINAL for record in records)


def is_reviewed(feedback: Mapping[str, str], iteration: int, rounds: int) -> bool:
    """Nothing is sent back, or the rounds are used up."""
    return not feedback or iteration >= rounds


def is_assembled(report: str | None) -> bool:
    """The final output exists."""
    return bool(report and report.strip())
