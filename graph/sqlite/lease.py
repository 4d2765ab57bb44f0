"""The lease of a thread: one process runs it at a time. LangGraph itself lets two, and both do the paid step.

A row in the Store, taken and renewed by one atomic statement; it names its process, so that the lease of a process
that died on this machine is free at once. One that lives here keeps it, also while an agent blocks its event loop and
no heartbeat gets through. That of another machine is free once it was not renewed for as long as it holds, by the clock
of who wants it: no two clocks are compared. Who was wrongly taken for dead can write nothing more (`fence`).
"""

import asyncio
import json
import os
import socket
import sqlite3
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from graph.lease import FREE, HEARTBEAT_S, LATEST_S, LEASE_S, PATIENCE_S, RETRY_S, STEP_S, Holder, born, busy, is_gone
from graph.sqlite.connection import Connection
from graph.sqlite.fence import RowFence
from nodes.runtime.background import stop
from nodes.runtime.clock import Clock
from nodes.runtime.rows import space

_TAKE = """
INSERT INTO store (prefix, key, value, created_at, updated_at)
VALUES (:prefix, 'lease', :value, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)
ON CONFLICT (prefix, key) DO UPDATE SET value = excluded.value, updated_at = CURRENT_TIMESTAMP
WHERE store.value = :seen OR json_extract(store.value, '$.owner') IN (:owner, :free)
"""
_RENEW = """
UPDATE store SET value = :value, updated_at = CURRENT_TIMESTAMP
WHERE prefix = :prefix AND key = 'lease' AND json_extract(value, '$.owner') = :owner
"""
_LOOK = "SELECT value FROM store WHERE prefix = :prefix AND key = 'lease'"
_DROP = "DELETE FROM store WHERE prefix = :prefix AND key = 'lease' AND json_extract(value, '$.owner') = :owner"

_HELD: set[str] = set()
"""Owners of the leases that this process holds now. Others that are its own are left over: where the disk failed, it
could not give them back."""


class Row(Holder):
    """The row of a lease."""

    until: float
    beats: bool = True
    """Whether somebody renews it: then it ends with its process, however late the next renewal is."""
    was: str = ""
    """Who gave it back, where it is `FREE`: what that one did last is still on its way to the file."""


