"""Looking into a database file that may be damaged, and copying what can be read of it into a new one.

SQLite stops at the first page that it cannot read. Rows have numbers, so those behind it are asked for by number: a
range that fails is halved until what cannot be read is left over.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from graph.sqlite.connection import Connection

_STEP = ("thread_id", "checkpoint_ns", "checkpoint_id")
TABLES: dict[str, tuple[str, ...]] = {
    "checkpoints": (*_STEP, "parent_checkpoint_id", "type", "checkpoint", "metadata"),
    "writes": (*_STEP, "task_id", "idx", "channel", "type", "value", "task_path"),
    "store": ("prefix", "key", "value", "created_at", "updated_at"),
}
"""What has to be there, by table, as LangGraph 1.2 makes it."""
RANGE = 1 << 20
"""Rows that are looked for where the file does not say how many it has."""
PAGE = 64
UNREAD = 4096
"""Numbers in a row that cannot be read after which whole ranges are passed over: more than a page of the file holds."""


@dataclass
class Saved:
    """What became of the rows of a table."""

    rows: int = 0
    lost: int = 0
    """Rows that can be read, and are not what they should be."""
    gaps: int = 0
    """Places at which rows cannot be read, nor counted."""
    owners: set[str] = field(default_factory=set)
    """Threads, or namespaces of the Store, that have lost rows."""


def faults_of(file: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the file and its tables, one line each."""
    try:
        for (said,) in file.execute("PRAGMA quick_check(5)"):
            if said != "ok":
                yield f"the file is damaged: {' '.join(str(said).split())[:300]}"
    except sqlite3.Error as error:
        yield f"the file cannot be checked: {error}"
    for table, columns in TABLES.items():
        try:
            there = {row[1] for row in file.execute(f"PRAGMA table_info({table})")}
        except sqlite3.Error as error:
            yield f"the table {table} cannot be looked at: {error}"
            continue
        if missing := [column for column in columns if column not in there]:
            what = f"its columns {', '.join(missing)} are" if there else "it is"
            yield f"the table {table} is not as it should be: {what} missing; is this a database of Baton's?"


def threads_in(file: sqlite3.Connection) -> list[str]:
    """The threads that have checkpoints, in order; those below another one are left out."""
    found = file.execute("SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = '' ORDER BY 1").fetchall()
    names = [str(thread) for (thread,) in found]
    known = set(names)
    return [name for name in names if not any(name[:at] in known for at, char in enumerate(name) if char == "/")]


def save(damaged: sqlite3.Connection, copy: Connection) -> dict[str, Saved]:
    """Copy every row that can be read, and is what it should be, into an empty database; how many, by table."""
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    is_whole: dict[str, Callable[[dict[str, Any]], bool]] = {
        "checkpoints": lambda row: _is_checkpoint(serde, row),
        "writes": lambda row: _loads(serde, row["type"], row["value"]) is not _NOTHING,
        "store": _is_row,
    }
    done = {}
    with copy.lock, copy.transaction(writes=True) as cursor:
        for table, columns in TABLES.items():
            saved = done[table] = Saved()
            names = ", ".join(columns)
            insert = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
            for values in _rows(damaged, table, names, saved):
                row = dict(zip(columns, values, strict=True))
                if is_whole[table](row):
                    cursor.execute(insert, values)
                    saved.rows += 1
                else:
                    saved.lost += 1
                    saved.owners.add(str(row.get("thread_id") or row.get("prefix")))
    return done


def _rows(file: sqlite3.Connection, table: str, names: str, saved: Saved) -> Iterator[Sequence[Any]]:
    try:
        last = file.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0
    except sqlite3.Error:
        last = RANGE
    todo = [(first, min(first + PAGE, last + 1)) for first in range(1, last + 1, PAGE)][::-1]
    sql = f"SELECT {names} FROM {table} WHERE rowid >= ? AND rowid < ? LIMIT ?"  # else it looks for what comes next
    unread, passed = 0, range(0)
    while todo:
        first, end = todo.pop()
        try:
            found = file.execute(sql, (first, end, end - first)).fetchall()
        except sqlite3.Error as error:
            if "no such" in str(error):
                return
            if end - first > 1 and unread < UNREAD:
                middle = (first + end) // 2
                todo += [(middle, end), (first, middle)]
            else:
                saved.gaps += not unread
                unread += end - first
                passed = range(first, end)
            continue
        unread = int(len(passed) > 1)
        if unread:  # where the file can be read again: the end of what was passed over may be, too
            todo += [(number, number + 1) for number in passed]
        passed = range(0)
        yield from found


_NOTHING = object()


def _loads(serde: JsonPlusSerializer, kind: object, value: object) -> object:
    try:
        return serde.loads_typed((kind, value))  # type: ignore[arg-type] # a file may have anything there
    except Exception:  # noqa: BLE001 # whatever a row makes of the serializer, it cannot be read
        return _NOTHING


def _is_checkpoint(serde: JsonPlusSerializer, row: dict[str, Any]) -> bool:
    checkpoint = _loads(serde, row["type"], row["checkpoint"])
    is_one = isinstance(checkpoint, dict) and {"id", "channel_values", "channel_versions"} <= checkpoint.keys()
    try:
        return is_one and {"step", "source"} <= json.loads(row["metadata"]).keys()
    except (ValueError, TypeError, AttributeError):
        return False


def _is_row(row: dict[str, Any]) -> bool:
    try:
        return isinstance(json.loads(row["value"]), dict)
    except (ValueError, TypeError):
        return False
