"""What the page, the export and programs get to see of runs, as JSON."""

import asyncio
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from graph.reading import Reading
from nodes.policy.mail import Mailbox
from nodes.policy.takeover import is_left_behind
from nodes.policy.timeline import fold
from nodes.runtime.ledger import SideEffectLedger
from nodes.runtime.rows import read_all, space
from nodes.tools.files import digest
from nodes.tools.pictures import PICTURES
from state.channels import Terms
from state.event import Event
from state.run import Run
from state.text import Json

LIMITS = {"oversight", "token_budget", "cost_budget", "max_seconds", "max_parallel"}
"""What of a run's policy its counters are shown against."""
PICTURE_BYTES = 5 * 1024 * 1024
"""Of all pictures of a run that are sent along."""
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
    entries, broken = await reading.audit(run.thread_id)
    terms = Terms.model_validate((await reading.position(run.thread_id)).state.get("terms") or {})
    effects = await SideEffectLedger(reading.database.store, run.thread_id, reading.clock).newest_first()
    return {
        "v": 1,
        "pictures": await asyncio.to_thread(pictures_of, run),
        "now": reading.clock.now(),
        "run": run.model_dump(mode="json"),
        "policy": terms.policy.model_dump(mode="json", include=LIMITS),
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


def pictures_of(run: Run) -> Json:
    """The pictures that a report shows, by their names, as `data:` addresses; none that has changed since. Blocking."""
    found: Json = {}
    left = PICTURE_BYTES
    for one in run.artifacts:
        kind = PICTURES.get(Path(one.name).suffix.lower())
        name = quote(one.name)
        if kind is None or one.bytes > left or f"]({name})" not in (run.report or ""):
            continue
        try:
            data = Path(one.path).read_bytes()
        except OSError:
            continue
        if digest(data) == one.sha256:
            found[name] = f"data:{kind};base64,{b64encode(data).decode()}"
            left -= one.bytes
    return found


def timeline_of(run: Run, events: Sequence[Event]) -> Json:
    """The timeline of a run."""
    return fold(events, {task.id: task.depends_on for task in run.tasks}).model_dump(mode="json")
