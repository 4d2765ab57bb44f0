"""Connections to one PostgreSQL database: a pool for whoever looks, and a session for each piece of work under leases.

A session holds the leases (advisory locks) of the work and does all of its writes: whoever lost the session has lost
the leases and can write nothing more. That is the fence, and no clock takes part in it.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from psycopg import AsyncConnection, AsyncCursor, Error
from psycopg.abc import Params
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_dumps

from graph.address import PostgresAddress
from graph.fence import Fence, fences
from graph.lease import HEARTBEAT_S
from graph.postgres.pool import Pool
from graph.postgres.problems import explained
from graph.postgres.pulse import Pulse
from nodes.runtime.background import stop, to_its_end
from state.errors import LeaseLost
from state.text import as_unicode

POOL = 4
"""Connections for whoever is not under a lease."""
CONNECT_S = 10
LEFT = 16
"""Sessions at most that are kept for work to come."""
MOST_ROWS = 1000
"""Of one statement."""
MOST_VALUES = 65_535
"""That it takes."""
MOMENT_S = 0.01
"""Seconds for which a write that can wait is put off at most."""

# Nothing here takes so long that compiling it would pay, but estimates of rows can be so high that it is compiled.
# Each plan is made for its values: a generic one of `prefix LIKE $1` can't use the index, and is kept when rows grow.
# Work that writes row by row would spend a third of its time on plans: on its sessions one that costs no more is kept,
# and each goes by indexes alone, so that none is kept that reads a whole table, since it was small. What is prepared
# there has none that depends on its values (`LIKE` has).
# A server learns after 11 s that a machine has vanished, as a client does that its server has. All of it is said once
# the connection is there: poolers refuse it as options of one.
_SETTINGS = """
SELECT set_config('plan_cache_mode', 'force_custom_plan', false), set_config('tcp_keepalives_idle', '5', false),
    set_config('tcp_keepalives_interval', '2', false), set_config('tcp_keepalives_count', '3', false),
    set_config('default_transaction_read_only', %s, false), set_config('jit', 'off', false)
"""
_WORKS = "SELECT set_config('plan_cache_mode', 'auto', false), set_config('enable_seqscan', 'off', false)"
_CLIENT: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 11_000,  # the same for what was sent, and is not acknowledged
}

Connection = AsyncConnection[DictRow]
Cursor = AsyncCursor[DictRow]
T = TypeVar("T")


@dataclass(frozen=True)
class Statement:
    """Something to be written."""

    query: str
    rows: Sequence[Sequence[Any]]
    """What it is done with: its `VALUES (%s, …)` is said for each. One that says none has one row."""

    @property
    def text(self) -> str:
        """What the server is told: one statement for each row keeps it and this process far longer."""
        query = self.query.strip().rstrip(";")
        if len(self.rows) == 1:
            return query
        head, values, tail = re.split(r"(?<=VALUES )(\([%s, ]+\))", query)
        return f"{head}{', '.join([values] * len(self.rows))}{tail}"

    @property
    def values(self) -> list[Any]:
        """The values of all rows."""
        return [*chain.from_iterable(self.rows)]


Write = Callable[[Sequence[Statement]], Awaitable[None]]
"""Does all of these, or none; who holds a lease is looked at first."""


@dataclass(frozen=True)
class _Waiting:
    """What is written with what comes next, and what its owner waits for."""

    statement: Statement
    fences: Sequence["SessionFence"]
    told: asyncio.Future[None]

    def tell(self, error: Exception | None = None) -> None:
        if self.told.done():
            return
        if error:
            self.told.set_exception(error)
        else:
            self.told.set_result(None)


class _SessionCursor(AsyncCursor[DictRow]):
    """A cursor whose statements are done whole: psycopg closes a connection on which one is cancelled twice.

    The lease would be lost with it, where nothing but a try was to end.
    """

    async def execute(
        self, query: Any, params: Params | None = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Do `query`. Where whoever waits is cancelled, that is raised when it is done."""
        return await to_its_end(super().execute(query, params, prepare=prepare, binary=binary))


