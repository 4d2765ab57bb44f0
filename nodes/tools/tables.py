"""SQL over the tables of the sources: DuckDB in memory, closed off before the first row goes in.

Rows come from Python, so DuckDB never needs a file: it is opened without access to files, network or extensions and
with its settings locked. One statement that reads is run at a time, in a read-only transaction, and is stopped when
it takes too long.
"""

import json
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import duckdb

from nodes.tools.columns import ColumnType, cleaned, identifier, infer
from nodes.tools.document import Grid
from state.errors import ToolRefused

LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "memory_limit": "512MB",
    "threads": 2,
    "lock_configuration": True,
}
BATCH = 5000
"""Rows that go in at a time."""
SQL_CHARS = 8000
BRACKETS = 400
"""DuckDB's parser takes time that grows with the square of the open ones, and cannot be interrupted."""
SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the file it was loaded from."""

    name: str
    file: str
    columns: tuple[tuple[str, ColumnType], ...]
    rows: int

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self.columns)
        return f"{self.name} ({columns})"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a query returned."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool
    """More rows were there than asked for."""
    tables: list[str]
    """The files whose tables it used, in order."""


class Tables:
    """The tables of some files. May be used from any thread."""

    def __init__(self, grids: Mapping[str, Grid]) -> None:
        """Loads each file's grid. A table that does not fit is left out and named in `failed`."""
        self._connection = duckdb.connect(":memory:", config=LOCKED)
        weakref.finalize(self, self._connection.close)
        keywords = self._connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        )
        self._reserved = frozenset(str(row[0]).lower() for row in keywords.fetchall())
        self.failed: dict[str, str] = {}
        """Reasons by file."""
        self.by_file: dict[str, Table] = {}
        taken: set[str] = set()
        for file, grid in grids.items():
            self._add(file, grid, taken)

    def query(self, sql: str, limit: int = 50, *, seconds: float = SECONDS) -> QueryResult:
        """At most `limit` rows of one reading statement (SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE).

        Raises:
            ToolRefused: it does anything else, is not valid, or takes more than `seconds`.
        """
        statement = self._single_select(sql)
        cursor = self._connection.cursor()
        timer = threading.Timer(seconds, cursor.interrupt)
        timer.daemon = True
        timer.start()
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            cursor.execute(statement)
            columns = [str(column[0]) for column in cursor.description or []]
            rows = cursor.fetchmany(limit + 1)
        except duckdb.InterruptException:
            raise ToolRefused(f"the query took more than {seconds:g} s; aggregate or filter earlier") from None
        except (duckdb.Error, RuntimeError, ValueError, OverflowError) as error:
            raise ToolRefused(f"{_one_line(error)}; {self._known()}") from None
        finally:
            timer.cancel()
            cursor.close()
        return QueryResult(columns, rows[:limit], len(rows) > limit, self._used(sql))

    def _single_select(self, sql: str) -> str:
        """The one statement in `sql`, which only reads."""
        if len(sql) > SQL_CHARS:
            raise ToolRefused(f"the query has {len(sql)} characters, more than {SQL_CHARS}; shorten it")
        if sum(map(sql.count, "([{")) > BRACKETS:
            raise ToolRefused(f"the query has more than {BRACKETS} brackets; simplify it")
        try:
            sql.encode("utf-8")
            statements = duckdb.extract_statements(sql)
        except (duckdb.Error, ValueError, RuntimeError) as error:
            raise ToolRefused(f"{_one_line(error)}; {self._known()}") from None
        if len(statements) != 1:
            raise ToolRefused(f"give exactly one SQL statement, not {len(statements)}")
        if statements[0].type != duckdb.StatementType.SELECT:
            kind = statements[0].type.name
            allowed = "only SELECT, WITH, DESCRIBE, SHOW and SUMMARIZE"
            raise ToolRefused(f"{kind} is not allowed: {allowed}; {self._known()}")
        return sql

    def _used(self, sql: str) -> list[str]:
        """Files of the tables that a valid query names."""
        try:
            names = {name.lower() for name in duckdb.get_table_names(sql, connection=self._connection.cursor())}
        except duckdb.Error:
            names = set()
        used = [table.file for table in self.by_file.values() if table.name.lower() in names]
        return used or [t.file for t in self.by_file.values() if t.name.lower() in sql.lower()]

    def _known(self) -> str:
        tables = "; ".join(str(table) for table in self.by_file.values())
        return f"tables: {tables[:2000]}" if tables else "the sources have no tables (CSV, TSV, JSON lists of objects)"

    def _add(self, file: str, grid: Grid, taken: set[str]) -> None:
        inside: set[str] = set()
        names = [identifier(name, inside, self._reserved) for name in grid.header]
        kinds = [infer([row[column] for row in grid.rows]) for column in range(len(names))]
        table = identifier(PurePosixPath(file).stem, taken, self._reserved)
        columns = tuple(zip(names, kinds, strict=True))
        try:
            self._load(table, columns, grid.rows)
        except duckdb.Error as error:
            self._connection.execute(f'DROP TABLE IF EXISTS "{table}"')
            self.failed[file] = f"it can be read, but not loaded as a table ({_one_line(error)}); make it smaller"
            return
        self.by_file[file] = Table(table, file, columns, len(grid.rows))

    def _load(
        self, table: str, columns: Sequence[tuple[str, ColumnType]], rows: Sequence[Sequence[str | None]]
    ) -> None:
        defined = ", ".join(f'"{name}" {kind}' for name, kind in columns)
        self._connection.execute(f'CREATE TABLE "{table}" ({defined})')
        casts = ", ".join(f"CAST(cells[{at}] AS {kind})" for at, (_, kind) in enumerate(columns, start=1))
        cells = """(SELECT unnest(from_json(?, '[["VARCHAR"]]')) AS cells)"""
        insert = f'INSERT INTO "{table}" SELECT {casts} FROM {cells}'  # names made by `identifier`
        for start in range(0, len(rows), BATCH):
            batch = [
                [cleaned(cell, kind) for cell, (_, kind) in zip(row, columns, strict=True)]
                for row in rows[start : start + BATCH]
            ]
            self._connection.execute(insert, [json.dumps(batch, ensure_ascii=True)])


def _one_line(error: Exception) -> str:
    """The first paragraph of DuckDB's message; the rest draws arrows below the query."""
    return " ".join(str(error).split("\n\n")[0].split())[:300]
