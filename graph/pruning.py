"""Pruning: forgets runs that nobody needs any more, beside others that are at work.

A thread is forgotten under its lease, and only if its run is still the one that was chosen: whoever goes on with it, or
starts another on it, is left alone. The record of what humans decided stays, unless it is told to go, too; so do files
of a thread: reports, what agents wrote, pages and uploads.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from dataclasses import dataclass

from graph.reading import OnDamaged, Reading
from nodes.runtime.context import run_folder
from nodes.runtime.rows import Listed, listed_at, places_of, read_ended
from nodes.tools.storage import Location, remove_all, size_of
from state.errors import ThreadBusy, ThreadUnknown
from state.run import RunStatus

DAY_S = 86_400.0
ENDS: frozenset[RunStatus] = frozenset({"complete", "partial", "failed", "cancelled"})


@dataclass(frozen=True)
class Old:
    """A run that can be forgotten."""

    thread_id: str
    status: str
    started_at: float
    last_at: float
    """When it ended, or else when it began."""
    has_ended: bool


async def find_old(
    reading: Reading, before: float, statuses: Collection[RunStatus], on_damaged: OnDamaged
) -> list[Old]:
    """The runs with one of these statuses that ended before then, the oldest first; open ones that began before then.

    None of those is among them that somebody executes.
    """
    still_open = await reading.runs(reading.view, only_open=True, on_damaged=on_damaged)
    found = [
        Old(run.thread_id, run.status, run.started_at, run.started_at, has_ended=False)
        for run in still_open
        if run.status != "running" and run.started_at is not None
    ]
    ended = await read_ended(reading.database.store)
    found += [Old(row.thread_id, row.status, row.started_at, row.finished_at, has_ended=True) for row in ended]
    chosen = [old for old in found if old.status in statuses and old.last_at < before]
    return sorted(chosen, key=lambda old: old.last_at)


async def prune(
    reading: Reading, runs: Collection[Old], *, with_audit: bool, artifacts: Location | None = None
) -> AsyncIterator[tuple[Old, bool]]:
    """Forget these runs, one after the other; each with whether it is gone: not if somebody has taken it up.

    `artifacts`: the folder that has those of the threads, where their files are to go as well.
    """
    for old in runs:
        is_gone = False
        with suppress(ThreadBusy):
            async with reading.leases.hold(old.thread_id, patience_s=0):
                if is_gone := await _is_still(reading, old):
                    places = places_of(old.thread_id, with_audit=with_audit)
                    keys = listed_at(Listed(old.thread_id, old.started_at, ""))
                    await reading.database.forget_thread(old.thread_id, places, keys)
                    if artifacts:
                        await asyncio.to_thread(remove_all, run_folder(artifacts, old.thread_id))
        yield old, is_gone


def bytes_in(artifacts: Location, runs: Collection[Old]) -> int:
    """What the files of these runs' threads take up, in bytes. Blocking."""
    return sum(map(size_of, {run_folder(artifacts, old.thread_id) for old in runs}))


async def _is_still(reading: Reading, old: Old) -> bool:
    """Whether the last run of the thread is the one that was chosen."""
    try:
        position = await reading.position(old.thread_id)
    except ThreadUnknown:  # it was forgotten half, by hand
        return True
    return position.state.get("started_at") == old.started_at and position.has_ended == old.has_ended
