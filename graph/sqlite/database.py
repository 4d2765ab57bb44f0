"""One SQLite file as a database of runs: LangGraph's checkpoints and its Store."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from graph.serializer import Serializer
from graph.settings import read_settings
from graph.sqlite import pruning
from graph.sqlite.connection import Connection, _check, _connected, connected_read_only, explained, open_connection
from graph.sqlite.lease import Leases
from graph.sqlite.saver import Saver
from graph.sqlite.store import Store
from nodes.runtime.clock import Clock
from nodes.runtime.rows import Namespace

SETUP_TRIES = 20
_MADE_BY_ANOTHER = ("UNIQUE constraint failed: store_migrations", "duplicate column", "already exists", "locked")


@dataclass(frozen=True)
class SqliteDatabase:
    """An open file."""

    address: Path
    connection: Connection
    checkpointer: Saver
    store: Store

    @property
    def queue(self) -> None:
        """A file is one machine's: nobody else could take a run from it."""

    @property
    def is_read_only(self) -> bool:
        """Whether only looking is possible."""
        return self.connection.is_read_only

    def leases(self, clock: Clock) -> Leases:
        """The leases of its threads."""
        return Leases(self.connection, clock)

    async def forget_steps(self, thread_id: str, places: Sequence[Namespace]) -> None:
        """Keep of a thread only its last checkpoint."""
        await pruning.forget_steps(self.connection, thread_id, places)

    async def forget_thread(
        self, thread_id: str, places: Sequence[Namespace], keys: Sequence[tuple[Namespace, str]]
    ) -> None:
        """Forget a thread: its checkpoints, what is below these places of the Store, and these single rows."""
        await pruning.forget_thread(self.connection, thread_id, places, keys)

    async def size(self) -> int:
        """Bytes of the file, without its log."""
        return await pruning.size(self.connection)

    async def give_space_back(self) -> bool:
        """Make the file as small as what is in it; false where it is in use, and has to be rewritten for that."""
        return await pruning.give_space_back(self.connection)


@asynccontextmanager
async def open_file(
    path: Path,
    synchronous: str = "NORMAL",
    over: type[BaseCheckpointSaver[str]] | None = None,
    *,
    read_only: bool = False,
) -> AsyncIterator[SqliteDatabase]:
    """Open or create the file; WAL, so that others can read while one writes. `read_only`: nothing is made or written.

    `over`: a class that its checkpointer is derived from first, to come before what that does.

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
            saver = cast(type[Saver], type(over.__name__, (over, Saver), {})) if over else Saver
            database = SqliteDatabase(path, own, saver(own, serializer), Store(own))
            if not read_only:
                await _set_up(database, own)
            yield database


async def _set_up(database: SqliteDatabase, own: Connection) -> None:
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
