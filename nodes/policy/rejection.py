"""What a human's no means for the task that asked (chapter 15.12.5: a required task that is rejected)."""

from collections.abc import Iterable, Sequence

from state.approval import Decision
from state.policy import Policy
from state.record import TaskRecord


def denial(decision: Decision, action: str, policy: Policy) -> str:
    """Why the task ends with this decision, or an empty string: the agent goes on with the feedback then."""
    if decision.type != "reject" or policy.on_reject == "revise":
        return ""
    return f"{decision.by} did not allow {action}" + (f": {decision.message}" if decision.message else "")


def is_denied(record: TaskRecord) -> bool:
    """Whether the task failed because a human said no."""
    failure = record.outcome.failure if record.outcome else None
    return record.status == "failed" and failure is not None and failure.kind == "denied"


def to_replan(records: Iterable[TaskRecord], policy: Policy, replanned: Sequence[str]) -> list[TaskRecord]:
    """The denied tasks for which a new plan is to be made; none once that was done `max_iterations` times."""
    if policy.on_reject != "replan" or len(replanned) >= policy.max_iterations:
        return []
    return [record for record in records if is_denied(record) and record.id not in replanned]


def objection_to(record: TaskRecord) -> str:
    """What the planner is told about a denied task."""
    why = record.outcome.failure.message if record.outcome and record.outcome.failure else "it was not allowed"
    return f"Make another plan: {why}. That was task {record.id}: {record.task.description}"