class Leases:
    """Leases held by this process."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._watched: dict[str, tuple[str | bytes, float]] = {}
        """By thread: the lease of another machine as it was seen first, and when."""

    @asynccontextmanager
    async def hold(self, thread_id: str, patience_s: float = PATIENCE_S) -> AsyncIterator[RowFence]:
        """Hold the lease of a thread while inside. Not reentrant: a second run of it is refused here as well.

        Raises:
            ThreadBusy: somebody else holds it.
            LeaseLost: it was taken away meanwhile; the task that is inside is cancelled then.
        """
        owner = uuid.uuid4().hex
        async with self._holding(thread_id, owner, patience_s) as fence:
            try:
                yield fence
            finally:
                await self._connection.one(_DROP, {"prefix": _prefix(thread_id), "owner": owner})

    @asynccontextmanager
    async def step(self, thread_id: str, owner: str, *, is_last: bool = False) -> AsyncIterator[None]:
        """Hold the lease of a thread for one step of a run whose steps are taken one by one, all by `owner`.

        Raises:
            ThreadBusy: somebody else holds it.
            LeaseLost: it was taken away meanwhile; the task that is inside is cancelled then.
        """
        async with self._holding(thread_id, owner, PATIENCE_S) as fence:
            next_owner, seconds = FREE, STEP_S
            try:
                yield
                next_owner = FREE if is_last else owner
            except asyncio.CancelledError:
                seconds = 0.0
                raise
            finally:
                if not await self._renew(thread_id, owner, next_owner, seconds):
                    fence.lose()

    def as_left(self, thread_id: str, owner: str) -> RowFence:
        """The lease as the last step of `owner` left it: for what is written down of that step after it."""
        return RowFence(thread_id, _prefix(thread_id), owner, self._connection.sqlite)

    async def check(self, thread_id: str, owner: str) -> None:
        """Refuse to change a thread that is not the owner's to change.

        Raises:
            ThreadBusy: somebody else holds its lease.
        """
        holder = await self.holder(thread_id)
        if holder and holder.is_running and holder.owner != owner:
            raise busy(thread_id, holder)

    async def holder(self, thread_id: str) -> Row | None:
        """Who runs the thread now, or did a moment ago (`FREE`); None if nobody does."""
        _, holder = await self._found(thread_id)
        if holder is None or _is_left_over(holder) or await asyncio.to_thread(is_gone, holder):
            return None
        return holder if holder.until >= self._clock.now() or _is_late(holder, self._clock.now()) else None

    @asynccontextmanager
    async def _holding(self, thread_id: str, owner: str, patience_s: float) -> AsyncIterator[RowFence]:
        """Take the lease, and renew it while inside."""
        start = self._clock.now()
        _HELD.add(owner)
        try:
            while not await self._take(thread_id, owner):
                if self._clock.now() >= start + await self._patience(thread_id, patience_s):
                    raise busy(thread_id, (await self._found(thread_id))[1])
                await self._clock.sleep(RETRY_S)
            async with self._fenced(thread_id, owner) as fence:
                yield fence
        finally:
            _HELD.discard(owner)

    @asynccontextmanager
    async def _fenced(self, thread_id: str, owner: str) -> AsyncIterator[RowFence]:
        fence = RowFence(thread_id, _prefix(thread_id), owner, self._connection.sqlite)
        beat = asyncio.create_task(self._beat(thread_id, owner, fence))
        fence.enter()
        try:
            try:
                yield fence
            finally:
                await stop(beat)
        finally:
            fence.leave()

    async def _take(self, thread_id: str, owner: str) -> bool:
        """Take the lease, if nobody living has it, and nobody else was faster."""
        if await self._put(thread_id, owner):
            return True
        seen, other = await self._found(thread_id)
        is_over = other is None or await self._is_over(thread_id, seen, other)
        return is_over and await self._put(thread_id, owner, seen)

    async def _put(self, thread_id: str, owner: str, seen: str | bytes = b"") -> bool:
        """Take the lease if nobody has it, it is the owner's or was given back, or its row still is what was `seen`."""
        values = {"seen": seen, "value": self._row(owner, LEASE_S), "owner": owner, "free": FREE}
        _, changed = await self._connection.one(_TAKE, {"prefix": _prefix(thread_id), **values})
        if changed:
            self._watched.pop(thread_id, None)
        return changed == 1

    async def _is_over(self, thread_id: str, seen: str | bytes, other: Row) -> bool:
        """Whether a lease has run out, or was its process's and that has ended."""
        now = self._clock.now()
        if not other.is_here:
            first, at = self._watched.get(thread_id, (b"", now))
            if first != seen:
                self._watched[thread_id] = (seen, at := now)
            return now >= at + (LEASE_S if other.beats else STEP_S)
        if _is_left_over(other) or await asyncio.to_thread(is_gone, other):
            return True
        return other.until < now and not _is_late(other, now)

    async def _patience(self, thread_id: str, patience_s: float) -> float:
        """How long to wait for a lease: one of another machine that looks dead is watched for as long as it holds."""
        _, other = await self._found(thread_id)
        if not patience_s or other is None or other.is_here:
            return patience_s
        left = other.until - self._clock.now()
        return patience_s if 0 <= left <= LEASE_S else LEASE_S + patience_s

    async def _found(self, thread_id: str) -> tuple[str | bytes, Row | None]:
        """The row of a lease as it is, and who holds it."""
        row, _ = await self._connection.one(_LOOK, {"prefix": _prefix(thread_id)})
        return (row[0], Row.model_validate_json(row[0])) if row else (b"", None)

    async def _renew(self, thread_id: str, owner: str, next_owner: str, seconds: float) -> bool:
        """Write the lease for the next `seconds`, if it is still the `owner`'s."""
        value = self._row(next_owner, seconds, was=owner if next_owner == FREE else "")
        _, changed = await self._connection.one(_RENEW, {"prefix": _prefix(thread_id), "owner": owner, "value": value})
        return changed == 1

    def _row(self, owner: str, seconds: float, was: str = "") -> str:
        me = Row(
            owner=owner,
            host=socket.gethostname(),
            pid=os.getpid(),
            born=born(os.getpid()),
            until=self._clock.now() + seconds,
            beats=seconds == LEASE_S,
            was=was,
        )
        return json.dumps(me.model_dump())

    async def _beat(self, thread_id: str, owner: str, fence: RowFence) -> None:
        """Renew the lease, until it is lost."""
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            with suppress(sqlite3.OperationalError):  # a full disk, somebody's lock: the next one may get through
                if not await self._renew(thread_id, owner, owner, LEASE_S):
                    fence.lose()
                    return


def _is_left_over(holder: Row) -> bool:
    """Whether it was this process's, which has no such lease any more."""
    if not (holder.is_here and holder.beats and holder.pid == os.getpid() and holder.owner not in (*_HELD, FREE)):
        return False
    return holder.born == born(os.getpid())


def _prefix(thread_id: str) -> str:
    return ".".join(space("leases", thread_id))


def _is_late(holder: Row, now: float) -> bool:
    """Whether the holder, a living process on this machine, may only be late: an agent may block its event loop."""
    return holder.beats and holder.is_running and holder.is_here and now < holder.until + LATEST_S
