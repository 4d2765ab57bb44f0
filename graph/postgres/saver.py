"""LangGraph's PostgreSQL saver, on the session of the work that it is used in, with the threads below a thread.

What is done to a thread is done to the threads below it, too: those of graphs that are agents of its run. LangGraph's
own takes one lock for the whole process, also with a pool; what this one overrides for that is `_cursor`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from graph.checkpoint_ids import keep_ids_above
from graph.postgres.session import Cursor, Server, whole
from graph.serializer import Serializer

# Threads below one are named by it, a step of its graph and what they are for (`nodes.runtime.durable`). The step is
# a UUID, which keeps a thread that somebody has called `a/b` apart from those below `a`.
_STEP = "-".join(f"[0-9a-f]{{{count}}}" for count in (8, 4, 4, 4, 12))
THREADS_BELOW = f"""
    (starts_with(thread_id, %(thread)s || '/') AND substr(thread_id, length(%(thread)s) + 2) ~ '^{_STEP}/')
"""
THREADS_OF = f"(thread_id = %(thread)s OR {THREADS_BELOW})"
TABLES = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")
_LAST = "SELECT max(checkpoint_id) AS last FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s"


class Saver(AsyncPostgresSaver):
    """Checkpoints in PostgreSQL."""

    def __init__(self, server: Server, serializer: Serializer) -> None:
        super().__init__(cast(Any, None), serde=serializer)
        self._server = server

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[Cursor]:
        async with self._server.cursor(pipeline=pipeline) as cursor:
            yield cursor

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the last one of its thread; ids made from now on are later."""
        found = await super().aget_tuple(config)
        if found is not None:
            where = found.config["configurable"]
            async with self._cursor() as cursor:
                await cursor.execute(_LAST, (where["thread_id"], where["checkpoint_ns"]))
                row = await cursor.fetchone()
                keep_ids_above(str(row and row["last"]))
        return found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint; returns the config that names it."""
        self._server.check_fences()
        return await whole(super().aput(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a node or @task returned."""
        self._server.check_fences()
        await whole(super().aput_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        self._server.check_fences()
        async with self._cursor(pipeline=True) as cursor:
            for table in TABLES:
                await cursor.execute(f"DELETE FROM {table} WHERE {THREADS_OF}", {"thread": str(thread_id)})
