"""LangGraph's SQLite store for async code, with a thread of its own.

A batch is one transaction and one visit to that thread. LangGraph's async store visits its thread for every statement,
which is most of what a small batch costs, and it commits what a batch has done so far when one of its writes fails.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager

from langgraph.store.base import Op, Result
from langgraph.store.sqlite import SqliteStore


class Store(SqliteStore):
    """The rows of all threads. Batches are done one after the other, in the order in which they were asked for."""

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        super().__init__(connection)
        self._thread = thread

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none; where whoever waits is cancelled, that is raised when the batch is over."""
        batch = asyncio.get_running_loop().run_in_executor(self._thread, self.batch, list(ops))
        try:
            return await asyncio.shield(batch)
        except asyncio.CancelledError:
            await asyncio.wait({batch})
            raise

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """A cursor for one batch; what a batch that failed has written is taken back."""
        if not self.is_setup:
            self.setup()
        with self.lock:
            cursor = self.conn.cursor()
            try:
                if transaction:
                    cursor.execute("BEGIN")
                yield cursor
                if transaction:
                    cursor.execute("COMMIT")
            except BaseException:
                if self.conn.in_transaction:
                    self.conn.rollback()
                raise
            finally:
                cursor.close()


@asynccontextmanager
async def open_store(connect: Callable[[], sqlite3.Connection]) -> AsyncIterator[Store]:
    """A store on the connection that `connect` makes: in autocommit mode, usable from any thread."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix="baton-store")
    try:
        connection = await loop.run_in_executor(thread, connect)
        try:
            yield Store(connection, thread)
        finally:
            await loop.run_in_executor(thread, connection.close)
    finally:
        thread.shutdown(wait=False)
