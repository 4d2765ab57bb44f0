"""LangGraph's SQLite saver for async code, with what its server asks of one besides: roll back, copy, prune.

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

from graph.connection import Connection

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

_COPY = f"""
INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT :target, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
    CAST(json_replace({_JSON}, '$.thread_id', :target) AS BLOB)
FROM checkpoints WHERE thread_id = :source
"""
_COPY_WRITES = """
INSERT OR REPLACE INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
SELECT :target, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value
FROM writes WHERE thread_id = :source
"""

# Checkpoint ids sort by time.
_PRUNE = """
DELETE FROM {table} WHERE thread_id = :thread AND checkpoint_id < (
    SELECT max(checkpoint_id) FROM checkpoints AS last
    WHERE last.thread_id = {table}.thread_id AND last.checkpoint_ns = {table}.checkpoint_ns
)
"""


class Saver(SqliteSaver):
    """Checkpoints in SQLite."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.sqlite)
        self.lock = connection.lock
        self._own = connection

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
        """Keep what a node or @task returned."""
        await self._own.do(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        await self._own.do(self.delete_thread, thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What was written to channels that are kept as changes."""
        return await self._own.do(self.get_delta_channel_history, config=config, channels=channels)

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002 - LangGraph's
        """A cursor for one call."""
        with self.lock:
            self.setup()
            with self._own.transaction() as cursor:
                yield cursor

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Forget the checkpoints that these runs of the server made; the thread is as it was before them."""
        named = [{"run": str(run_id)} for run_id in run_ids]
        await self._all([(sql, row) for row in named for sql in (_FORGET_WRITES, _FORGET)])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints, and what is pending on them, to another thread."""
        names = {"source": str(source_thread_id), "target": str(target_thread_id)}
        await self._all([(_COPY, names), (_COPY_WRITES, names)])

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint of each namespace, or nothing.

        Raises:
            ValueError: the strategy is not one of `Pruning`.
        """
        if strategy in ("delete", "delete_all"):
            for thread_id in thread_ids:
                await self.adelete_thread(thread_id)
            return
        if strategy != "keep_latest":
            raise ValueError(f"cannot prune by {strategy!r}; give `keep_latest`, `delete` or `delete_all`")
        tables = ("writes", "checkpoints")
        named = [{"thread": str(thread_id)} for thread_id in thread_ids]
        await self._all([(_PRUNE.format(table=table), row) for row in named for table in tables])

    async def _all(self, statements: Sequence[tuple[str, dict[str, str]]]) -> None:
        """Run them all, or none."""

        def run() -> None:
            with self.cursor() as cursor:
                for sql, values in statements:
                    cursor.execute(sql, values)

        await self._own.do(run)
