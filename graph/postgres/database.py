"""PostgreSQL as a database of runs: opening it, its tables, and forgetting.

LangGraph's tables are made by LangGraph, the queue's by Procrastinate; one more says by which version of them all.
Whoever comes first makes them.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from procrastinate.schema import SchemaManager
from psycopg import Error, errors

from graph.address import PostgresAddress
from graph.postgres.lease import Leases
from graph.postgres.notifications import TRIGGER, Notifications
from graph.postgres.problems import explained
from graph.postgres.queue import Queue
from graph.postgres.saver import INDEXES, TABLES, THREADS_BELOW, THREADS_OF, UNUSED, Saver, below, thread_and_below
from graph.postgres.session import Connection, Cursor, Server, backend_of, connected, open_server
from graph.postgres.store import Store
from graph.serializer import KEY, Serializer
from graph.settings import read_settings
from nodes.runtime.clock import Clock
from nodes.runtime.rows import Namespace
from state.errors import DatabaseUnusable, SettingsInvalid

VERSION = 3
"""Of the tables, LangGraph's included: what this Baton reads and writes."""
OLDEST = 140_000
"""PostgreSQL 14, as the server numbers it: `pg_terminate_backend` waits."""
MAKING = 7_141_421
"""The advisory lock of whoever makes the tables."""
RETRY_S = 0.05
TURN_S = 2.0
"""Seconds in which a pooler that has a connection for everybody does a statement."""

