"""The lease of a thread: one process runs it at a time. LangGraph itself lets two, and both do the paid step.

A row in the Store, taken and renewed by one atomic statement; it names its process, so that the lease of a process
that died on this machine is free at once, and of one on another machine after `LEASE_S`.
"""

import asyncio
import json
import os
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiosqlite
from pydantic import BaseModel, ConfigDict

from nodes.runtime.clock import Clock
from nodes.runtime.rows import space
from state.errors import ThreadBusy

LEASE_S = 15.0
"""Seconds a lease holds without a heartbeat."""
HEARTBEAT_S = 5.0

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


class Leases:
    """Leases held by this process. Not reentrant: a second run of a thread is refused here as well."""

    def __init__(self, connection: aiosqlite.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the lease of a thread while inside.

        Raises:
            ThreadBusy: somebody else holds it.
        """
        owner = uuid.uuid4().hex
        await self._take(thread_id, owner)
        beat = asyncio.create_task(self._beat(thread_id, owner))
        try:
            yield
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat
            await self._connection.execute(_DROP, {"prefix": _prefix(thread_id), "owner": owner})

    async def holder(self, thread_id: str) -> Holder | None:
        """Who runs the thread now; None if nobody does."""
        async with self._connection.execute(_LOOK, {"prefix": _prefix(thread_id)}) as cursor:
            row = await cursor.fetchone()
        holder = Holder.model_validate_json(row[0]) if row else None
        if holder and holder.until >= self._clock.now() and not await asyncio.to_thread(_is_gone, holder):
            return holder
        return None

    async def _take(self, thread_id: str, owner: str) -> None:
        async with self._connection.execute(_LOOK, {"prefix": _prefix(thread_id)}) as cursor:
            row = await cursor.fetchone()
        other = Holder.model_validate_json(row[0]) if row else None
        is_dead = other is not None and await asyncio.to_thread(_is_gone, other)
        gone = other.owner if other and is_dead else ""
        if not await self._write(thread_id, owner, gone):
            who = f"process {other.pid} on {other.host}" if other else "another process"
            raise ThreadBusy(f"thread {thread_id} is being run by {who}; wait for it, or steer it from here by signals")

    async def _write(self, thread_id: str, owner: str, gone: str = "") -> bool:
        now = self._clock.now()
        me = Holder(
            owner=owner, host=socket.gethostname(), pid=os.getpid(), born=_born(os.getpid()), until=now + LEASE_S
        )
        values = {
            "prefix": _prefix(thread_id),
            "value": json.dumps(me.model_dump()),
            "owner": owner,
            "gone": gone,
            "now": now,
        }
        cursor = await self._connection.execute(_TAKE, values)
        return cursor.rowcount == 1

    async def _beat(self, thread_id: str, owner: str) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            await self._write(thread_id, owner)


def _prefix(thread_id: str) -> str:
    return ".".join(space("leases", thread_id))


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
    """When a process started, in the kernel's own unit; empty where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
