"""Forgetting: what the steps of a finished run have left, a whole thread, and giving the space back.

Each thread is forgotten in one transaction, with the threads below it: those of graphs that are agents of its run.
"""

import sqlite3
from collections.abc import Sequence

from graph.sqlite.connection import Connection
from graph.sqlite.saver import THREADS_BELOW, THREADS_OF
from nodes.runtime.rows import Namespace

PAGES = 256
"""Pages given back in one transaction, 1 MB: others who write wait for no more."""

_STEPS = f"""
DELETE FROM {{table}} WHERE {THREADS_BELOW.format(":thread")} OR (
    thread_id = :thread AND (checkpoint_ns <> '' OR checkpoint_id < (
        SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = ''
    ))
)
"""
_THREAD = f"DELETE FROM {{table}} WHERE {THREADS_OF.format(':thread')}"
_ROWS = "DELETE FROM store WHERE prefix = :place OR (prefix > :place || '/' AND prefix < :place || '0')"
_ROW = "DELETE FROM store WHERE prefix = :place AND key = :key"


async def forget_steps(connection: Connection, thread_id: str, places: Sequence[Namespace]) -> None:
    """Keep of a thread only its last checkpoint; `places`: where the Store has what its steps have noted down."""
    await _all(connection, [(sql, {"thread": thread_id}) for sql in _on_tables(_STEPS)], places)


async def forget_thread(
    connection: Connection, thread_id: str, places: Sequence[Namespace], keys: Sequence[tuple[Namespace, str]]
) -> None:
    """Forget a thread: its checkpoints, what is below these `places` of the Store, and these single rows."""
    rows = [(_ROW, {"place": ".".join(place), "key": key}) for place, key in keys]
    await _all(connection, [*((sql, {"thread": thread_id}) for sql in _on_tables(_THREAD)), *rows], places)


async def give_space_back(connection: Connection) -> bool:
    """Make the file as small as what is in it; false where it is in use, and has to be rewritten whole for that.

    A file of a version before was not made to shrink bit by bit. Rewriting it makes it one that was.
    """
    return await connection.do(_give_back, connection)


async def size(connection: Connection) -> int:
    """Bytes of the file, without its log."""
    pages, _ = await connection.one("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()", {})
    return int(pages[0]) if pages else 0


def _give_back(connection: Connection) -> bool:
    file = connection.sqlite
    with connection.lock:
        if file.execute("PRAGMA auto_vacuum").fetchone()[0] == 0:
            return _rewrite(file)
        while file.execute("PRAGMA freelist_count").fetchone()[0]:
            file.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return True


def _rewrite(file: sqlite3.Connection) -> bool:
    if file.execute("SELECT 1 FROM store WHERE prefix GLOB 'leases.*' LIMIT 1").fetchone():
        return False
    try:
        file.execute("PRAGMA auto_vacuum=INCREMENTAL")
        file.execute("VACUUM")
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise
    return True


def _on_tables(sql: str) -> list[str]:
    return [sql.format(table=table) for table in ("writes", "checkpoints")]  # the first by what the second has


async def _all(
    connection: Connection, statements: Sequence[tuple[str, dict[str, str]]], places: Sequence[Namespace]
) -> None:
    def run() -> None:
        with connection.lock, connection.transaction(writes=True) as cursor:
            for sql, values in statements:
                cursor.execute(sql, values)
            for place in places:
                cursor.execute(_ROWS, {"place": ".".join(place)})

    await connection.do(run)
