"""The phase machine: when a phase is over (supervisor guide), and which agents a run cannot do without."""

from collections.abc import Mapping, Sequence

from state.plan import Task, faults
from state.record import FINAL, HUMAN, TaskRecord


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


def needed(records: Sequence[TaskRecord], team: Sequence[str]) -> list[str]:
    """The agents that what is unfinished was routed or handed to; all of `team` while something has nobody yet.

    `team`: the names the run was started with; none in runs that did not keep them, and nothing is known of those.
    """
    if not team:
        return []
    left = [record for record in records if record.status not in FINAL]
    if not records or not is_routed(left):
        return list(team)
    names = (name for record in left for name in (record.agent, record.outcome.agent if record.outcome else None))
    return [name for name in dict.fromkeys(names) if name and name != HUMAN]
