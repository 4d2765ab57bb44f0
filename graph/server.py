"""What `langgraph dev` gets from us: the same SQLite file as the command line, for checkpoints and for the Store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata

from graph.app import guard, served
from graph.lease import Leases
from graph.persistence import open_database
from graph.saver import Saver
from graph.settings import read_settings
from graph.store import Store
from nodes.runtime.context import thread_of


class ServedSaver(Saver):
    """Checkpoints of a server, which does not put what it is given on a thread that another process runs.

    A checkpoint of its own there would hide the other's: what that has finished since would be done again.
    """

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint.

        Raises:
            ThreadBusy: it is the first of a run, or an edit, and another process runs the thread.
        """
        if metadata.get("source") != "loop":
            await guard.check(thread_of(config))
        return await super().aput(config, checkpoint, metadata, new_versions)


@asynccontextmanager
async def checkpointer() -> AsyncIterator[Saver]:
    """The checkpointer, for `checkpointer.path`."""
    settings = await asyncio.to_thread(read_settings)
    services = await asyncio.to_thread(served)
    async with open_database(settings.db, settings.synchronous, ServedSaver) as database:
        with guard.leasing(Leases(database.connection, services.clock)):
            yield database.checkpointer


@asynccontextmanager
async def store() -> AsyncIterator[Store]:
    """The Store, for `store.path`."""
    settings = await asyncio.to_thread(read_settings)
    async with open_database(settings.db, settings.synchronous) as database:
        yield database.store
