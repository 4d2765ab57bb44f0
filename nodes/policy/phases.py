"""The phase machine: when a phase is over (supervisor guide), how a run ends, and which agents it cannot do without."""

from collections.abc import Mapping, Sequence

from nodes.policy.approvals import is_denied
from state.plan import Task, faults
from state.policy import OnReject
from state.record import FINAL, HUMAN, TaskRecord
from state.run import Phase


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


def ending(
    records: Sequence[TaskRecord],
    *,
    error: str | None,
    is_cancelled: bool,
    is_at_limit: bool,
    on_reject: OnReject,
    report: str | None,
) -> tuple[Phase, str | None]:
    """How a run ends, and the line that says why it is no success.

    Complete: every required task is done, by an agent or a human. Partial: something was delivered, and a required task
    was not done, or a limit of the run (`is_at_limit`) came first. Failed: it gave up (`error`), nothing was delivered,
    or a human refused a required task where that is to fail the run (chapter 15.12.5, `on_reject`).
    """
    if is_cancelled:
        return Phase.cancelled, None
    is_delivered = any(record.status == "done" for record in records)
    if error:
        return Phase.partial if is_at_limit and is_delivered else Phase.failed, error
    undone = [record for record in records if record.task.required and record.status != "done"]
    reasons = {r.id: r.outcome.failure.message for r in records if r.outcome and r.outcome.failure}
    refused = [record.id for record in undone if is_denied(record)] if on_reject == "fail" else []
    if refused:
        return Phase.failed, reasons[refused[0]]
    if not is_delivered:
        return Phase.failed, "no task delivered a result" + "".join(f": {why}" for why in list(reasons.values())[:1])
    if not is_assembled(report):
        return Phase.failed, "no report was put together"
    if undone:
        named = (f"{record.id} ({reasons.get(record.id, record.status)})" for record in undone)
        return Phase.partial, f"not done: {', '.join(named)}"
    return Phase.complete, None
