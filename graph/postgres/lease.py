"""The lease of a thread, held by a session: one process runs it at a time, and only that one can write for it.

What holds is an advisory lock, so a lease ends with its connection: that of a process that died is free at once, that
of a machine that vanished when the server misses it (11 s). A process that stands still keeps its connection; whoever
wants its thread ends that session, once it was silent for as long as a lease holds, by the server's clock alone.
"""

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from psycopg import Error

from graph.fence import forget_left
from graph.lease import LATEST_S, LEASE_S, PATIENCE_S, RETRY_S, Holder, born, busy, is_gone
from graph.postgres.session import Server, Session, SessionFence
from nodes.runtime.clock import Clock
from state.errors import LeaseLost

ENDING_MS = 5_000
"""How long to wait for a session that is told to end."""
NAMED = "baton"
_WHO = """
SELECT a.pid, a.application_name, extract(epoch FROM clock_timestamp() - a.state_change)::float8 AS quiet_s
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.classid::bigint = %s AND l.objid::bigint = %s AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@dataclass(frozen=True)
class _Found:
    """Whose session holds a lease."""

    backend: int
    holder: Holder
    quiet_s: float
    """Seconds since the server heard of it."""


class Leases:
    """Leases held by this process."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    @asynccontextmanager
    async def hold(self, thread_id: str, patience_s: float = PATIENCE_S) -> AsyncIterator[SessionFence]:
        """Hold the lease of a thread while inside. Not reentrant: a second run of it is refused here as well.

        What is held inside another lease of this database is held by the same session: who loses one has lost both.

        Raises:
            ThreadBusy: somebody else holds it.
            LeaseLost: it was taken away meanwhile; the task that is inside is cancelled then.
        """
        forget_left()
        async with AsyncExitStack() as stack:
            session = self._server.session()
            if session is None:
                session = await stack.enter_async_context(self._server.new_session(_name()))
            await self._take(session, thread_id, patience_s)
            fence = SessionFence(thread_id, session)
            session.fences.append(fence)
            fence.enter()
            try:
                yield fence
            finally:
                with suppress(LeaseLost, Error):
                    async with session.cursor() as cursor:
                        await cursor.execute("SELECT pg_advisory_unlock(%s)", [number(thread_id)])
                session.fences.remove(fence)
                fence.leave()

    async def holder(self, thread_id: str) -> Holder | None:
        """Who runs the thread now; None if nobody does."""
        found = await self._found(thread_id)
        return found.holder if found else None

    async def _take(self, session: Session, thread_id: str, patience_s: float) -> None:
        """Take the lease, when nobody living has it."""
        start = self._clock.now()
        if any(fence.thread_id == thread_id for fence in session.fences):
            raise busy(thread_id, _me())
        while True:
            async with session.cursor() as cursor:
                await cursor.execute("SELECT pg_try_advisory_lock(%s) AS ok", [number(thread_id)])
                row = await cursor.fetchone()
            if row and row["ok"]:
                return
            found = await self._found(thread_id)
            if found is not None and await asyncio.to_thread(_is_over, found):
                async with self._server.cursor() as cursor:
                    await cursor.execute("SELECT pg_terminate_backend(%s, %s)", [found.backend, ENDING_MS])
            elif self._clock.now() >= start + patience_s:
                raise busy(thread_id, found.holder if found else None)
            else:
                await self._clock.sleep(RETRY_S)

    async def _found(self, thread_id: str) -> _Found | None:
        high, low = divmod(number(thread_id) % 2**64, 2**32)
        async with self._server.cursor() as cursor:
            await cursor.execute(_WHO, [high, low])
            row = await cursor.fetchone()
        if row is None:
            return None
        words = f"{row['application_name'] or ''}    ".split(" ", 3)
        is_named = words[0] == NAMED and words[1].isdecimal()
        pid, birth, host = (int(words[1]), words[2], words[3].strip()) if is_named else (0, "", "another machine")
        return _Found(row["pid"], Holder(owner=str(row["pid"]), host=host, pid=pid, born=birth), row["quiet_s"] or 0.0)


def number(thread_id: str) -> int:
    """The advisory lock of a thread: 64 bits of its hash, as PostgreSQL's bigint."""
    return int.from_bytes(hashlib.sha256(f"baton {thread_id}".encode()).digest()[:8], "big", signed=True)


def _is_over(found: _Found) -> bool:
    """Whether whoever holds it is dead, or has stood still for longer than it may."""
    if found.holder.is_here:
        return is_gone(found.holder) or found.quiet_s > LATEST_S
    return found.quiet_s > LEASE_S


def _name() -> str:
    """What the server calls a session; it keeps 63 bytes of that."""
    me = _me()
    return f"{NAMED} {me.pid} {me.born or '-'} {me.host}"


def _me() -> Holder:
    # The server keeps 63 bytes of a name. A longer one of a machine is that of another: its silence counts.
    return Holder(owner="", host=socket.gethostname()[:36], pid=os.getpid(), born=born(os.getpid()))
