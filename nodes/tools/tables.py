"""SQL over the tables of the sources, column types included: DuckDB in memory, closed off before the first row goes in.

Rows come from Python, so DuckDB never needs a file: it is opened without access to files, network or extensions and
with its settings locked. One statement that reads is run at a time, in a read-only transaction, and is stopped when
it takes too long. DuckDB looks whether it is to stop between two blocks of rows only, and keeps no account of the
memory of a list: so what makes a list of any length out of a number is refused, and lists come out as text, cut.
"""

import csv
import json
import re
import threading
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import duckdb

from nodes.tools.document import Grid
from state.citation import SHEET
from state.errors import ToolRefused

LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "memory_limit": "512MB",
    "threads": 2,
    "disabled_optimizers": "expression_rewriter",  # works out constants before anything can interrupt it
    "lock_configuration": True,
}
BATCH = 5000
"""Rows that go in at a time."""
SQL_CHARS = 8000
BRACKETS = 400
"""DuckDB's parser takes time that grows with the square of the open ones, and cannot be interrupted."""
SECONDS = 10.0
LISTED = 10_000
"""Characters of a list, a map or a struct that are given back."""
LIST_MAKERS = frozenset({"range", "generate_series", "list_resize", "array_resize"})
"""Functions that make a list as long as a number says; the first two make rows as well, after FROM."""

ColumnType = Literal["BOOLEAN", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]


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
            cursor.execute(_with_cut_lists(statement, cursor.execute(f"DESCRIBE {statement}").fetchall()))
            columns = [str(column[0]) for column in cursor.description or []]
            rows = cursor.fetchmany(limit + 1)
        except duckdb.InterruptException:
            raise too_slow(seconds) from None
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
        statement = _without_end(sql)
        tree = self._connection.cursor().execute("SELECT json_serialize_sql(?::VARCHAR)", [statement]).fetchone()
        if tree and (made := sorted(LIST_MAKERS & set(_functions_in(json.loads(tree[0]))))):
            raise ToolRefused(f"{made[0]}() may not make a list: take rows, as in SELECT i FROM range(10) AS r(i)")
        return statement

    def export(self, table: Table, path: Path) -> None:
        """Write a table as a CSV file."""
        found = self._connection.cursor().execute(f'SELECT * FROM "{table.name}"')  # a name made by `identifier`
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([name for name, _ in table.columns])
            while rows := found.fetchmany(BATCH):
                writer.writerows(rows)

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
        cells = [[row[column] for row in grid.rows] for column in range(len(names))]
        kinds = [infer(column) for column in cells]
        days = [days_in(_said(column)) if kind == "DATE" else {} for column, kind in zip(cells, kinds, strict=True)]
        table = identifier(_stem(file), taken, self._reserved)
        columns = tuple(zip(names, kinds, strict=True))
        try:
            self._load(table, columns, days, grid.rows)
        except duckdb.Error as error:
            self._connection.execute(f'DROP TABLE IF EXISTS "{table}"')
            self.failed[file] = f"it can be read, but not loaded as a table ({_one_line(error)}); make it smaller"
            return
        self.by_file[file] = Table(table, file, columns, len(grid.rows))

    def _load(
        self,
        table: str,
        columns: Sequence[tuple[str, ColumnType]],
        days: Sequence[Mapping[str, str]],
        rows: Sequence[Sequence[str | None]],
    ) -> None:
        """`days`: of each column, how its cells are to be written that say days in another way."""
        defined = ", ".join(f'"{name}" {kind}' for name, kind in columns)
        self._connection.execute(f'CREATE TABLE "{table}" ({defined})')
        casts = ", ".join(f"CAST(cells[{at}] AS {kind})" for at, (_, kind) in enumerate(columns, start=1))
        cells = """(SELECT unnest(from_json(?, '[["VARCHAR"]]')) AS cells)"""
        insert = f'INSERT INTO "{table}" SELECT {casts} FROM {cells}'  # names made by `identifier`
        for start in range(0, len(rows), BATCH):
            batch = [
                [
                    cleaned(day.get(cell or "", cell), kind)
                    for cell, day, (_, kind) in zip(row, days, columns, strict=True)
                ]
                for row in rows[start : start + BATCH]
            ]
            self._connection.execute(insert, [json.dumps(batch, ensure_ascii=True)])


def _stem(file: str) -> str:
    """What a table is called after: `prices` for prices.csv, `prices 2026` for a sheet of prices.xlsx."""
    sheet = SHEET.fullmatch(file)
    return f"{PurePosixPath(sheet['book']).stem} {sheet['sheet']}" if sheet else PurePosixPath(file).stem


def too_slow(seconds: float) -> ToolRefused:
    """The refusal of a query that takes too long."""
    return ToolRefused(f"the query took more than {seconds:g} s; aggregate or filter earlier")