class SessionFence(Fence):
    """A lease that a session holds; without one it is lost."""

    def __init__(self, thread_id: str, server: "Server", session: "Session | None") -> None:
        super().__init__(thread_id)
        self.server = server
        self.session = session
        self.is_lost = session is None

    def error(self) -> LeaseLost:
        """Why nothing more is written."""
        return LeaseLost(
            f"thread {self.thread_id} was taken over by another process while this one stood still, or the database "
            f"has ended its connection; this one has stopped, see `baton status {self.thread_id}`"
        )


class Session:
    """One connection, the leases that it holds, and who takes turns at it."""

    def __init__(self, server: "Server", connection: Connection, backend: int) -> None:
        self.server = server
        self.fences: list[SessionFence] = []
        self.backend = backend
        """The server's number of it; where a pooler stands in between, the connection has another."""
        self._connection = connection
        self._connection.cursor_factory = _SessionCursor
        self._turn = asyncio.Lock()
        self._waiting: list[_Waiting] = []
        """What is written with what comes next."""
        self._later: asyncio.TimerHandle | None = None
        """When it is written otherwise."""
        self._writing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def cursor(self, *, pipeline: bool = False) -> AsyncIterator[Cursor]:
        """A cursor on the connection, when its turn comes; what waited to be written is, before.

        Raises:
            LeaseLost: the connection has been ended, and with it the leases.
        """
        async with self._at_turn():
            if self._waiting:
                await to_its_end(self._write([]))
            async with _cursor_of(self._connection, pipeline=pipeline) as cursor:
                yield cursor

    @asynccontextmanager
    async def writing(self, fences: Sequence["SessionFence"]) -> AsyncIterator[Write]:
        """The turn of somebody who writes, where it may still have to be made ready; what waited goes with it.

        Raises:
            LeaseLost: the connection has been ended, or one of the leases was given back.
        """

        async def write(statements: Sequence[Statement]) -> None:
            check(fences)
            await self._write(statements)

        async with self._at_turn():
            yield write

    async def write_with_next(self, statement: Statement, fences: Sequence["SessionFence"]) -> None:
        """The same, for what nobody goes on from: it is written with what comes next, or after a moment."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(statement, fences, loop.create_future())
        self._waiting.append(waiting)
        if len(self._waiting) > MOST_ROWS:
            self._begin_writing()
        elif self._later is None:
            self._later = loop.call_later(MOMENT_S, self._begin_writing)
        await to_its_end(waiting.told)

    async def write_waiting(self) -> None:
        """Write what waits to be written; whoever waits for it is told of errors."""
        with suppress(LeaseLost, Error):
            await to_its_end(self._write_in_turn())

    async def _write_in_turn(self) -> None:
        async with self._at_turn():
            await self._write([])

    def _begin_writing(self) -> None:
        writing = asyncio.create_task(self.write_waiting())
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    async def _write(self, statements: Sequence[Statement]) -> None:
        waiting = self._due()
        if not waiting and not statements:
            return
        try:
            await _done(self._connection, [*_merged([each.statement for each in waiting]), *statements])
        except Exception as error:  # whatever it is, whoever waits is told
            if not waiting or self._connection.closed:
                for each in waiting:
                    each.tell(self._explained(error))
                raise
        else:
            for each in waiting:
                each.tell()
            return
        for each in waiting:  # nobody fails for another's sake
            try:
                await _done(self._connection, [each.statement])
            except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
                each.tell(self._explained(error))
            else:
                each.tell()
        await _done(self._connection, statements)

    def _due(self) -> list[_Waiting]:
        """What waits, but for what is not to be written any more."""
        asked, self._waiting = self._waiting, []
        if self._later:
            self._later.cancel()
            self._later = None
        due = []
        for each in asked:
            try:
                check(each.fences)
            except LeaseLost as error:
                each.tell(error)
            else:
                due.append(each)
        return due

    @asynccontextmanager
    async def _at_turn(self) -> AsyncIterator[None]:
        try:
            async with self._turn:
                yield
        except Error as error:
            if self._connection.closed:
                self._lose()
            if self._explained(error) is error:
                raise
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> Exception:
        """Who has lost the connection has lost the leases."""
        return self.fences[-1].error() if self._connection.closed and self.fences else error

    async def beat(self) -> None:
        """Show the server that somebody is there, and learn from it that the leases are lost; until that is so."""
        while not self._connection.closed:
            await asyncio.sleep(HEARTBEAT_S)
            with suppress(Error):
                async with self._turn:
                    await self._connection.execute("SELECT 1")
        self._lose()

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """While inside, the server hears of it every few seconds, and so does this of the server."""
        beat = asyncio.create_task(self.beat())
        try:
            yield
        finally:
            await stop(beat)

    async def is_called(self, name: str) -> None:
        """Have the server know it by another name.

        Raises:
            LeaseLost: the connection has been ended, and with it the leases.
        """
        async with self.cursor() as cursor:
            await cursor.execute("SELECT set_config('application_name', %s, false)", [name])

    async def gives_back(self) -> bool:
        """Give back what it holds; whether it can be worked on again."""
        with suppress(LeaseLost, Error):
            async with self.cursor() as cursor:
                await cursor.execute("SELECT pg_advisory_unlock_all()")
            return True
        return False

    async def end(self) -> None:
        """End the connection, and with it the leases, once nobody is at it.

        A socket that is closed while somebody waits for it stays the event loop's under its number, and the next
        connection that gets that number never hears of its answers.
        """
        self._lose()
        await to_its_end(self._close())

    async def _close(self) -> None:
        async with self._turn:
            await self._connection.close()
        await self.write_waiting()  # it is told that it can't be

    def _lose(self) -> None:
        for fence in self.fences:
            fence.lose()


class Server:
    """One database, as this process uses it."""

    def __init__(self, address: PostgresAddress, pool: Pool[Connection], machine: str, read_only: bool) -> None:
        self.address = address
        self.machine = machine
        """Which machine this process is on, where two have one name."""
        self._pool = pool
        self.is_read_only = read_only
        self.pulse = Pulse(address, {**_CLIENT, "prepare_threshold": None})
        self._sessions: list[Session] = []
        self._left: list[Session] = []
        """Those that nobody works on."""

    @asynccontextmanager
    async def cursor(self, *, pipeline: bool = False) -> AsyncIterator[Cursor]:
        """A cursor for one call: on the session of the work that this is done in, or else on any connection.

        Raises:
            LeaseLost: the work's lease is another's.
            DatabaseUnusable: the server is gone, or refuses.
        """
        session = self.session()
        try:
            async with session.cursor(pipeline=pipeline) if session else self._any_cursor(pipeline=pipeline) as cursor:
                yield cursor
        except Error as error:
            raise explained(self.address, error) from error

    @asynccontextmanager
    async def _any_cursor(self, *, pipeline: bool) -> AsyncIterator[Cursor]:
        async with self._pool.connection() as connection, _cursor_of(connection, pipeline=pipeline) as cursor:
            yield cursor

    def session(self) -> Session | None:
        """The session of the work that this is done in.

        Raises:
            LeaseLost: the work's lease is another's.
        """
        held = [fence for fence in self._fences() if not fence.is_left]
        for fence in held:
            if fence.is_lost:
                raise fence.error()
        return held[-1].session if held else None

    def check_fences(self) -> None:
        """Refuse to write under a lease that is not held any more.

        Raises:
            LeaseLost: it is another's, or was given back.
        """
        check(self._fences())

    async def write(self, *statements: Statement) -> None:
        """Do all of them as one statement, whole or not at all; none sees what another does.

        Raises:
            LeaseLost: the work's lease is another's, or was given back.
            DatabaseUnusable: the server is gone, or refuses.
        """
        await to_its_end(self._write(statements))

    async def _write(self, statements: Sequence[Statement]) -> None:
        async with self.writing() as write:
            await write(statements)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Write]:
        """The turn of somebody who writes, taken before what is written is ready: whatever comes later comes after it.

        Raises:
            LeaseLost: the work's lease is another's, or was given back.
            DatabaseUnusable: the server is gone, or refuses.
        """
        check(fences := self._fences())
        try:
            if session := self.session():
                async with session.writing(fences) as write:
                    yield write
                return
            async with self._pool.connection() as connection:

                async def write_there(statements: Sequence[Statement]) -> None:
                    check(fences)  # a lease may have been given back meanwhile
                    await _done(connection, statements)

                yield write_there
        except Error as error:
            raise explained(self.address, error) from error

    async def write_with_next(self, statement: Statement) -> None:
        """The same, for what nobody goes on from: in a session it is written with what comes next, or after a moment.

        Raises:
            LeaseLost: the work's lease is another's, or was given back.
            DatabaseUnusable: the server is gone, or refuses.
        """
        check(fences := self._fences())
        session = self.session()
        if session is None:
            await self.write(statement)
            return
        try:
            await session.write_with_next(statement, fences)
        except Error as error:
            raise explained(self.address, error) from error

    def _fences(self) -> list[SessionFence]:
        return [fence for fence in fences() if isinstance(fence, SessionFence) and fence.server is self]

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["Transaction"]:
        """One transaction for several calls, on the session of the work that this is done in or on any connection."""
        async with self.cursor() as cursor, cursor.connection.transaction():
            yield Transaction(cast(Connection, cursor.connection))

    @asynccontextmanager
    async def new_session(self, name: str) -> AsyncIterator[Session]:
        """A session for work that nobody else does on it, which the server knows by this name.

        One that other work has left is used again: a new one takes the server longer than a task takes.
        """
        session = await self._left_session(name) or await self.begun_session(name)
        has_failed = True
        try:
            async with session.beating():
                yield session
            has_failed = False
        finally:
            is_free = False
            try:  # also after an error: leases outlast the connection by the moment that the server takes to end it
                is_free = not session.fences and await to_its_end(session.gives_back())
            finally:
                if is_free and not has_failed and len(self._left) < LEFT:
                    self._left.append(session)
                else:
                    await self.end_session(session)

    async def _left_session(self, name: str) -> Session | None:
        while self._left:
            session = self._left.pop()
            with suppress(LeaseLost, Error):  # the server has ended it meanwhile
                await session.is_called(name)
                return session
            await self.end_session(session)
        return None

    async def begun_session(self, name: str) -> Session:
        """A session of its own, which does not show that somebody is there, until it is ended or the database closed.

        Raises:
            DatabaseUnusable: the server is gone, or refuses.
        """
        try:
            connection = await connected(self.address, name)
            await connection.execute(_WORKS, prepare=False)
            session = Session(self, connection, await backend_of(connection))
        except Error as error:
            raise explained(self.address, error) from error
        self._sessions.append(session)
        return session

    async def end_session(self, session: Session) -> None:
        """End a session, and with it its leases; it may have been ended with the database."""
        if session in self._sessions:
            self._sessions.remove(session)
            await session.end()

    async def close(self) -> None:
        """End what is left of its sessions."""
        for session in [*self._sessions]:
            await session.write_waiting()
            await self.end_session(session)
        await self.pulse.end()


@dataclass(frozen=True)
class Transaction:
    """One transaction under way, for what else works on a server."""

    connection: Connection
    is_read_only: bool = False

    @asynccontextmanager
    async def cursor(self, *, pipeline: bool = False) -> AsyncIterator[Cursor]:
        """A cursor in it."""
        async with _cursor_of(self.connection, pipeline=pipeline) as cursor:
            yield cursor

    async def write(self, *statements: Statement) -> None:
        """Do all of them as one statement in it; whoever began it may write."""
        await to_its_end(_done(self.connection, statements))


async def connected(address: PostgresAddress, name: str = "baton") -> Connection:
    """A connection in autocommit mode."""
    connection: Connection = await AsyncConnection.connect(address.uri, **{**_CLIENT, "application_name": name})
    try:
        await _set_up(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


async def backend_of(connection: Connection) -> int:
    """Which of its processes the server does this connection's work with now."""
    row = await (await connection.execute("SELECT pg_backend_pid() AS pid", prepare=False)).fetchone()
    return int(row["pid"]) if row else 0


