"""LangGraph's PostgreSQL Store, on the session of the work that it is used in; each batch is one transaction.

A batch that only writes is sent in one go, and is done whole or not at all. LangGraph's own hands single calls to a
task of its own, which knows nothing of the work that they are done for: here they take the way of a batch.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from graph.postgres.notifications import Notifications
from graph.postgres.session import Cursor, Server, Transaction, whole
from nodes.runtime.rows import Namespace

# LangGraph's renews what expires, and nothing here does.
_ROWS = "SELECT key, value, created_at, updated_at FROM store WHERE prefix = %s AND key = ANY(%s)"


class Store(AsyncPostgresStore):
    """The rows of all threads."""

    aget = BaseStore.aget
    aput = BaseStore.aput
    adelete = BaseStore.adelete
    asearch = BaseStore.asearch
    alist_namespaces = BaseStore.alist_namespaces

    def __init__(self, server: Server | Transaction, notifications: Notifications | None = None) -> None:
        super().__init__(cast(Any, None))
        self._server = server
        self._notifications = notifications

    async def changes(self) -> tuple[int, int]:
        """What is not the same any more when somebody has sent a signal."""
        return await self._notifications.changes() if self._notifications else (0, 0)

    def _ensure_task(self) -> None:
        """Start nothing in the background."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none.

        What looking would note down is left out where nothing can be written. Rows do not expire, so looking renews
        none: the update that LangGraph adds for that reads the whole table where its statistics are old.
        """
        asked = [op._replace(refresh_ttl=False) if isinstance(op, GetOp | SearchOp) else op for op in ops]
        if self._server.is_read_only and any(isinstance(op, PutOp) for op in asked):
            found = iter(await self.abatch([op for op in asked if not isinstance(op, PutOp)]))
            return [None if isinstance(op, PutOp) else next(found) for op in asked]
        doing = super().abatch(asked)
        return await (self._server.written(doing) if any(isinstance(op, PutOp) for op in asked) else whole(doing))

    async def _batch_get_ops(
        self, get_ops: Sequence[tuple[int, GetOp]], results: list[Result], cur: AsyncCursor[DictRow]
    ) -> None:
        asked: dict[Namespace, list[tuple[int, str]]] = {}
        for index, op in get_ops:
            asked.setdefault(op.namespace, []).append((index, op.key))
        queries = [(_ROWS, (".".join(place), [key for _, key in keys])) for place, keys in asked.items()]
        for (place, keys), rows in zip(asked.items(), await _answers(cur, queries), strict=True):
            found = {row["key"]: Item(**row, namespace=place) for row in rows}
            for index, key in keys:
                results[index] = found.get(key)

    async def _batch_search_ops(
        self, search_ops: Sequence[tuple[int, SearchOp]], results: list[Result], cur: AsyncCursor[DictRow]
    ) -> None:
        queries, _ = self._prepare_batch_search_queries(search_ops)
        for (index, _), rows in zip(search_ops, await _answers(cur, queries), strict=True):
            results[index] = [SearchItem(tuple(row.pop("prefix").split(".")), **row) for row in rows]

    def _get_filter_condition(self, key: str, op: str, value: Any) -> tuple[str, list[Any]]:
        """What a row does not have is no value, as in the other Stores; LangGraph's finds `null` alone here."""
        if op == "$eq" and value is None:
            return "coalesce(value->%s, 'null'::jsonb) = 'null'::jsonb", [key]
        return super()._get_filter_condition(key, op, value)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[Cursor]:
        async with self._server.cursor(pipeline=pipeline) as cursor:
            yield cursor


async def _answers(cursor: AsyncCursor[DictRow], queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[DictRow]]:
    """The rows of each query. LangGraph's waits for those of one before it asks the next."""
    cursors = [cursor.connection.cursor(binary=True) for _ in queries]
    for each, (query, given) in zip(cursors, queries, strict=True):
        await each.execute(query, given)
    return [await each.fetchall() for each in cursors]
