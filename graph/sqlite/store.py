"""LangGraph's SQLite store for async code: each batch is one transaction, done whole or not at all.

What several ask to read at one moment is read in one, too: it is the visit to the thread that costs, not the reading.

LangGraph's own commits what a batch has done so far when one of its writes fails. And where one row of a search is not
the JSON that it should be, the others are found all the same: whoever needs that one sees that it has nothing. A row
whose times cannot be read is as good as any other: nobody asks for them.
"""

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, cast

from langgraph.store.base import Op, PutOp, Result
from langgraph.store.sqlite import SqliteStore

from graph.sqlite.connection import Connection

DAMAGED = "damaged"
"""The only field of a value that cannot be read."""

_WRITES: ContextVar[bool] = ContextVar("baton_batch_writes", default=True)
"""Whether the batch that is done now writes; LangGraph does not tell `_cursor`."""

_MENDS_TIMES: ContextVar[bool] = ContextVar("baton_batch_mends_times", default=False)
"""Whether a row of the batch that is done now has been found without readable times."""

_TIMES = ("created_at", "updated_at")
_SOME_TIME = datetime.fromtimestamp(0, UTC).isoformat()


def _with_times(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
    """A row of the Store, with some time where its own cannot be read."""
    columns = [column[0] for column in cursor.description]
    pairs = zip(columns, row, strict=True)
    return tuple(_SOME_TIME if name in _TIMES and not _is_time(value) else value for name, value in pairs)


def _is_time(value: object) -> bool:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return True


def _value_of(content: object) -> dict[str, Any]:
    """The value of a row; of one that is damaged, none of the fields that whoever reads it looks for."""
    try:
        value = json.loads(cast(str, content))
    except (ValueError, TypeError):
        value = None
    return value if isinstance(value, dict) else {DAMAGED: True}


@dataclass(frozen=True, slots=True)
class _Reading:
    """What somebody wants to read, and waits for."""

    ops: Sequence[Op]
    told: asyncio.Future[list[Result]]

    def tell(self, said: list[Result] | BaseException) -> None:
        """Let them go on, if they still wait."""
        if self.told.done():
            return
        if isinstance(said, BaseException):
            self.told.set_exception(said)
        else:
            self.told.set_result(said)


class Store(SqliteStore):
    """The rows of all threads."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.sqlite, deserializer=_value_of)
        self.lock = connection.lock
        self._own = connection
        self._asked: dict[asyncio.AbstractEventLoop, list[_Reading]] = {}
        """What is to be read in a moment."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none."""
        asked = list(ops)
        if any(isinstance(op, PutOp) for op in asked):
            return await self._own.do(self.batch, asked)
        loop = asyncio.get_running_loop()
        reading = _Reading(asked, loop.create_future())
        if loop not in self._asked:
            self._asked[loop] = []
            loop.call_soon(lambda: self._read(self._asked.pop(loop)))
        self._asked[loop].append(reading)
        return await reading.told

    def _read(self, asked: Sequence["_Reading"]) -> None:
        """Read it all in one transaction, or each by itself where that fails: nobody fails for another's sake."""

        def tell(done: asyncio.Future[list[Result]]) -> None:
            error = done.exception()
            if error and len(asked) > 1:
                for one in asked:
                    self._read([one])
                return
            found = iter([] if error else done.result())
            for one in asked:
                one.tell(error or list(islice(found, len(one.ops))))

        try:
            self._own.begin(self.batch, [op for one in asked for op in one.ops]).add_done_callback(tell)
        except RuntimeError as error:  # it was closed
            for one in asked:
                one.tell(error)

    async def changes(self) -> tuple[int, int]:
        """What other connections have written to the file (sqlite.org, `data_version`), and what this one has."""
        row, _ = await self._own.one("PRAGMA data_version", {})
        return (row[0] if row else 0), self._own.sqlite.total_changes

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none; one that only reads does not wait for whoever writes.

        What looking would note down is left out where nothing can be written.
        """
        asked = list(ops)
        writes = any(isinstance(op, PutOp) for op in asked)
        if writes and self._own.is_read_only:
            found = iter(self.batch([op for op in asked if not isinstance(op, PutOp)]))
            return [None if isinstance(op, PutOp) else next(found) for op in asked]
        before = _WRITES.set(writes)
        try:
            return super().batch(asked)
        except ValueError as error:  # LangGraph's own words around what SQLite said
            if isinstance(error.__context__, sqlite3.Error):
                raise error.__context__ from None
            if "isoformat" not in str(error) or _MENDS_TIMES.get():
                raise
        finally:
            _WRITES.reset(before)
        mending = _MENDS_TIMES.set(True)  # nothing was done so far
        try:
            return self.batch(asked)
        finally:
            _MENDS_TIMES.reset(mending)

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002 - LangGraph's signature
        """A cursor for one batch."""
        if not self.is_setup and not self._own.is_read_only:
            self.setup()
        with self.lock, self._own.transaction(writes=_WRITES.get()) as cursor:
            if _MENDS_TIMES.get():
                cursor.row_factory = _with_times
            yield cursor
