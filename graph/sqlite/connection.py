"""A SQLite connection and the one thread that uses it, for code that must not block an event loop.

LangGraph's async saver and store hand every single statement to a thread, which is most of what a small transaction
costs. Here a whole transaction is one visit, and one connection for all means that they never wait for each other: a
statement between two halves of another's would also work on a view of the file that is out of date, and be refused.
"""

import asyncio
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from graph.address import Address
from graph.sqlite.fence import check_fences
from state.errors import DatabaseUnusable

BUSY_TIMEOUT_MS = 10_000
"""How long a write waits for another process's."""
RETRY_S = 0.05
MOMENT_S = 0.01
"""Seconds for which a visit that can wait is put off at most."""


def _connected(path: Path, synchronous: str) -> sqlite3.Connection:
    """A connection to the file; every statement outside a transaction is one of its own.

    What SQLite does not wait for by itself is waited for here: a new file whose maker was killed is made by one of
    those who open it, and only then is what others do under its write-ahead log.
    """
    until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            connection.text_factory = _text
            connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file: space is given back in small steps
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={synchronous}")
        except sqlite3.OperationalError as error:
            connection.close()
            if "lock" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(RETRY_S)
        except BaseException:
            connection.close()
            raise
        else:
            return connection


def connected_read_only(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing; also to a file in a folder where nothing can be written."""
    is_alone = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_alone else ''}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.text_factory = _text
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA query_only=1")
    return connection


_text = partial(str, encoding="utf-8", errors="replace")
"""Text as it is, and of what is none as much as can be shown: the other rows are read all the same."""


def is_writable(path: Path) -> bool:
    """Whether a database there can be written to: with its log, beside it."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


@contextmanager
def explained(path: Address) -> Iterator[None]:
    """SQLite's errors in words that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        if is_damage(error):
            raise DatabaseUnusable(
                f"{path} is not a Baton database, or is damaged; give another file with --db "
                f"({error}: `baton doctor` says what can be saved)"
            ) from error
        raise DatabaseUnusable(f"database {path} cannot be used: {error}; {_advice(error)}") from error


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, where other errors pass."""
    return any(sign in str(error) for sign in ("malformed", "not a database", "decode", "no such"))


def _advice(error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text:
        return "free some space, then `baton resume` the run: what was finished is kept"
    if "readonly" in text or "unable to open" in text:
        return "give a file in a folder you can write to, with --db"
    if "locked" in text:
        return "another process holds it; try again when it is done"
    return "give another file with --db"


def _check(path: Path) -> None:
    """Refuse what cannot be a database.

    The file itself is not opened: closing it would drop the locks that this process has on it by other connections,
    and the next process to leave would delete the log they still write to (sqlite.org/howtocorrupt.html, section 2.2).
    """
    if path.is_dir():
        raise DatabaseUnusable(f"{path} is a folder; give a file with --db")
    if not path.parent.is_dir():
        raise DatabaseUnusable(f"folder {path.parent} does not exist; make it, or give another file with --db")


P = ParamSpec("P")
T = TypeVar("T")


class _Visit:
    """Work for the thread, done in its caller's context, and what its owner waits for on an event loop."""

    __slots__ = ("_context", "_error", "_said", "_work", "is_done", "loop", "told")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._context = copy_context()
        self._work = work
        self._said: Any = None
        self._error: BaseException | None = None
        self.is_done = False
        self.loop = asyncio.get_running_loop()
        self.told: asyncio.Future[Any] = self.loop.create_future()

    def make(self) -> None:
        """Do the work, whatever comes of it. In the thread."""
        try:
            self._said = self._context.run(self._work)
        except BaseException as error:  # noqa: BLE001 - it is raised where the work is waited for
            self._error = error

    def tell(self) -> None:
        """Let its owner go on."""
        self.is_done = True
        if self.told.done():
            return
        if self._error:
            self.told.set_exception(self._error)
        else:
            self.told.set_result(self._said)

    async def over(self) -> Any:
        """What comes of it. Where whoever waits is cancelled, however often, that is raised when the work is over."""
        try:
            return await self.told
        except asyncio.CancelledError:
            while not self.is_done:
                self.told = self.loop.create_future()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({self.told})
            if not self.told.cancelled():
                self.told.exception()  # read: whoever is cancelled has no use for it
            raise


class _Thread:
    """A thread that does one visit after the other, and wakes a loop once for all that is done when it looks.

    Not an executor: that makes three futures, two locks and a wake-up for each visit, which is most of what a small
    one costs.
    """

    def __init__(self, name: str) -> None:
        self._asked: SimpleQueue[Sequence[_Visit] | None] = SimpleQueue()
        self._done: WeakKeyDictionary[asyncio.AbstractEventLoop, deque[_Visit]] = WeakKeyDictionary()
        self._is_closed = False
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def ask(self, *visits: _Visit) -> None:
        """Have them done, one after the other.

        Raises:
            RuntimeError: it was closed.
        """
        if self._is_closed:
            raise RuntimeError("the database was closed")
        self._asked.put(visits)

    def close(self) -> None:
        """Let it end when everything is done that was asked for."""
        self._is_closed = True
        self._asked.put(None)

    def _work(self) -> None:
        while visits := self._asked.get():
            for visit in visits:
                visit.make()
            loop = visits[0].loop
            done = self._done.setdefault(loop, deque())
            done.extend(visits)
            if len(done) <= len(visits):  # else it was woken for those before, and finds these as well
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(self._tell, done)

    @staticmethod
    def _tell(done: deque[_Visit]) -> None:
        while done:
            done.popleft().tell()


class Connection:
    """A connection in autocommit mode, and its thread."""

    def __init__(self, sqlite: sqlite3.Connection, thread: _Thread) -> None:
        self.sqlite = sqlite
        self.lock = threading.Lock()
        """Held for a transaction: code that is not async may use the connection from a thread of its own."""
        self._thread = thread
        self._waiting: dict[asyncio.AbstractEventLoop, list[_Visit]] = {}
        """What is done with what comes next."""
        self._later: dict[asyncio.AbstractEventLoop, asyncio.TimerHandle] = {}
        """When it is done otherwise."""
        self.is_read_only = bool(sqlite.execute("PRAGMA query_only").fetchone()[0])
        """Whether only looking is possible."""

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns, done in the thread, in the order in which it was asked for, and in the caller's context.

        Where whoever waits is cancelled, that is raised when the work is over: it is never left half done.
        """
        said: T = await self._asked(partial(work, *args, **kwargs)).over()
        return said

    async def do_with_next(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same, for what nobody goes on from: it is done with what comes next, or after a moment."""
        visit = _Visit(partial(work, *args, **kwargs))
        if visit.loop not in self._waiting:
            self._waiting[visit.loop] = []
            self._later[visit.loop] = visit.loop.call_later(MOMENT_S, self.do_waiting)
        self._waiting[visit.loop].append(visit)
        said: T = await visit.over()
        return said

    def begin(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """The same as `do`, for somebody who does not wait for it here."""
        return self._asked(partial(work, *args, **kwargs)).told

    def _asked(self, work: Callable[[], Any]) -> _Visit:
        """The work as it is begun, with what was to be done with what comes next."""
        visit = _Visit(work)
        self._thread.ask(*self._put_off(), visit)
        return visit

    def do_waiting(self) -> None:
        """Do now what was to be done with what comes next."""
        visits = self._put_off()
        if not visits:
            return
        try:
            self._thread.ask(*visits)
        except RuntimeError as error:  # it was closed
            for visit in visits:
                visit.told.set_exception(error)

    def _put_off(self) -> list[_Visit]:
        """What was put off until now, and is not any more."""
        loop = asyncio.get_running_loop()
        if later := self._later.pop(loop, None):
            later.cancel()
        return self._waiting.pop(loop, [])

    async def one(self, sql: str, values: Mapping[str, object]) -> tuple[tuple[Any, ...] | None, int]:
        """What one statement does: its first row, if it has one, and the number of rows it changed."""
        return await self.do(self._one, sql, values)

    def _one(self, sql: str, values: Mapping[str, object]) -> tuple[tuple[Any, ...] | None, int]:
        with self.lock, closing(self.sqlite.execute(sql, dict(values))) as cursor:
            return cursor.fetchone() if cursor.description else None, cursor.rowcount

    @contextmanager
    def transaction(self, *, writes: bool) -> Iterator[sqlite3.Cursor]:
        """A cursor in a transaction; what was written is taken back where something is raised.

        Raises:
            LeaseLost: it writes for a run that another process has taken over.
        """
        cursor = self.sqlite.cursor()
        try:
            cursor.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            if writes:
                check_fences(cursor)
            yield cursor
            cursor.execute("COMMIT")
        except BaseException:
            if self.sqlite.in_transaction:
                self.sqlite.rollback()
            raise
        finally:
            cursor.close()


@asynccontextmanager
async def open_connection(connect: Callable[[], sqlite3.Connection]) -> AsyncIterator[Connection]:
    """The connection that `connect` makes, which may be used from any thread."""
    thread = _Thread("baton-database")

    async def done(work: Callable[[], T]) -> T:
        thread.ask(visit := _Visit(work))
        said: T = await visit.over()
        return said

    try:
        connection = await done(connect)
        try:
            own = await done(partial(Connection, connection, thread))
            try:
                yield own
            finally:
                own.do_waiting()
        finally:
            await done(connection.close)
    finally:
        thread.close()