_STEPS = """
DELETE FROM {table} WHERE {below} OR (thread_id = %(thread)s AND (checkpoint_ns <> '' OR checkpoint_id < (
    SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_ns = ''
)))
"""
_FORGET = f"DELETE FROM {{table}} WHERE {THREADS_OF}"
_ROWS = "DELETE FROM store WHERE prefix = %(place)s OR prefix LIKE %(below)s"
_ROW = "DELETE FROM store WHERE prefix = %(place)s AND key = %(key)s"
_THREAD = "thread_id checkpoint_ns"
COLUMNS = {
    "baton": "version",
    "store": "prefix key value created_at updated_at expires_at ttl_minutes",
    "checkpoints": f"{_THREAD} checkpoint_id parent_checkpoint_id type checkpoint metadata",
    "checkpoint_blobs": f"{_THREAD} channel version type blob",
    "checkpoint_writes": f"{_THREAD} checkpoint_id task_id idx channel type blob task_path",
    "procrastinate_workers": "id last_heartbeat",
    "procrastinate_jobs": "id queue_name task_name priority lock queueing_lock args status scheduled_at attempts "
    "abort_requested worker_id",
    "procrastinate_periodic_defers": "id task_name defer_timestamp job_id periodic_id",
    "procrastinate_events": "id job_id type at",
}
"""What has to be there, by table, as LangGraph, Procrastinate and Baton make it."""
_MADE = re.compile(
    r"CREATE (?:OR REPLACE |UNIQUE )?(?:INDEX|FUNCTION|TRIGGER) (?:IF NOT EXISTS )?(\w+)(?:[^(;]* ON (\w+))?"
)
"""What is made besides tables, and the table that it goes with, if any."""
_THERE = """
SELECT relname::text AS name FROM pg_class WHERE pg_table_is_visible(oid)
UNION ALL SELECT relname || '.' || attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE pg_table_is_visible(pg_class.oid) AND NOT attisdropped
UNION ALL SELECT proname FROM pg_proc WHERE pg_function_is_visible(oid)
UNION ALL SELECT tgname FROM pg_trigger
"""
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)::bigint AS bytes FROM unnest(%s::text[]) AS name
"""


@dataclass(frozen=True)
class PostgresDatabase:
    """An open database."""

    address: PostgresAddress
    server: Server
    checkpointer: Saver
    store: Store
    queue: Queue

    @property
    def is_read_only(self) -> bool:
        """Whether only looking is possible."""
        return self.server.is_read_only

    def leases(self, clock: Clock) -> Leases:
        """The leases of its threads."""
        return Leases(self.server, clock)

    async def forget_steps(self, thread_id: str, places: Sequence[Namespace]) -> None:
        """Keep of a thread only its last checkpoint."""
        thread = thread_and_below(thread_id)
        async with self.server.cursor(pipeline=True) as cursor:
            for table in ("checkpoint_writes", "checkpoints"):  # the first by what the second has
                await cursor.execute(_STEPS.format(table=table, below=THREADS_BELOW), thread, prepare=False)
            await cursor.execute(UNUSED.format(which=THREADS_OF), thread, prepare=False)
            await _forget_rows(cursor, places)

    async def forget_thread(
        self, thread_id: str, places: Sequence[Namespace], keys: Sequence[tuple[Namespace, str]]
    ) -> None:
        """Forget a thread: its checkpoints, what is below these places of the Store, and these single rows."""
        async with self.server.cursor(pipeline=True) as cursor:
            for table in TABLES:
                await cursor.execute(_FORGET.format(table=table), thread_and_below(thread_id), prepare=False)
            for place, key in keys:
                await cursor.execute(_ROW, {"place": ".".join(place), "key": key})
            await _forget_rows(cursor, places)

    async def size(self) -> int:
        """Bytes of the tables with their indexes."""
        async with self.server.cursor() as cursor:
            await cursor.execute(_SIZE, [["store", *TABLES]])
            row = await cursor.fetchone()
        return int(row["bytes"]) if row else 0

    async def give_space_back(self) -> bool:
        """Leave it to the server: its autovacuum makes what was deleted free for what comes."""
        return True


async def _forget_rows(cursor: Cursor, places: Sequence[Namespace]) -> None:
    for place in places:
        name = ".".join(place)
        await cursor.execute(_ROWS, {"place": name, "below": below(name)}, prepare=False)


@asynccontextmanager
async def open_postgres(
    address: PostgresAddress, over: type[BaseCheckpointSaver[str]] | None = None, *, read_only: bool = False
) -> AsyncIterator[PostgresDatabase]:
    """Open the database, and make its tables where they are missing. `read_only`: nothing is made or written.

    `over`: a class that its checkpointer is derived from first, to come before what that does.

    Raises:
        DatabaseUnusable: it cannot be reached, lets this user not in, or is of a newer Baton.
        SettingsInvalid: checkpoints are to be encrypted: short values would stand in the tables as they are.
    """
    if (await asyncio.to_thread(read_settings)).aes_key.get_secret_value():
        raise SettingsInvalid(f"{KEY} encrypts checkpoints in SQLite files alone; unset it to use {address}")
    async with open_server(address, read_only=read_only) as server, Notifications(address) as notifications:
        store = Store(server, notifications)
        saver = cast(type[Saver], type(over.__name__, (over, Saver), {})) if over else Saver
        database = PostgresDatabase(address, server, saver(server, Serializer()), store, Queue(server, store))
        await (_look(address) if read_only else migrate(database))
        yield database


async def migrate(database: PostgresDatabase) -> int:
    """Make the tables, or bring them to this version; the version they had (0: there were none).

    Raises:
        DatabaseUnusable: they are of a newer Baton.
    """
    address = database.address
    try:
        connection = await connected(address)
        try:
            if connection.info.server_version < OLDEST:
                raise DatabaseUnusable(f"database {address} is on a PostgreSQL older than 14; use a newer server")
            await _refuse_shared(address, connection)
            version = before = await _version(connection)
            if version < VERSION:
                await _lock(connection)
                version = before = await _version(connection)  # somebody else may have made them
            if version < 1:
                await database.checkpointer.setup()
                await database.store.setup()
                await connection.execute("CREATE TABLE IF NOT EXISTS baton (version integer PRIMARY KEY)")
            if version < VERSION:
                async with connection.transaction():
                    await connection.execute(INDEXES, prepare=False)
                    if version < 2:
                        await connection.execute(TRIGGER, prepare=False)
                        await connection.execute(SchemaManager.get_schema(), prepare=False)
                    await connection.execute("INSERT INTO baton VALUES (%s)", [VERSION])
        finally:
            await connection.close()  # and with it the lock
    except Error as error:
        raise explained(address, error) from error
    _refuse_newer(address, version)
    return before


async def missing_in(address: PostgresAddress) -> list[str] | None:
    """Tables, columns (`table.column`), indexes, triggers and functions that are to be there and are not.

    None where there are no tables yet.

    Raises:
        DatabaseUnusable: it cannot be reached.
    """
    try:
        connection = await connected(address)
        try:
            rows = await (await connection.execute(_THERE)).fetchall()
        finally:
            await connection.close()
    except Error as error:
        raise explained(address, error) from error
    there = {row["name"] for row in rows}
    if not there & COLUMNS.keys():
        return None
    made = _MADE.findall(f"{INDEXES}{TRIGGER}{SchemaManager.get_schema()}")
    wanted = [
        *((table, "") for table in COLUMNS),
        *((f"{table}.{column}", table) for table, columns in COLUMNS.items() for column in columns.split()),
        *((f"{table}_pkey", table) for table in COLUMNS),
        *[("store_prefix_idx", "store"), *made],
    ]
    return [name for name, table in wanted if name not in there and (not table or table in there)]


async def _look(address: PostgresAddress) -> None:
    """Refuse what cannot be looked at: a pool would try again and again before it says why.

    Raises:
        DatabaseUnusable: it cannot be reached, lets this user not in, or is of a newer Baton.
    """
    try:
        connection = await connected(address)
        try:
            version = await _version(connection)
        finally:
            await connection.close()
    except Error as error:
        raise explained(address, error) from error
    _refuse_newer(address, version)


def _refuse_newer(address: PostgresAddress, version: int) -> None:
    if version > VERSION:
        raise DatabaseUnusable(
            f"database {address} is of a newer Baton (tables {version}, this one knows {VERSION}); update Baton"
        )


async def _refuse_shared(address: PostgresAddress, connection: Connection) -> None:
    """Refuse a pooler that hands a connection to somebody else between two transactions, and with it the locks.

    One that does has said so once the same process of the server works for two connections in turn.

    Raises:
        DatabaseUnusable: there is one.
    """
    backend = await backend_of(connection)
    if backend == connection.info.backend_pid:  # nothing is in between
        return
    other = await connected(address)
    try:
        async with other.transaction():
            theirs = await backend_of(other)
            try:
                async with asyncio.timeout(TURN_S):
                    is_shared = theirs == backend or await backend_of(connection) != backend
            except TimeoutError:  # it waits for the only one there is
                is_shared = True
    finally:
        await other.close()
    if is_shared:
        raise DatabaseUnusable(
            f"database {address} is behind a pooler that shares connections between transactions: leases, which "
            "connections hold, would be anybody's; connect directly, or set `pool_mode = session`"
        )


async def _version(connection: Connection) -> int:
    try:
        row = await (await connection.execute("SELECT max(version) AS version FROM baton")).fetchone()
    except errors.UndefinedTable:
        return 0
    return int(row["version"] or 0) if row else 0


async def _lock(connection: Connection) -> None:
    """Be the only one who makes tables. Asked again and again: one who waits keeps an index from being made."""
    while True:
        row = await (await connection.execute("SELECT pg_try_advisory_lock(%s) AS ok", [MAKING])).fetchone()
        if row and row["ok"]:
            return
        await asyncio.sleep(RETRY_S)