def _without_end(sql: str) -> str:
    """The statement without the semicolons and comments that may follow it."""
    text = sql.encode()
    tokens = [at for at, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
    while tokens and text[tokens[-1] :].startswith(b";"):
        text = text[: tokens.pop()]
    return text.decode()


def _functions_in(tree: object) -> Iterator[str]:
    """The functions that a parsed statement calls for a value: not those that it takes rows from."""
    if isinstance(tree, list):
        for part in tree:
            yield from _functions_in(part)
    elif isinstance(tree, dict):
        if tree.get("type") == "FUNCTION":
            yield str(tree.get("function_name")).lower()
        is_table = tree.get("type") == "TABLE_FUNCTION"
        for name, part in tree.items():
            yield from _functions_in(part["arguments"] if is_table and name == "function" else part)


def _with_cut_lists(statement: str, described: Sequence[Sequence[Any]]) -> str:
    """The statement with its lists, maps and structs as text: in Python they would take many times the memory."""
    kinds = [str(row[1]) for row in described]
    is_nested = [kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "VARIANT")) for kind in kinds]
    if not any(is_nested):
        return statement
    columns = [f"c{at}" for at in range(len(kinds))]
    shown = (
        f"left(CAST({column} AS VARCHAR), {LISTED})" if nested else column
        for column, nested in zip(columns, is_nested, strict=True)
    )
    named = (f"""{what} AS "{row[0].replace('"', '""')}\"""" for what, row in zip(shown, described, strict=True))
    return f"SELECT {', '.join(named)} FROM ({statement}\n) AS found({', '.join(columns)})"  # names from DuckDB


def _one_line(error: Exception) -> str:
    """The first paragraph of DuckDB's message; the rest draws arrows below the query."""
    return " ".join(str(error).split("\n\n")[0].split())[:300]


NOTHING = frozenset(
    (
        "",
        "-",
        "–",
        "—",
        "?",
        ".",
        "..",
        "...",
        "*",
        "na",
        "n/a",
        "n.a.",
        "#n/a",
        "nil",
        "null",
        "none",
        "nan",
        "unknown",
    )
)
"""Cells that mean "no value" in a column of numbers or dates; in a column of text they are text."""
ODD = 100
"""One cell in so many, at most, of a column of numbers may be a word that says that there is no value."""
WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})")
"""No leading zeros: `00123` is a code, not a number."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_MARKED = re.compile(r"(?P<sign>[+-]?)(?P<before>[€$£¥]?) ?(?P<number>\d[\d,]*(?:\.\d+)?)(?: ?(?P<after>[%€$£]))?")
"""A number with its currency before it, or one of the two or a percent sign behind."""
_DIGIT = re.compile(r"\d")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WRITTEN = re.compile(r"[\w,./ -]{6,20}")
DAYS = (
    "%Y/%m/%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%b %d %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d %B %Y",
)
"""Other ways to write a day; the cells of a column are days where all can be read in just one of them."""
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")


def infer(cells: Sequence[str | None]) -> ColumnType:
    """The narrowest type that all cells of a column have, but for a few odd ones; VARCHAR when there are none."""
    values = _said(cells)
    if not values:
        return "VARCHAR"
    if all(value.lower() in ("true", "false") for value in values):
        return "BOOLEAN"
    bare = [*map(_unmarked, values)] if len(marks := {*map(_mark_of, values)}) == 1 and "" not in marks else values
    plain = [value.replace(",", "") if THOUSANDS.fullmatch(value) else value for value in bare]
    if all(WHOLE.fullmatch(value) for value in plain):
        return "BIGINT"
    if all(NUMBER.fullmatch(value) for value in plain):
        return "DOUBLE"
    if all(DAY.fullmatch(value) and _is_date(value) for value in values) or days_in(values):
        return "DATE"
    if all(MOMENT.fullmatch(value) and _is_time(value) for value in values):
        return "TIMESTAMP"
    return "VARCHAR"


def _said(cells: Sequence[str | None]) -> set[str]:
    """The cells that say something; without words where hardly any says one."""
    said = [cell for cell in cells if cell is not None and cell.lower() not in NOTHING]
    odd = [cell for cell in said if not _DIGIT.search(cell)]
    return {*said}.difference(odd if ODD * len(odd) <= len(said) else ())


def days_in(values: Collection[str]) -> dict[str, str]:
    """Days as ISO 8601 writes them, by how they are written here; nothing where that may be read in two ways, or none.

    `3/4/2024` alone may be the third or the fourth; beside `3/14/2024` it is the fourth of March.
    """
    read = [days for form in DAYS if (days := _read_as(form, values))]
    return read[0] if read and all(days == read[0] for days in read) else {}


def _read_as(form: str, values: Collection[str]) -> dict[str, str]:
    days: dict[str, str] = {}
    for value in values:
        try:
            read = datetime.strptime(value if _WRITTEN.fullmatch(value) else "", form)  # noqa: DTZ007 - of days only
            days[value] = read.date().isoformat()
        except ValueError:
            return {}
    return days


def cleaned(cell: str | None, kind: ColumnType) -> str | None:
    """The cell in the form that a cast to `kind` takes."""
    if cell is None or kind == "VARCHAR":
        return cell
    if cell.lower() in NOTHING or (kind != "BOOLEAN" and not _DIGIT.search(cell)):
        return None
    return _unmarked(cell).replace(",", "") if kind in ("BIGINT", "DOUBLE") else cell


def _mark_of(cell: str) -> str:
    """The currency or the percent sign of a number."""
    found = _MARKED.fullmatch(cell)
    return f"{found['before']}{found['after'] or ''}" if found else ""


def _unmarked(cell: str) -> str:
    found = _MARKED.fullmatch(cell)
    return f"{found['sign']}{found['number']}" if found else cell


def identifier(text: str, taken: set[str], reserved: frozenset[str] = frozenset()) -> str:
    """A name that needs no quotes in SQL, made from `text`; not in `taken` (lower case), to which it is added."""
    name = re.sub(r"\W+", "_", text.strip()).strip("_") or "column"
    if name[0].isdigit():
        name = f"c_{name}"
    if name.lower() in reserved:
        name += "_"
    chosen, number = name, 2
    while chosen.lower() in taken:
        chosen, number = f"{name}_{number}", number + 1
    taken.add(chosen.lower())
    return chosen


def _is_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