async def _set_up(connection: Connection, *, read_only: bool = False) -> None:
    set_json_dumps(as_json, connection)
    await connection.execute(_SETTINGS, ["on" if read_only else "off"], prepare=False)


@asynccontextmanager
async def open_server(address: PostgresAddress, *, read_only: bool) -> AsyncIterator[Server]:
    """The database with its pool."""

    async def configure(connection: Connection) -> None:
        await _set_up(connection, read_only=read_only)

    pool: Pool[Connection] = Pool(
        address.uri,
        min_size=0,
        max_size=POOL,
        kwargs={**_CLIENT, "application_name": "baton"},
        configure=configure,
        check=Pool.check_connection,
        open=False,
        timeout=CONNECT_S,
    )
    async with pool:
        server = Server(address, pool, await asyncio.to_thread(_machine), read_only)
        try:
            yield server
        finally:
            await server.close()


def _machine() -> str:
    """Which machine this is, and which part of it: containers that were made alike have one name."""
    said = []
    with suppress(OSError):
        said = [Path("/proc/sys/kernel/random/boot_id").read_text(), str(Path("/proc/self/ns/pid").readlink())]
    return hashlib.sha256(" ".join(said).encode()).hexdigest()[:6]


def check(fences: Iterable[SessionFence]) -> None:
    """Refuse to write under leases that are not held any more.

    Raises:
        LeaseLost: one is another's, or was given back.
    """
    for fence in fences:
        if fence.is_lost or fence.is_left:
            raise fence.error()


