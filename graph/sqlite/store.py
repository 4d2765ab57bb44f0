"""LangGraph's SQLite store for async code: each batch is one transaction, done whole or not at all.

LangGraph's own commits what a batch has done so far when one of its writes fails. And where one row of a search is not
the JSON that it should be, the others are found all the same: whoever needs that one sees that it has nothing.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from langgraph.store.base import Op, PutOp, Result
from langgraph.store.sqlite import SqliteStore

from graph.sqlite.connection import Connection

DAMAGED = "damaged"
"""The only field of a value that cannot be read."""

_WRITES: ContextVar[bool] = ContextVar("baton_batch_writes", default=True)
"""Whether the batch that is done now writes; LangGraph does not tell `_cursor`."""


def _value_of(content: object) -> dict[str, Any]:
    """The value of a row; of one that is damaged, none of the fields that whoever reads it looks for."""
    try:
        value = json.loads(cast(str, content))
    except (ValueError, TypeError):
        value = None
    return value if isinstance(value, dict) else {DAMAGED: True}


class Store(SqliteStore):
    """The rows of all threads."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.sqlite, deserializer=_value_of)
        self.lock = connection.lock
        self._own = connection

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none."""
        return await self._own.do(self.batch, list(ops))

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
            if "isoformat" in str(error):  # the times of a row
                raise sqlite3.DatabaseError(f"a row is malformed: {error}") from error
            raise
        finally:
            _WRITES.reset(before)

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002 - LangGraph's signature
        """A cursor for one batch."""
        if not self.is_setup and not self._own.is_read_only:
            self.setup()
        with self.lock, self._own.transaction(writes=_WRITES.get()) as cursor:
            yield cursor
