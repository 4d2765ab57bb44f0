"""One SQLite file for everything: LangGraph's checkpoints, and its Store."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph.connection import Connection, open_connection
from graph.saver import Saver
from graph.store import Store
from state.errors import DatabaseUnusable

BUSY_TIMEOUT_MS = 10_000
"""How long a write waits for another process's."""

SETUP_TRIES = 20
_MADE_BY_ANOTHER = ("UNIQUE constraint failed: store_migrations", "duplicate column", "already exists")


@dataclass(frozen=True)
class Database:
    """An open database."""

    path: Path
    connection: Connection
    checkpointer: Saver
    store: Store


@asynccontextmanager
async def open_database(path: Path, synchronous: str = "NORMAL", saver: type[Saver] = Saver) -> AsyncIterator[Database]:
    """Open or create the file; WAL, so that others can read while one writes.

    Raises:
        DatabaseUnusable: it is something else, its folder is missing or read-only, or the disk is full.
    """
    await asyncio.to_thread(_check, path)
    with explained(path):
        async with open_connection(lambda: _connected(path, synchronous)) as own:
            database = Database(path, own, saver(own), Store(own))
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


def _connected(path: Path, synchronous: str) -> sqlite3.Connection:
    """A connection to the file; every statement outside a transaction is one of its own."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    return connection


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors in words that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        if "not a database" in str(error):
            raise DatabaseUnusable(
                f"{path} is not a Baton database, or is damaged; give another file with --db"
            ) from error
        raise DatabaseUnusable(f"database {path} cannot be used: {error}; {_advice(error)}") from error


def _advice(error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text:
        return "free some space, then `baton resume` the run: what was finished is kept"
    if "readonly" in text or "unable to open" in text:
        return "give a file in a folder you can write to, with --db"
    if "locked" in text:
        return "another process holds it; try again when it is done"
    return "give another file with --db"


def _check(path: Path) -> None:
    """Refuse what cannot be a database.

    The file itself is not opened: closing it would drop the locks that this process has on it by other connections,
    and the next process to leave would delete the log they still write to (sqlite.org/howtocorrupt.html, section 2.2).
    """
    if path.is_dir():
        raise DatabaseUnusable(f"{path} is a folder; give a file with --db")
    if not path.parent.is_dir():
        raise DatabaseUnusable(f"folder {path.parent} does not exist; make it, or give another file with --db")
