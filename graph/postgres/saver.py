"""LangGraph's PostgreSQL saver, on the session of the work that it is used in, with the threads below a thread.

What is done to a thread is done to the threads below it, too: those of graphs that are agents of its run. LangGraph's
own takes one lock for the whole process, also with a pool; what this one overrides for that is `_cursor`. What a
checkpoint or a step writes is one statement.
"""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import DictRow

from graph.checkpoint_ids import keep_ids_above
from graph.postgres.session import Cursor, Server, Statement
from graph.postgres.together import Together
from graph.serializer import Serializer
from nodes.runtime.background import to_its_end

# Threads below one are named by it, a step of its graph and what they are for (`nodes.runtime.durable`). The step is
# a UUID, which keeps a thread that somebody has called `a/b` apart from those below `a`.
_STEP = "-".join("[0-9a-f]" * count for count in (8, 4, 4, 4, 12))
THREADS_BELOW = f"""
    (thread_id LIKE %(below)s AND substr(thread_id, length(%(thread)s) + 2) ~ '^{_STEP}/')
"""
THREADS_OF = f"(thread_id = %(thread)s OR {THREADS_BELOW})"
# Whatever the database's collation, these serve `LIKE` as well as `=`: so they stand for LangGraph's own.
INDEXES = """
DROP INDEX IF EXISTS checkpoints_thread_id_idx, checkpoint_blobs_thread_id_idx, checkpoint_writes_thread_id_idx;
CREATE INDEX IF NOT EXISTS baton_checkpoints ON checkpoints (thread_id text_pattern_ops);
CREATE INDEX IF NOT EXISTS baton_blobs ON checkpoint_blobs (thread_id text_pattern_ops);
CREATE INDEX IF NOT EXISTS baton_writes ON checkpoint_writes (thread_id text_pattern_ops);
"""
TABLES = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")

_FORGET_WRITES = """
DELETE FROM checkpoint_writes WHERE (thread_id, checkpoint_ns, checkpoint_id) IN (
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE metadata ->> 'run_id' = ANY(%(runs)s)
)
"""
_FORGET = "DELETE FROM checkpoints WHERE metadata ->> 'run_id' = ANY(%(runs)s) RETURNING thread_id"
# Checkpoint ids sort by time.
_PRUNE = f"""
DELETE FROM {{table}} WHERE {THREADS_OF} AND checkpoint_id < (
    SELECT max(checkpoint_id) FROM checkpoints last
    WHERE last.thread_id = {{table}}.thread_id AND last.checkpoint_ns = {{table}}.checkpoint_ns
)
"""
UNUSED = """
DELETE FROM checkpoint_blobs WHERE {which} AND NOT EXISTS (
    SELECT 1 FROM checkpoints kept WHERE kept.thread_id = checkpoint_blobs.thread_id
        AND kept.checkpoint_ns = checkpoint_blobs.checkpoint_ns
        AND kept.checkpoint -> 'channel_versions' ->> checkpoint_blobs.channel = checkpoint_blobs.version
)
"""
_DELETE = f"DELETE FROM {{table}} WHERE {THREADS_OF}"
_COPIED = "%(target)s || substr(thread_id, length(%(thread)s) + 1)"
_COPY = {
    "checkpoints": "parent_checkpoint_id, type, checkpoint, checkpoint_id",
    "checkpoint_blobs": "channel, version, type, blob",
    "checkpoint_writes": "checkpoint_id, task_id, task_path, idx, channel, type, blob",
}
_COPY_ROWS = f"""
INSERT INTO {{table}} (thread_id, checkpoint_ns, {{columns}})
SELECT {_COPIED}, checkpoint_ns, {{columns}} FROM {{table}} WHERE {THREADS_OF}
"""
_COPY_METADATA = f"""
UPDATE checkpoints SET metadata = jsonb_set(source.metadata, '{{thread_id}}', to_jsonb(checkpoints.thread_id), false)
FROM checkpoints source WHERE {THREADS_OF.replace("thread_id", "source.thread_id")}
    AND checkpoints.thread_id = {_COPIED.replace("thread_id", "source.thread_id")}
    AND checkpoints.checkpoint_ns = source.checkpoint_ns AND checkpoints.checkpoint_id = source.checkpoint_id
"""
# LangGraph's own question after one checkpoint, of each thread.
_LASTS = f"""
SELECT found.* FROM unnest(%s::text[], %s::text[]) AS asked (thread, ns), LATERAL (
    {AsyncPostgresSaver.SELECT_SQL} WHERE thread_id = asked.thread AND checkpoint_ns = asked.ns
    ORDER BY checkpoint_id DESC LIMIT 1
) AS found
"""
_SENDS_APART = 4
"""Checkpoints of an older version have what was sent to their steps elsewhere; LangGraph brings it together."""
_LAST = "SELECT max(checkpoint_id) AS last FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s"


def thread_and_below(thread_id: str) -> dict[str, str]:
    """What `THREADS_OF` and `THREADS_BELOW` are asked with."""
    return {"thread": thread_id, "below": below(thread_id)}


def below(place: str) -> str:
    """The pattern of what stands below a place."""
    return re.sub(r"([\\%_])", r"\\\1", place) + "/%"


