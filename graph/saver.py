"""LangGraph's SQLite saver, with what its server asks of one besides: roll back a run, copy or prune a thread."""

import sqlite3
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Literal, TypeVar

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.whole import Writes

T = TypeVar("T")
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


class Saver(AsyncSqliteSaver):
    """Checkpoints in SQLite. Each method is one transaction, which is not cut off."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(connection)
        self.under_way = Writes()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        writing = super().aput(config, checkpoint, metadata, new_versions)
        return await self.under_way.whole(self._or_not_at_all(writing))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a node or @task returned, whole or not at all: a half of it would lose where the run goes next."""
        writing = super().aput_writes(config, writes, task_id, task_path)
        await self.under_way.whole(self._or_not_at_all(writing))

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

    async def _or_not_at_all(self, writing: Coroutine[Any, Any, T]) -> T:
        try:
            return await writing
        except sqlite3.Error:
            await self.conn.rollback()
            raise

    async def _all(self, statements: Sequence[tuple[str, dict[str, str]]]) -> None:
        """Run them all, or none."""
        await self.setup()
        async with self.lock, self.conn.cursor() as cursor:
            await cursor.execute("BEGIN IMMEDIATE")
            try:
                for sql, values in statements:
                    await cursor.execute(sql, values)
            except BaseException:
                await self.conn.rollback()
                raise
            await self.conn.commit()
