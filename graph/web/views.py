"""What the page, the export and programs get to see of runs, as JSON."""

import asyncio
from collections.abc import Sequence

from graph.pictures import pictures_of
from graph.reading import Reading
from nodes.policy.approvals import on_expiry
from nodes.policy.mail import Mailbox
from nodes.policy.takeover import is_left_behind
from nodes.policy.timeline import fold
from nodes.runtime.ledger import SideEffectLedger
from nodes.runtime.rows import read_all, space
from state.channels import Terms, terms_of
from state.errors import ThreadUnknown
from state.event import Event
from state.run import Run
from state.text import Json

LIMITS = {"oversight", "token_budget", "cost_budget", "max_seconds", "max_parallel"}
"""What of a run's policy its counters are shown against."""
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


async def in_full(reading: Reading, run: Run, after: int | None = None) -> Json:
    """A run with its events, the timeline that they fold to, the audit log, mail, and what it did to the outside world.

    With `after` only the events above it, and no timeline: for whoever folds events as they come.
    """
    events = await reading.events(run.thread_id, after or 0)
    try:
        entries, broken = await reading.audit(run.thread_id)
        terms = terms_of((await reading.position(run.thread_id)).state)
    except ThreadUnknown:  # it waits for a worker
        entries, broken, terms = [], "", Terms()
    effects = await SideEffectLedger(reading.database.store, run.thread_id, reading.clock).newest_first()
    return {
        "v": 1,
        "pictures": {**await asyncio.to_thread(pictures_of, run)},
        "now": reading.clock.now(),
        "run": run.model_dump(mode="json"),
        "policy": terms.policy.model_dump(mode="json", include=LIMITS),
        "on_expiry": {asked.id: on_expiry(asked, terms.policy) for asked in run.approvals},
        "sources": [*terms.sources],
        "events": [event.model_dump(mode="json") for event in events],
        "timeline": timeline_of(run, events) if after is None else None,
        "audit": {"entries": [entry.model_dump(mode="json") for entry in entries], "broken": broken},
        "effects": [effect.model_dump(mode="json") for effect in effects if is_left_behind(effect)],
        "mail": [*await _mail(reading, run.thread_id)],
    }


async def _mail(reading: Reading, thread_id: str) -> list[Json]:
    """What agents were written, oldest first, and whether they were given it."""
    found: list[Json] = []
    for row in await read_all(reading.database.store, space("mail", thread_id)):
        box = Mailbox.model_validate(row.value)
        first = box.received - len(box.messages)
        for number, mail in enumerate(box.messages, first):
            found.append({**mail.model_dump(mode="json"), "agent": row.key, "read": number < box.read})
    return sorted(found, key=lambda one: float(str(one["at"])))


def timeline_of(run: Run, events: Sequence[Event]) -> Json:
    """The timeline of a run."""
    return fold(events, {task.id: task.depends_on for task in run.tasks}).model_dump(mode="json")