class _Noted:
    """Stands for a cursor: notes what is to be done."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    async def execute(self, query: str, values: Sequence[Any]) -> None:
        """Note one statement."""
        self.statements.append(Statement(query, [values]))

    async def executemany(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        """Note one for all rows; none comes twice."""
        if rows:
            self.statements.append(Statement(query, rows))


class _Puts(AsyncPostgresSaver):
    """LangGraph's way to put a checkpoint; all that it writes is one statement."""

    def __init__(self, server: Server, serializer: Serializer) -> None:
        super().__init__(cast(Any, None), serde=serializer)
        self._server = server

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[Any]:  # noqa: ARG002 - LangGraph's
        async with self._server.writing() as write:  # LangGraph makes the rows in a thread: others write meanwhile
            noted = _Noted()
            yield noted
            await write(noted.statements)


class Saver(AsyncPostgresSaver):
    """Checkpoints in PostgreSQL."""

    def __init__(self, server: Server, serializer: Serializer) -> None:
        super().__init__(cast(Any, None), serde=serializer)
        self._server = server
        self._puts = _Puts(server, serializer)
        self._lasts = Together(server, self._read_lasts)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[Cursor]:
        async with self._server.cursor(pipeline=pipeline) as cursor:
            yield cursor

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the last one of its thread; ids made from now on are later."""
        where = config["configurable"]
        if not where.get("checkpoint_id"):
            return await self._lasts.ask((str(where["thread_id"]), str(where.get("checkpoint_ns", ""))))
        found = await super().aget_tuple(config)
        if found is not None:
            async with self._cursor() as cursor:
                await cursor.execute(_LAST, (where["thread_id"], where.get("checkpoint_ns", "")))
                row = await cursor.fetchone()
                keep_ids_above(str(row and row["last"]))
        return found

    async def alist(self, config: RunnableConfig | None, **which: Any) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints that `config` and `which` name, the latest first.

        LangGraph's keeps its connection until the last of them was taken: where several list and ask for more in
        between, each would wait for a connection that another keeps.
        """
        for found in [each async for each in super().alist(config, **which)]:
            yield found

    async def _read_lasts(self, places: list[tuple[str, str]]) -> list[CheckpointTuple | None]:
        """The last checkpoint of each thread and namespace."""
        async with self._cursor() as cursor:
            await cursor.execute(_LASTS, [list(column) for column in zip(*places, strict=True)])
            rows = {(row["thread_id"], row["checkpoint_ns"]): row for row in await cursor.fetchall()}
        return [await self._loaded(rows[place]) if place in rows else None for place in places]

    async def _loaded(self, row: DictRow) -> CheckpointTuple | None:
        keep_ids_above(row["checkpoint_id"])
        if row["checkpoint"]["v"] < _SENDS_APART:
            named = {name: row[name] for name in ("thread_id", "checkpoint_ns", "checkpoint_id")}
            return await super().aget_tuple({"configurable": named})
        return await self._load_checkpoint_tuple(row)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint; returns the config that names it."""
        return await to_its_end(self._puts.aput(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a node or @task returned. LangGraph goes on meanwhile: it is written with what comes next.

        Without LangGraph's visit to another thread for the serializer.
        """
        where = config["configurable"]
        ids = (where["thread_id"], where["checkpoint_ns"], where["checkpoint_id"])
        rows = self._dump_writes(*ids, task_id, task_path, writes)
        query = self.INSERT_CHECKPOINT_WRITES_SQL
        if all(channel in WRITES_IDX_MAP for channel, _ in writes):
            query = self.UPSERT_CHECKPOINT_WRITES_SQL
            rows = [*{row[5]: row for row in rows}.values()]  # one statement can't write a row twice: the last counts
        if rows:
            await self._server.write_with_next(Statement(query, rows))

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        await self.aprune([thread_id], strategy="delete")

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Forget the checkpoints that these runs of the server made; the thread is as it was before them."""
        self._server.check_fences()
        runs = {"runs": [str(run_id) for run_id in run_ids]}
        async with self._server.transaction() as transaction, transaction.cursor() as cursor:
            await cursor.execute(_FORGET_WRITES, runs)
            await cursor.execute(_FORGET, runs)
            threads = list({row["thread_id"] for row in await cursor.fetchall()})
            await cursor.execute(UNUSED.format(which="thread_id = ANY(%(threads)s)"), {"threads": threads})

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints, and what is pending on them, to another thread.

        With those below: a run that waits for a human in one of its graphs can be answered in its copy.
        """
        self._server.check_fences()
        names = {**thread_and_below(str(source_thread_id)), "target": str(target_thread_id)}
        async with self._cursor(pipeline=True) as cursor:
            for table, columns in _COPY.items():
                await cursor.execute(_COPY_ROWS.format(table=table, columns=columns), names, prepare=False)
            await cursor.execute(_COPY_METADATA, names, prepare=False)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint of each namespace, or nothing.

        Raises:
            ValueError: the strategy is none of LangGraph's.
        """
        ways = {"keep_latest": _PRUNE, "delete": _DELETE, "delete_all": _DELETE}
        if strategy not in ways:
            raise ValueError(f"cannot prune by {strategy!r}; give `keep_latest`, `delete` or `delete_all`")
        self._server.check_fences()
        async with self._cursor(pipeline=True) as cursor:
            for thread in [thread_and_below(str(name)) for name in thread_ids]:
                for table in ("checkpoint_writes", "checkpoints"):  # the first by what the second has
                    await cursor.execute(ways[strategy].format(table=table), thread, prepare=False)
                await cursor.execute(UNUSED.format(which=THREADS_OF), thread, prepare=False)
