"""LangGraph's SQLite store for async code: each batch is one transaction, done whole or not at all.

LangGraph's own commits what a batch has done so far when one of its writes fails.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from langgraph.store.base import Op, PutOp, Result
from langgraph.store.sqlite import SqliteStore

from graph.sqlite.connection import Connection

_WRITES: ContextVar[bool] = ContextVar("baton_batch_writes", default=True)
"""Whether the batch that is done now writes; LangGraph does not tell `_cursor`."""


class Store(SqliteStore):
    """The rows of all threads."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.sqlite)
        self.lock = connection.lock
        self._own = connection

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none."""
        return await self._own.do(self.batch, list(ops))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none; one that only reads does not wait for whoever writes."""
        asked = list(ops)
        before = _WRITES.set(any(isinstance(op, PutOp) for op in asked))
        try:
            return super().batch(asked)
        finally:
            _WRITES.reset(before)

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002 - LangGraph's signature
        """A cursor for one batch."""
        if not self.is_setup:
            self.setup()
        with self.lock, self._own.transaction(writes=_WRITES.get()) as cursor:
            yield cursor
