"""What the page, the export and programs get to see of runs, as JSON."""

from collections.abc import Sequence

from graph.reading import Reading
from nodes.policy.timeline import fold
from state.event import Event
from state.run import Run
from state.text import Json

SHORT = 400
"""Characters of a request in a list."""


def in_short(run: Run) -> Json:
    """A run as one line of a list."""
    return {
        **run.model_dump(
            mode="json", include={"thread_id", "status", "waits_for", "phase", "started_at", "finished_at"}
        ),
        "query": run.query[:SHORT],
        "done": sum(task.status == "done" for task in run.tasks),
        "tasks": len(run.tasks),
        "tokens": run.usage.total_tokens,
        "cost": run.usage.cost,
        "doubts": len(run.doubts),
        "questions": [
            {"id": asked.id, "action": asked.action, "expires_at": asked.expires_at} for asked in run.approvals
        ],
    }


def needs_human(run: Run) -> bool:
    """Whether it stands still, or will, until somebody does something."""
    return bool(run.approvals) or run.waits_for in ("release", "model", "team")


async def in_full(reading: Reading, run: Run) -> Json:
    """A run with its events, the timeline that they fold to, and the audit log."""
    events = await reading.events(run.thread_id)
    entries, broken = await reading.audit(run.thread_id)
    return {
        "v": 1,
        "now": reading.clock.now(),
        "run": run.model_dump(mode="json"),
        "events": [event.model_dump(mode="json") for event in events],
        "timeline": timeline_of(run, events),
        "audit": {"entries": [entry.model_dump(mode="json") for entry in entries], "broken": broken},
    }


def timeline_of(run: Run, events: Sequence[Event]) -> Json:
    """The timeline of a run."""
    return fold(events, {task.id: task.depends_on for task in run.tasks}).model_dump(mode="json")
