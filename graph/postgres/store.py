"""LangGraph's PostgreSQL Store, on the session of the work that it is used in; each batch is one transaction.

All that is asked at one moment is read by one statement, and all that a batch writes is one, which is done whole or not
at all: what a visit to the server costs is the visit. LangGraph's own hands single calls to a task of its own, which
knows nothing of the work that they are done for: here they take the way of a batch.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import chain, islice
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.postgres.aio import AsyncPostgresStore

from graph.postgres.notifications import Notifications
from graph.postgres.session import Cursor, Server, Statement, Transaction, as_json
from graph.postgres.together import Together

# What is asked for comes as one value, so that a statement is one text however much it asks for, and is prepared once.
# The inner `LIMIT` has each be looked up by the index. What is below a place begins with it and a dot, and is before
# all that begin with it and the letter after the dot; an index for patterns finds that by these operators.
_GET = """
SELECT -1 AS number, found.* FROM json_to_recordset(%s::json) AS asked (prefix text, key text), LATERAL (
    SELECT prefix, key, value, created_at, updated_at FROM store
    WHERE prefix = asked.prefix AND key = asked.key LIMIT 1
) AS found
"""
_SEARCH = """
SELECT asked.number, found.*
FROM json_to_recordset(%s::json) AS asked (number int, prefix text, most bigint, skipped bigint), LATERAL (
    SELECT prefix, key, value, created_at, updated_at FROM store
    WHERE prefix = asked.prefix OR (prefix ~>=~ (asked.prefix || '.') AND prefix ~<~ (asked.prefix || '/'))
    ORDER BY updated_at DESC LIMIT asked.most OFFSET asked.skipped
) AS found
"""
_SEARCH_FOR = "SELECT {number} AS number, prefix, key, value, created_at, updated_at FROM ({query}) AS found_{number}"
_PUT = """
INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
SELECT prefix, key, value, now(), now(), now() + ttl * interval '1 minute', ttl
FROM json_to_recordset(%s::json) AS put (prefix text, key text, value jsonb, ttl float8)
ON CONFLICT (prefix, key) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at,
    expires_at = EXCLUDED.expires_at, ttl_minutes = EXCLUDED.ttl_minutes
"""
_DELETE = """
DELETE FROM store WHERE ctid IN (
    SELECT found.ctid FROM json_to_recordset(%s::json) AS gone (prefix text, key text), LATERAL (
        SELECT ctid FROM store WHERE prefix = gone.prefix AND key = gone.key LIMIT 1
    ) AS found
)
"""


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
        self._reads = Together(server, self._read_each) if isinstance(server, Server) else None

    async def changes(self) -> tuple[int, int]:
        """What is not the same any more when somebody has sent a signal."""
        return await self._notifications.changes() if self._notifications else (0, 0)

    def _ensure_task(self) -> None:
        """Start nothing in the background."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """All of `ops`, or none; what is read is read before anything is written.

        What looking would note down is left out where nothing can be written.
        """
        asked = list(ops)
        puts = {(".".join(op.namespace), op.key): op for op in asked if isinstance(op, PutOp)}  # the last of two counts
        found: list[Result] = [None] * len(asked)
        if not all(isinstance(op, PutOp) for op in asked):
            found = await (self._reads.ask(asked) if self._reads else self._read(asked))
        if puts and not self._server.is_read_only:
            await self._server.write(*_written(puts))
        return found

    async def _read_each(self, asked: Sequence[Sequence[Op]]) -> list[list[Result]]:
        found = iter(await self._read([*chain.from_iterable(asked)]))
        return [list(islice(found, len(ops))) for ops in asked]

    async def _read(self, asked: Sequence[Op]) -> list[Result]:
        """What is asked for, each in its place; nothing for what is to be written."""
        found: list[Result] = [None] * len(asked)
        gets = {n: (".".join(op.namespace), op.key) for n, op in enumerate(asked) if isinstance(op, GetOp)}
        # Rows do not expire, so looking renews none: LangGraph's update for that reads the whole table where its
        # statistics are old.
        searches = {n: op._replace(refresh_ttl=False) for n, op in enumerate(asked) if isinstance(op, SearchOp)}
        plain = {n: op for n, op in searches.items() if op.namespace_prefix and not op.filter}
        others = [(n, op) for n, op in searches.items() if n not in plain]
        listings = [(n, op) for n, op in enumerate(asked) if isinstance(op, ListNamespacesOp)]
        parts: list[tuple[str, Sequence[Any]]] = []
        if gets:
            parts.append((_GET, [_records({"prefix": prefix, "key": key} for prefix, key in {*gets.values()})]))
        if plain:
            parts.append((_SEARCH, [_records(_plainly(n, op) for n, op in plain.items())]))
        for (n, _), (query, values) in zip(others, self._prepare_batch_search_queries(others)[0], strict=True):
            parts.append((_SEARCH_FOR.format(number=n, query=query), values))
        items: dict[tuple[str, str], Item] = {}
        lists: dict[int, list[SearchItem]] = {n: [] for n in searches}
        async with self._cursor() as cursor:
            if parts:
                values = [*chain.from_iterable(values for _, values in parts)]
                await cursor.execute(_together([query for query, _ in parts]), values)
                for row in await cursor.fetchall():
                    number, prefix = row.pop("number"), row.pop("prefix")
                    place = tuple(prefix.split("."))
                    if number < 0:
                        items[prefix, row["key"]] = Item(**row, namespace=place)
                    else:
                        lists[number].append(SearchItem(place, **row))
            if listings:
                await self._batch_list_namespaces_ops(listings, found, cursor)
        for n, row_key in gets.items():
            found[n] = items.get(row_key)
        for n, rows in lists.items():
            found[n] = rows
        return found

    def _get_filter_condition(self, key: str, op: str, value: Any) -> tuple[str, list[Any]]:
        """What a row does not have is no value, as in the other Stores; LangGraph's finds `null` alone here."""
        if op == "$eq" and value is None:
            return "coalesce(value->%s, 'null'::jsonb) = 'null'::jsonb", [key]
        return super()._get_filter_condition(key, op, value)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[Cursor]:
        async with self._server.cursor(pipeline=pipeline) as cursor:
            yield cursor


def _written(puts: dict[tuple[str, str], PutOp]) -> list[Statement]:
    """What makes the rows so."""
    gone = [{"prefix": prefix, "key": key} for (prefix, key), op in puts.items() if op.value is None]
    kept = [
        {"prefix": prefix, "key": key, "value": op.value, "ttl": op.ttl}
        for (prefix, key), op in puts.items()
        if op.value is not None
    ]
    return [Statement(query, [[_records(rows)]]) for query, rows in ((_DELETE, gone), (_PUT, kept)) if rows]


def _plainly(number: int, op: SearchOp) -> dict[str, Any]:
    return {"number": number, "prefix": ".".join(op.namespace_prefix), "most": op.limit, "skipped": op.offset}


def _records(rows: Iterable[dict[str, Any]]) -> str:
    return as_json([*rows])


def _together(queries: Sequence[str]) -> str:
    """One statement that finds what all of them find."""
    return queries[0] if len(queries) == 1 else " UNION ALL ".join(f"({each})" for each in queries)
