"""What `langgraph dev` gets from us: the same SQLite file as the command line, for checkpoints and for the Store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graph.app import guard, served
from graph.lease import Leases
from graph.persistence import connect, open_database
from graph.saver import Saver
from graph.settings import read_settings
from graph.store import Store


@asynccontextmanager
async def checkpointer() -> AsyncIterator[Saver]:
    """The checkpointer, for `checkpointer.path`."""
    settings = await asyncio.to_thread(read_settings)
    services = await asyncio.to_thread(served)
    async with (
        open_database(settings.db, settings.synchronous) as database,
        connect(settings.db, settings.synchronous) as connection,
    ):
        with guard.leasing(Leases(connection, services.clock)):
            yield database.checkpointer


@asynccontextmanager
async def store() -> AsyncIterator[Store]:
    """The Store, for `store.path`."""
    settings = await asyncio.to_thread(read_settings)
    async with open_database(settings.db, settings.synchronous) as database:
        yield database.store
