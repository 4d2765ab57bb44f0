"""The lease of a thread, held by a session: one process runs it at a time, and only that one can write for it.

What holds is an advisory lock, so a lease ends with its connection: that of a process that died is free at once, that
of a machine that vanished when the server misses it (11 s). A process that stands still keeps its connection; whoever
wants its thread ends that session, once the process was silent (`graph.postgres.pulse`) by the server's clock. That is
so on one machine and on several: who has lost the session can write nothing, so nobody has to be known to be dead.

Where somebody else drives a run, one step at a time, its session stays between two of them, and is called otherwise
then: that of a run whose next step is awaited is another's to end sooner, that of one which waits or has ended at once.
"""

import asyncio
import hashlib
import os
import socket
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from math import inf

from psycopg import Error
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import DictRow

from graph.fence import Fence, forget_left
from graph.lease import FREE, LEASE_S, PATIENCE_S, RETRY_S, STEP_S, Holder, born, busy, is_gone
from graph.postgres.pulse import MISSED_S
from graph.postgres.session import Server, Session, SessionFence
from graph.postgres.together import Together
from nodes.runtime.clock import Clock
from state.errors import DatabaseUnusable, LeaseLost

ENDING_MS = 5_000
"""How long to wait for a session that is told to end."""
NAMED = "baton"
BETWEEN = "baton+"
"""What the server calls the session of a run between two of its steps."""
LEFT = "baton-"
"""And of one after the last, or that waits: what it did is still on its way to the database."""
CUT = "baton!"
"""And of one whose last step was cut off: nothing follows."""
_HELD = """
    l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint, l.objid::bigint) IN (SELECT * FROM unnest(%s::bigint[], %s::bigint[]))
"""
PULSE = "baton~"
"""And of the one by which a process shows that it lives."""
_WHO = f"""
WITH seen AS MATERIALIZED (
    SELECT pid, split_part(application_name, ' ', 1) AS kind, application_name,
        substr(application_name, strpos(application_name, ' ')) AS process,
        extract(epoch FROM clock_timestamp() - state_change)::float8 AS quiet_s
    FROM pg_stat_activity
)
SELECT l.classid::bigint AS high, l.objid::bigint AS low, a.pid, a.application_name, a.quiet_s,
    (SELECT min(p.quiet_s) FROM seen p WHERE p.kind = '{PULSE}' AND p.process = a.process) AS pulse_s
FROM pg_locks l JOIN seen a USING (pid) WHERE {_HELD}
"""
# Whoever has given the lease back meanwhile may hold another's.
_END = f"SELECT pg_terminate_backend(l.pid, %s) FROM pg_locks l WHERE {_HELD} AND l.pid = %s"


@dataclass(frozen=True)
class _Found:
    """Whose session holds a lease."""

    backend: int
    holder: Holder
    name: str
    """What it is called."""
    is_here: bool
    """Whether it is a process of this machine, and not only of one of the same name."""
    quiet_s: float
    """Seconds since the server heard of it."""
    pulse_s: float | None
    """Seconds since the server heard that its process lives; None where nothing shows that."""

    @property
    def is_over(self) -> bool:
        """Whether it is anybody's to end: nobody is at work in it, and nobody comes any more."""
        return self.name in (LEFT, CUT) or (self.name == BETWEEN and self.quiet_s > STEP_S)

    def is_dead(self) -> bool:
        """Whether whoever holds it is dead, or stands still."""
        if self.is_here and is_gone(self.holder):
            return True
        if self.pulse_s is None:
            return self.quiet_s > LEASE_S
        return min(self.quiet_s, self.pulse_s) > MISSED_S


@dataclass
class _Kept:
    """The session of a run whose steps are taken one by one."""

    session: Session
    fence: SessionFence
    """For what is written down of a step after it."""
    idle_since: float = inf
    """When its last step ended, by the monotonic clock; never, while it is at one."""


