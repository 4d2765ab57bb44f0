"""The lease of a thread: one process runs it at a time. LangGraph itself lets two, and both do the paid step.

A row in the Store, taken and renewed by one atomic statement; it names its process, so that the lease of a process
that died on this machine is free at once, and of one on another machine after `LEASE_S`. One that lives here keeps it,
also while an agent blocks its event loop and no heartbeat gets through: taken from it, its work would be done twice.
"""

import asyncio
import json
import os
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from graph.sqlite.connection import Connection
from nodes.runtime.clock import Clock
from nodes.runtime.rows import space
from state.errors import ThreadBusy

LEASE_S = 15.0
"""Seconds a lease holds without a heartbeat."""
HEARTBEAT_S = 5.0
LATEST_S = 600.0
"""Seconds that a living process on this machine may be late with a heartbeat before its lease is another's to take."""
STEP_S = 5.0
"""Seconds a lease holds between two steps of a run, or counts as just given back after the last one."""
PATIENCE_S = 1.0
"""Seconds to wait for a lease: whoever only applies a deadline has it for a moment."""
RETRY_S = 0.05
ENDED = ("Z", "X")
"""States of a process that has ended and that nobody has asked about yet (proc(5))."""
FREE = ""
"""The owner of a lease that was given back, by a process that has yet to write down where the run stands."""

_TAKE = """
INSERT INTO store (prefix, key, value, created_at, updated_at)
VALUES (:prefix, 'lease', :value, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)
ON CONFLICT (prefix, key) DO UPDATE SET value = excluded.value, updated_at = CURRENT_TIMESTAMP
WHERE json_extract(store.value, '$.owner') IN (:owner, :gone) OR json_extract(store.value, '$.until') < :now
"""
_LOOK = "SELECT value FROM store WHERE prefix = :prefix AND key = 'lease'"
_DROP = "DELETE FROM store WHERE prefix = :prefix AND key = 'lease' AND json_extract(value, '$.owner') = :owner"


class Holder(BaseModel):
    """Who holds a lease, until when."""

    model_config = ConfigDict(extra="ignore")

    owner: str
    host: str
    pid: int
    born: str
    """When the process started, as far as the system tells: process numbers are used again."""
    until: float
    beats: bool = True
    """Whether somebody renews it: then it ends with its process, however late the next renewal is."""

    @property
    def is_running(self) -> bool:
        """Whether the thread is held; where it is not, it was given back a moment ago."""
        return self.owner != FREE


class Leases:
    """Leases held by this process."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    @asynccontextmanager
    async def hold(self, thread_id: str, patience_s: float = PATIENCE_S) -> AsyncIterator[None]:
        """Hold the lease of a thread while inside. Not reentrant: a second run of it is refused here as well.

        Raises:
            ThreadBusy: somebody else holds it.
        """
        owner = uuid.uuid4().hex
        async with self._holding(thread_id, owner, patience_s):
            try:
                yield
            finally:
                await self._connection.one(_DROP, {"prefix": _prefix(thread_id), "owner": owner})

    @asynccontextmanager
    async def step(self, thread_id: str, owner: str, *, is_last: bool = False) -> AsyncIterator[None]:
        """Hold the lease of a thread for one step of a run whose steps are taken one by one, all by `owner`.

        After the step it is kept for `STEP_S`, so that nobody comes between it and the next one. After the last one,
        and after one that waits or failed, anybody may take it at once; for as long, it only says that this process is
        about to write down where the run stands. Nothing follows a step that was cut off.

        Raises:
            ThreadBusy: somebody else holds it.
        """
        async with self._holding(thread_id, owner, PATIENCE_S):
            next_owner, seconds = FREE, STEP_S
            try:
                yield
                next_owner = FREE if is_last else owner
            except asyncio.CancelledError:
                seconds = 0.0
                raise
            finally:
                await self._write(thread_id, owner, next_owner, seconds)

    async def check(self, thread_id: str, owner: str) -> None:
        """Refuse to change a thread that is not the owner's to change.

        Raises:
            ThreadBusy: somebody else holds its lease.
        """
        holder = await self.holder(thread_id)
        if holder and holder.is_running and holder.owner != owner:
            raise busy(thread_id, holder)

    async def holder(self, thread_id: str) -> Holder | None:
        """Who runs the thread now, or did a moment ago (`FREE`); None if nobody does."""
        holder = await self._found(thread_id)
        if holder is None or await asyncio.to_thread(_is_gone, holder):
            return None
        return holder if holder.until >= self._clock.now() or _is_late(holder, self._clock.now()) else None

    @asynccontextmanager
    async def _holding(self, thread_id: str, owner: str, patience_s: float) -> AsyncIterator[None]:
        """Take the lease, and renew it while inside."""
        until = self._clock.now() + patience_s
        while not await self._take(thread_id, owner):
            if self._clock.now() >= until:
                raise busy(thread_id, await self._found(thread_id))
            await self._clock.sleep(RETRY_S)
        beat = asyncio.create_task(self._beat(thread_id, owner))
        try:
            yield
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    async def _take(self, thread_id: str, owner: str) -> bool:
        """Take the lease, if nobody living has it."""
        other = await self._found(thread_id)
        is_dead = other is not None and await asyncio.to_thread(_is_gone, other)
        if other and other.owner != owner and _is_late(other, self._clock.now()) and not is_dead:
            return False
        return await self._write(thread_id, owner, owner, LEASE_S, other.owner if other and is_dead else FREE)

    async def _found(self, thread_id: str) -> Holder | None:
        row, _ = await self._connection.one(_LOOK, {"prefix": _prefix(thread_id)})
        return Holder.model_validate_json(row[0]) if row else None

    async def _write(self, thread_id: str, owner: str, next_owner: str, seconds: float, gone: str = FREE) -> bool:
        """Write the lease for the next `seconds`, if it is the `owner`'s, or nobody's."""
        now = self._clock.now()
        me = Holder(
            owner=next_owner,
            host=socket.gethostname(),
            pid=os.getpid(),
            born=_born(os.getpid()),
            until=now + seconds,
            beats=seconds == LEASE_S,
        )
        values = {
            "prefix": _prefix(thread_id),
            "value": json.dumps(me.model_dump()),
            "owner": owner,
            "gone": gone,
            "now": now,
        }
        _, changed = await self._connection.one(_TAKE, values)
        return changed == 1

    async def _beat(self, thread_id: str, owner: str) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            await self._write(thread_id, owner, owner, LEASE_S)


def busy(thread_id: str, holder: Holder | None) -> ThreadBusy:
    """The refusal of a thread that somebody holds."""
    who = f"process {holder.pid} on {holder.host}" if holder else "another process"
    return ThreadBusy(f"thread {thread_id} is being run by {who}; wait for it, or steer it from here by signals")


def _prefix(thread_id: str) -> str:
    return ".".join(space("leases", thread_id))


def _is_late(holder: Holder, now: float) -> bool:
    """Whether the holder, a living process on this machine, may only be late: an agent may block its event loop."""
    here = holder.beats and holder.is_running and holder.host == socket.gethostname()
    return here and now < holder.until + LATEST_S


def _is_gone(holder: Holder) -> bool:
    """Whether the process is known to be dead: it was on this machine, and is not there, or is another one by now."""
    if holder.host != socket.gethostname():
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _born(holder.pid) != holder.born


def _born(pid: int) -> str:
    """When a process started, in the kernel's own unit; empty where it has ended, or the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19] if len(fields) > 19 and fields[0] not in ENDED else ""
