"""LangGraph's SQLite saver for async code, with what its server asks of one besides: roll back, copy, prune.

What is done to a thread is done to the threads below it, too: those of graphs that are agents of its run.

Each call is one transaction, done whole or not at all: half of what a node returned would lose where the run goes next.
"""

import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite import SqliteSaver

from graph.checkpoint_ids import keep_ids_above
from graph.serializer import Serializer
from graph.sqlite.connection import Connection

Pruning = Literal["keep_latest", "delete", "delete_all"]
"""LangGraph's base class says `delete`, its server `delete_all`; both mean the whole thread."""

# Metadata is JSON in a BLOB, which SQLite would take for its own binary form.
_JSON = "CAST(metadata AS TEXT)"

_FORGET_WRITES = f"""
DELETE FROM writes WHERE (thread_id, checkpoint_ns, checkpoint_id) IN (
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE json_extract({_JSON}, '$.run_id') = :run
)
"""
_FORGET = f"DELETE FROM checkpoints WHERE json_extract({_JSON}, '$.run_id') = :run"

# Threads below one are named by it, a step of its graph and what they are for (`nodes.runtime.durable`). The step is
# a UUID, which keeps a thread that somebody has called `a/b` apart from those below `a`.
_STEP = "-".join("[0-9a-f]" * count for count in (8, 4, 4, 4, 12))
THREADS_BELOW = f"""
    (thread_id > {{0}} || '/' AND thread_id < {{0}} || '0' AND substr(thread_id, length({{0}}) + 2) GLOB '{_STEP}/*')
"""
THREADS_OF = f"(thread_id = {{0}} OR {THREADS_BELOW})"

_COPY = f"""
INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT :target || substr(thread_id, length(:source) + 1), checkpoint_ns, checkpoint_id, parent_checkpoint_id, type,
    checkpoint, CAST(json_replace({_JSON}, '$.thread_id', :target || substr(thread_id, length(:source) + 1)) AS BLOB)
FROM checkpoints WHERE {THREADS_OF.format(":source")}
"""
_COPY_WRITES = f"""
INSERT OR REPLACE INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
SELECT :target || substr(thread_id, length(:source) + 1), checkpoint_ns, checkpoint_id, task_id, task_path, idx,
    channel, type, value
FROM writes WHERE {THREADS_OF.format(":source")}
"""

# Checkpoint ids sort by time.
_PRUNE = f"""
DELETE FROM {{table}} WHERE {THREADS_OF.format(":thread")} AND checkpoint_id < (
    SELECT max(checkpoint_id) FROM checkpoints AS last
    WHERE last.thread_id = {{table}}.thread_id AND last.checkpoint_ns = {{table}}.checkpoint_ns
)
"""
_LAST = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?"
_DELETE = f"DELETE FROM {{table}} WHERE {THREADS_OF.format(':thread')}"
_TABLES = ("writes", "checkpoints")


class Saver(SqliteSaver):
    """Checkpoints in SQLite."""

    def __init__(self, connection: Connection, serializer: Serializer) -> None:
        super().__init__(connection.sqlite, serde=serializer)
        self.lock = connection.lock
        self._own = connection

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the last one of its thread; ids made from now on are later."""
        found = super().get_tuple(config)
        if found is not None:
            where = found.config["configurable"]
            with self.cursor(transaction=False) as cursor:
                cursor.execute(_LAST, (where["thread_id"], where["checkpoint_ns"]))
                keep_ids_above(str(cursor.fetchone()[0]))
        return found

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the last one of its thread."""
        return await self._own.do(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's signature
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints, the newest first."""
        for found in await self._own.do(lambda: [*self.list(config, filter=filter, before=before, limit=limit)]):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint; returns the config that names it."""
        return await self._own.do(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a node or @task returned. LangGraph goes on meanwhile: it goes to disk with what comes next."""
        await self._own.do_with_next(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        await self._all(_on_tables(_DELETE, [thread_id]))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What was written to channels that are kept as changes."""
        return await self._own.do(self.get_delta_channel_history, config=config, channels=channels)

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """A cursor for one call, that writes if LangGraph asks for a transaction."""
        with self.lock:
            if not self._own.is_read_only:
                self.setup()
            with self._own.transaction(writes=transaction) as cursor:
                yield cursor

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Forget the checkpoints that these runs of the server made; the thread is as it was before them."""
        named = [{"run": str(run_id)} for run_id in run_ids]
        await self._all([(sql, row) for row in named for sql in (_FORGET_WRITES, _FORGET)])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints, and what is pending on them, to another thread.

        With those below: a run that waits for a human in one of its graphs can be answered in its copy.
        """
        names = {"source": str(source_thread_id), "target": str(target_thread_id)}
        await self._all([(_COPY, names), (_COPY_WRITES, names)])

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint of each namespace, or nothing.

        Raises:
            ValueError: the strategy is not one of `Pruning`.
        """
        ways = {"keep_latest": _PRUNE, "delete": _DELETE, "delete_all": _DELETE}
        if strategy not in ways:
            raise ValueError(f"cannot prune by {strategy!r}; give `keep_latest`, `delete` or `delete_all`")
        await self._all(_on_tables(ways[strategy], thread_ids))

    async def _all(self, statements: Sequence[tuple[str, dict[str, str]]]) -> None:
        """Run them all, or none."""

        def run() -> None:
            with self.cursor() as cursor:
                for sql, values in statements:
                    cursor.execute(sql, values)

        await self._own.do(run)


def _on_tables(sql: str, thread_ids: Iterable[str]) -> list[tuple[str, dict[str, str]]]:
    """A statement for each thread and table."""
    return [(sql.format(table=table), {"thread": str(name)}) for name in thread_ids for table in _TABLES]
