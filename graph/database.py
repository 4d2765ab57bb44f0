"""Opening the database of runs, whatever it is: an SQLite file, or PostgreSQL."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Protocol, overload

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from graph.address import Address
from graph.lease import Leases
from graph.queue import Queue
from graph.sqlite.database import SqliteDatabase, open_file
from nodes.runtime.clock import Clock
from nodes.runtime.rows import Namespace
from state.errors import ExtraMissing


class Database(Protocol):
    """An open database."""

    @property
    def address(self) -> Address:
        """Where it is."""

    @property
    def checkpointer(self) -> BaseCheckpointSaver[str]:
        """Its checkpoints."""

    @property
    def store(self) -> BaseStore:
        """Its rows."""

    @property
    def is_read_only(self) -> bool:
        """Whether only looking is possible."""

    @property
    def queue(self) -> Queue | None:
        """Its runs that wait for workers; None where one machine has it for itself."""

    def leases(self, clock: Clock) -> Leases:
        """The leases of its threads: one process runs each at a time, and who lost it writes nothing more."""

    async def forget_steps(self, thread_id: str, places: Sequence[Namespace]) -> None:
        """Keep of a thread only its last checkpoint; `places`: where the Store has what its steps have noted down."""

    async def forget_thread(
        self, thread_id: str, places: Sequence[Namespace], keys: Sequence[tuple[Namespace, str]]
    ) -> None:
        """Forget a thread: its checkpoints, what is below these `places` of the Store, and these single rows."""

    async def size(self) -> int:
        """Bytes of what it keeps."""

    async def give_space_back(self) -> bool:
        """Make it as small as what is in it; false where that can't be done now."""


Over = type[BaseCheckpointSaver[str]]
"""A class that the checkpointer of a database is derived from first, to come before what that does."""


@overload
def open_database(
    address: Path, synchronous: str = "NORMAL", over: Over | None = None, *, read_only: bool = False
) -> AbstractAsyncContextManager[SqliteDatabase]: ...
@overload
def open_database(
    address: Address, synchronous: str = "NORMAL", over: Over | None = None, *, read_only: bool = False
) -> AbstractAsyncContextManager[Database]: ...
def open_database(
    address: Address, synchronous: str = "NORMAL", over: Over | None = None, *, read_only: bool = False
) -> AbstractAsyncContextManager[Database]:
    """Open the database, and make what is missing in it. `synchronous` is for files alone.

    `over`: a class that its checkpointer is derived from first. `read_only`: nothing is made or written.

    Raises:
        DatabaseUnusable: it cannot be opened, or is something else; says what to do.
        ExtraMissing: it is PostgreSQL, and its libraries are not installed.
        SettingsInvalid: the key that encrypts checkpoints is none, or cannot be used there.
    """
    if isinstance(address, Path):
        return open_file(address, synchronous, over, read_only=read_only)
    try:
        opening = import_module("graph.postgres.database").open_postgres
    except ModuleNotFoundError as missing:
        raise ExtraMissing("databases on PostgreSQL", "postgres") from missing
    opened: AbstractAsyncContextManager[Database] = opening(address, over, read_only=read_only)
    return opened
