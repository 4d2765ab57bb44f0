"""LangGraph's SQLite store for async code: each batch is one transaction, done whole or not at all.

LangGraph's own commits what a batch has done so far when one of its writes fails.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from langgraph.store.base import Op, Result
from langgraph.store.sqlite import SqliteStore

from graph.sqlite.connection import Connection


class Store(SqliteStore):
    """The rows of all threads."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.sqlite)
        self.lock = connection.lock
        self._own = connection

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none."""
        return await self._own.do(self.batch, list(ops))

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002 - LangGraph's signature
        """A cursor for one batch."""
        if not self.is_setup:
            self.setup()
        with self.lock, self._own.transaction() as cursor:
            yield cursor