def _merged(statements: Sequence[Statement]) -> list[Statement]:
    """Those of one text as one."""
    rows: dict[str, list[Sequence[Any]]] = {}
    for each in statements:
        rows.setdefault(each.query, []).extend(each.rows)
    return [Statement(query, some) for query, some in rows.items()]


async def _done(connection: Connection, statements: Sequence[Statement]) -> None:
    """Do all of them, or none: as one statement, or as few as take all their values."""
    groups: list[list[Statement]] = []
    for each in (part for statement in statements for part in _parts(statement)):
        if groups and sum(len(other.values) for other in [*groups[-1], each]) <= MOST_VALUES:
            groups[-1].append(each)
        else:
            groups.append([each])
    cursor = AsyncCursor(connection)
    async with connection.transaction() if len(groups) > 1 else nullcontext():
        for *before, last in groups:
            parts = ", ".join(f"part{n} AS ({each.text})" for n, each in enumerate(before))
            text = f"WITH {parts} {last.text}" if before else last.text
            await cursor.execute(text, [*chain.from_iterable(each.values for each in (*before, last))])


def _parts(statement: Statement) -> list[Statement]:
    if len(statement.rows) <= MOST_ROWS:
        return [statement]
    return [
        Statement(statement.query, statement.rows[n : n + MOST_ROWS]) for n in range(0, len(statement.rows), MOST_ROWS)
    ]


def as_json(value: object) -> str:
    """JSON that PostgreSQL takes: with U+FFFD for NUL and for lone surrogates."""
    text = json.dumps(value, ensure_ascii=False)
    if "\\u0000" in text:
        text = json.dumps(_without_nul(value), ensure_ascii=False)
    return as_unicode(text)


def _without_nul(value: object) -> object:
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nul(item) for item in value]
    return value


@asynccontextmanager
async def _cursor_of(connection: Connection, *, pipeline: bool) -> AsyncIterator[Cursor]:
    if pipeline:  # all of it is one transaction
        async with connection.pipeline(), connection.cursor(binary=True) as cursor:
            yield cursor
    else:
        async with connection.cursor(binary=True) as cursor:
            yield cursor