class Leases:
    """Leases held by this process."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._kept: dict[tuple[str, str], _Kept] = {}
        """By thread and owner."""
        self._found = Together(server, self._who_hold)

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
            session = outer = self._server.session()
            if session is None:
                session = await stack.enter_async_context(self._server.new_session(self._name()))
            if any(fence.thread_id == thread_id for fence in session.fences):
                raise busy(thread_id, _me())
            await self._take(session, thread_id, patience_s)
            with self._fenced(thread_id, session) as fence:
                try:
                    yield fence
                finally:
                    fence.is_left = True  # who waits for a turn writes nothing after it
                    if outer:  # one of its own gives back what it holds
                        with suppress(LeaseLost, Error):
                            async with session.cursor() as cursor:
                                await cursor.execute("SELECT pg_advisory_unlock(%s)", [number(thread_id)])

    @asynccontextmanager
    async def step(self, thread_id: str, owner: str, *, is_last: bool = False) -> AsyncIterator[None]:
        """Hold the lease of a thread for one step of a run whose steps are taken one by one, all by `owner`.

        The session stays until it was not needed for `LEASE_S`; what others may do with it meanwhile, its name says.

        Raises:
            ThreadBusy: somebody else holds it.
            LeaseLost: it was taken away meanwhile; the task that is inside is cancelled then.
        """
        forget_left()
        kept = await self._taken_up(thread_id, owner)
        with self._fenced(thread_id, kept.session) as fence:
            name = LEFT
            try:
                async with kept.session.beating():
                    yield
                name = LEFT if is_last else BETWEEN
            except asyncio.CancelledError:
                name = CUT
                raise
            finally:
                kept.idle_since = time.monotonic()
                try:
                    await kept.session.is_called(self._name(name))
                except (LeaseLost, Error):
                    fence.lose()
                await self._drop_idle()

    def as_left(self, thread_id: str, owner: str) -> Fence:
        """The lease as the last step of `owner` left it: for what is written down of that step after it."""
        kept = self._kept.get((thread_id, owner))
        return kept.fence if kept else SessionFence(thread_id, self._server, None)

    async def check(self, thread_id: str, owner: str) -> None:
        """Refuse to change a thread that is not the owner's to change.

        Raises:
            ThreadBusy: somebody else holds its lease.
        """
        found = await self._found.ask(thread_id)
        kept = self._kept.get((thread_id, owner))
        if found and not found.is_over and not (kept and kept.session.backend == found.backend):
            raise busy(thread_id, found.holder)

    async def holder(self, thread_id: str) -> Holder | None:
        """Who runs the thread now, or did a moment ago (`FREE`); None if nobody does."""
        found = await self._found.ask(thread_id)
        if found is None or found.name == CUT or (found.is_over and found.quiet_s > STEP_S):
            return None
        if await asyncio.to_thread(found.is_dead):
            return None
        return found.holder

    async def _taken_up(self, thread_id: str, owner: str) -> _Kept:
        """The session of a run at the beginning of a step, with its lease.

        Raises:
            ThreadBusy: somebody else holds it.
        """
        if kept := self._kept.get((thread_id, owner)):
            kept.idle_since = inf
            with suppress(LeaseLost, Error):  # whoever has ended it is through with the thread by now, or is at it
                await kept.session.is_called(self._name())
                return kept
            await self._drop((thread_id, owner))
        session = await self._server.begun_session(self._name())
        try:
            await self._take(session, thread_id, PATIENCE_S)
        except BaseException:
            await self._server.end_session(session)
            raise
        fence = SessionFence(thread_id, self._server, session)
        session.fences.append(fence)
        kept = self._kept[thread_id, owner] = _Kept(session, fence)
        return kept

    async def _drop_idle(self) -> None:
        """End the sessions of runs that have had no step for a while."""
        for key, kept in [*self._kept.items()]:
            if time.monotonic() > kept.idle_since + LEASE_S:
                await self._drop(key)

    async def _drop(self, key: tuple[str, str]) -> None:
        await self._server.end_session(self._kept.pop(key).session)

    @contextmanager
    def _fenced(self, thread_id: str, session: Session) -> Iterator[SessionFence]:
        fence = SessionFence(thread_id, self._server, session)
        session.fences.append(fence)
        fence.enter()
        try:
            yield fence
        finally:
            session.fences.remove(fence)
            fence.leave()

    async def _take(self, session: Session, thread_id: str, patience_s: float) -> None:
        """Take the lease, when nobody living has it."""
        self._server.pulse.begin(self._name(PULSE))
        start = self._clock.now()
        while True:
            async with session.cursor() as cursor:
                await cursor.execute("SELECT pg_try_advisory_lock(%s) AS ok", [number(thread_id)])
                row = await cursor.fetchone()
            if row and row["ok"]:
                return
            found = await self._found.ask(thread_id)
            if found is not None and (found.is_over or await asyncio.to_thread(found.is_dead)):
                try:
                    async with self._server.cursor() as cursor:
                        await cursor.execute(_END, [ENDING_MS, *_halves([thread_id]), found.backend])
                except DatabaseUnusable as error:  # another user's session, which this one may not end
                    if isinstance(error.__cause__, InsufficientPrivilege):
                        raise busy(thread_id, found.holder) from error
                    raise
            elif self._clock.now() >= start + patience_s:
                raise busy(thread_id, found.holder if found else None)
            else:
                await self._clock.sleep(RETRY_S)

    def _name(self, kind: str = NAMED) -> str:
        """What the server calls a session; it keeps 63 bytes of that."""
        me = _me()
        return f"{kind} {me.pid} {me.born or '-'} {self._server.machine} {me.host}"

    async def _who_hold(self, thread_ids: list[str]) -> list[_Found | None]:
        async with self._server.cursor() as cursor:
            await cursor.execute(_WHO, _halves(thread_ids))
            rows = {(row["high"], row["low"]): row for row in await cursor.fetchall()}
        return [self._as_found(rows.get(half)) for half in zip(*_halves(thread_ids), strict=True)]

    def _as_found(self, row: DictRow | None) -> _Found | None:
        if row is None:
            return None
        words = f"{row['application_name'] or ''}     ".split(" ", 4)
        is_named = words[0] in (NAMED, BETWEEN, LEFT, CUT) and words[1].isdecimal()
        pid, birth, host = (int(words[1]), words[2], words[4].strip()) if is_named else (0, "", "another machine")
        owner = FREE if words[0] == LEFT else str(row["pid"])
        holder = Holder(owner=owner, host=host, pid=pid, born=birth)
        is_here = holder.is_here and words[3] == self._server.machine
        return _Found(row["pid"], holder, words[0], is_here, row["quiet_s"] or 0.0, row["pulse_s"])


def number(thread_id: str) -> int:
    """The advisory lock of a thread: 64 bits of its hash, as PostgreSQL's bigint."""
    return int.from_bytes(hashlib.sha256(f"baton {thread_id}".encode()).digest()[:8], "big", signed=True)


def _halves(thread_ids: Iterable[str]) -> tuple[list[int], list[int]]:
    """The same of several, as `pg_locks` shows it: their first halves, and their second ones."""
    halves = [divmod(number(thread_id) % 2**64, 2**32) for thread_id in thread_ids]
    return [high for high, _ in halves], [low for _, low in halves]


def _me() -> Holder:
    # The server keeps 63 bytes of a name. A longer one of a machine is that of another: its silence counts.
    return Holder(owner="", host=socket.gethostname()[:30], pid=os.getpid(), born=born(os.getpid()))
