"""What a human gets who takes the wheel (chapter 15.12.4)."""

from collections.abc import Sequence

from pydantic import JsonValue

from state.outcome import as_text
from state.record import FINAL, TaskRecord

LONGEST_RESULT = 4_000
"""Characters of an intermediate result that are shown."""


def takeover_context(records: Sequence[TaskRecord]) -> dict[str, JsonValue]:
    """Current and total steps, done and pending tasks, intermediate results, the next step, reasons of failure."""
    ended = [record for record in records if record.status in FINAL]
    pending = [record for record in records if record.status not in FINAL]
    results = {r.id: as_text(r.outcome.result)[:LONGEST_RESULT] for r in ended if r.outcome and r.status == "done"}
    reasons = [r.outcome.failure.message for r in records if r.outcome and r.outcome.failure]
    return {
        "current_step": len(ended),
        "total_steps": len(records),
        "completed_tasks": [record.id for record in ended],
        "pending_tasks": [record.id for record in pending],
        "intermediate_results": dict(results),
        "suggested_next_action": _next(pending, {record.id for record in ended}),
        "failure_reason": "; ".join(reasons),
    }


def _next(pending: Sequence[TaskRecord], ended: set[str]) -> str:
    ready = [record for record in pending if set(record.task.depends_on) <= ended]
    if not ready:
        return "nothing is left to do" if not pending else "wait for what the pending tasks build on"
    return f"do {ready[0].id}: {ready[0].task.description}"
