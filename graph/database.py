"""Opening the database: one SQLite file for LangGraph's checkpoints and its Store."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from graph.settings import read_settings
from graph.sqlite.connection import Connection, _check, _connected, connected_read_only, explained, open_connection
from graph.sqlite.saver import Saver
from graph.sqlite.serializer import Serializer
from graph.sqlite.store import Store

SETUP_TRIES = 20
_MADE_BY_ANOTHER = ("UNIQUE constraint failed: store_migrations", "duplicate column", "already exists", "locked")


@dataclass(frozen=True)
class Database:
    """An open database."""

    path: Path
    connection: Connection
    checkpointer: Saver
    store: Store


@asynccontextmanager
async def open_database(
    path: Path, synchronous: str = "NORMAL", saver: type[Saver] = Saver, *, read_only: bool = False
) -> AsyncIterator[Database]:
    """Open or create the file; WAL, so that others can read while one writes. `read_only`: nothing is made or written.

    Raises:
        DatabaseUnusable: it is something else, its folder is missing or read-only, or the disk is full.
        SettingsInvalid: the key that encrypts checkpoints is none.
    """
    await asyncio.to_thread(_check, path)
    serializer = await asyncio.to_thread(lambda: Serializer(read_settings().aes_key.get_secret_value()))
    with explained(path):
        async with open_connection(
            lambda: connected_read_only(path) if read_only else _connected(path, synchronous)
        ) as own:
            database = Database(path, own, saver(own, serializer), Store(own))
            if not read_only:
                await _set_up(database, own)
            yield database


async def _set_up(database: Database, own: Connection) -> None:
    """Make the tables. LangGraph takes no lock for it: who makes them at the same moment as another tries again."""
    for left in reversed(range(SETUP_TRIES)):
        try:
            await own.do(database.checkpointer.setup)
            await own.do(database.store.setup)
        except sqlite3.Error as error:
            if not left or not any(sign in str(error) for sign in _MADE_BY_ANOTHER):
                raise
            await asyncio.sleep(0.05)
        else:
            return
