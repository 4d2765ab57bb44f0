"""The tables of the sources, as their list names them; SQL about them; and what a query's answer says.

Questions to a table in SQL, each with the sentences that its answer makes.

Which questions the shape of a table makes sensible.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodes.llm.offline.words import joined, terms

Row = dict[str, str]

_TABLE = re.compile(r"\btable (?P<name>\"[^\"]+\"|\S+) \(")
_FILE = re.compile(r"^(?P<file>.+?): ")
_COLUMN = re.compile(
    r"(?P<name>\"(?:[^\"]|\"\")+\"|[^,\"]+?) "
    r"(?P<kind>[A-Z][A-Z_0-9]*(?:\(\d+(?:, ?\d+)?\))?(?: WITH TIME ZONE)?(?:\[\])?)(?:, |$)"
)
_NUMERIC = re.compile(r"^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC)")
_TIME = re.compile(r"(?:^|_)(?:year|date|month|quarter|day|week|period|as_of)(?:$|_)|^(?:fy|yr)$", re.IGNORECASE)
_KEY = re.compile(r"(?:^|_)(?:id|key|rank|no|nr|number|index|zip|code|phone|lat|lon)$", re.IGNORECASE)
_NOT_ADDED = re.compile(
    r"rate|percent|pct|share|price|cost_per|rating|score|cagr|avg|average|mean|median|ratio|growth|_per_|index|version|"
    r"temp|level|latency|duration|seconds|_ms$|age$|size",
    re.IGNORECASE,
)
_LONG_TEXT = re.compile(r"url|link|note|comment|description|remark|source|summary|detail|text", re.IGNORECASE)
_NAMING = re.compile(
    r"name|vendor|company|product|framework|title|model|item|segment|category|country|region|city", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column and DuckDB's type of it."""

    name: str
    kind: str

    @property
    def sql(self) -> str:
        """The name, quoted for SQL."""
        return '"' + self.name.replace('"', '""') + '"'

    @property
    def words(self) -> str:
        """The name as one says it."""
        return self.name.replace("_", " ").strip()

    @property
    def is_time(self) -> bool:
        """Whether it says when: a year, a date."""
        return bool(_TIME.search(self.name)) or self.kind.startswith(("DATE", "TIMESTAMP"))

    @property
    def is_measure(self) -> bool:
        """Whether it holds amounts: numbers that are neither years nor keys."""
        return bool(_NUMERIC.match(self.kind)) and not self.is_time and not _KEY.search(self.name)

    @property
    def adds_up(self) -> bool:
        """Whether a sum over rows means something: not of rates, prices, shares, scores."""
        return self.is_measure and not _NOT_ADDED.search(self.name)

    @property
    def is_text(self) -> bool:
        """Whether it holds words."""
        return self.kind.startswith(("VARCHAR", "TEXT", "ENUM"))

    @property
    def names_things(self) -> int:
        """How much it looks like the column that says what a row is about."""
        return self.is_text * (1 + 2 * bool(_NAMING.search(self.name)) - 2 * bool(_LONG_TEXT.search(self.name)))


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the sources."""

    file: str
    name: str
    columns: tuple[Column, ...]

    @property
    def label(self) -> str:
        """What a figure computed from it is cited as."""
        return f"[{self.file}#table]"

    @property
    def sql(self) -> str:
        """The name, quoted for SQL."""
        return '"' + self.name.replace('"', '""') + '"'

    def relevance(self, wanted: Sequence[str]) -> int:
        """How many of the wanted stems its names speak of."""
        own = set(
            terms(" ".join([self.file, self.name, *(c.name for c in self.columns)]).replace("_", " ").replace("/", " "))
        )
        return len(own & set(wanted))


def tables_in(lines: Sequence[str]) -> list[Table]:
    """The tables named in the list of sources, in order."""
    found = []
    for line in lines:
        file = _FILE.match(line)
        for match in _TABLE.finditer(line):
            if file:
                columns = _columns(_bracketed(line[match.end() :]))
                found.append(Table(file["file"], match["name"].strip('"'), columns))
    return [table for table in found if table.columns]


def rows_in(answer: str) -> list[Row]:
    """The rows of the Markdown table in a query's answer; empty cells and NULLs as empty text."""
    lines = [line.strip() for line in answer.splitlines() if line.strip().startswith("|")]
    if len(lines) < 2:
        return []
    header, rule, *body = (_cells(line) for line in lines)
    if not all(re.fullmatch(r":?-+:?", cell) for cell in rule):
        return []
    return [dict(zip(header, cells, strict=False)) for cells in body]


def number(text: str) -> float | None:
    """The number in a cell, if it holds one."""
    try:
        return float(text.replace(",", "").replace("_", "")) if text else None
    except ValueError:
        return None


def shown(value: float) -> str:
    """A number as one writes it: thousands set apart, no more decimals than it needs."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return (
        f"{value:,.0f}"
        if abs(value) >= 1000
        else f"{value:.2f}".rstrip("0").rstrip(".")
        if abs(value) >= 1
        else f"{value:.3g}"
    )


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(m["name"].strip().strip('"').replace('""', '"'), m["kind"]) for m in _COLUMN.finditer(text))


def _bracketed(text: str) -> str:
    """What stands before the bracket that closes the one already open; brackets in quoted names do not count."""
    depth, inside = 1, False
    for place, character in enumerate(text):
        inside ^= character == '"'
        depth += 0 if inside else (character == "(") - (character == ")")
        if depth == 0:
            return text[:place]
    return text


def _cells(line: str) -> list[str]:
    cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
    return ["" if cell in ("NULL", "None", "nan") else cell for cell in cells]


@dataclass(frozen=True, slots=True)
class Question:
    """SQL, and what to say about its rows."""

    sql: str
    sentences: Callable[[list[Row]], list[str]]


def ranking(table: Table, label: Column, measure: Column, lowest: bool) -> Question:
    """The five rows with the most (or least) of a measure."""
    order, word = ("ASC", "Lowest") if lowest else ("DESC", "Highest")
    sql = (
        f"SELECT {label.sql} AS name, {measure.sql} AS value FROM {table.sql} WHERE {measure.sql} IS NOT NULL "
        f"AND {label.sql} IS NOT NULL ORDER BY value {order}, name LIMIT 5"
    )

    def said(rows: list[Row]) -> list[str]:
        pairs = [f"{_named(row)} ({_value(row['value'])})" for row in rows]
        return [f"{word} {measure.words} in {table.name}: {joined(pairs)}."] if len(pairs) > 1 else []

    return Question(sql, said)


def grouping(table: Table, group: Column, measure: Column) -> Question:
    """A measure by group: added up where that means something, else the average."""
    function, word = ("sum", "total") if measure.adds_up else ("avg", "average")
    sql = (
        f"SELECT {group.sql} AS name, count(*) AS n, {function}({measure.sql}) AS value FROM {table.sql} "
        f"WHERE {group.sql} IS NOT NULL GROUP BY name ORDER BY value DESC NULLS LAST, name LIMIT 8"
    )

    def said(rows: list[Row]) -> list[str]:
        pairs = [
            f"{_named(row)} {_value(row['value'])} ({row['n']} {'row' if row['n'] == '1' else 'rows'})"
            for row in rows
            if row["value"]
        ]
        return [f"{capital(word)} {measure.words} by {group.words}: {joined(pairs)}."] if len(pairs) > 1 else []

    return Question(sql, said)


def counting(table: Table, group: Column) -> Question:
    """How many rows each group has."""
    sql = f"SELECT {group.sql} AS name, count(*) AS n FROM {table.sql} GROUP BY name ORDER BY n DESC, name LIMIT 8"

    def said(rows: list[Row]) -> list[str]:
        pairs = [f"{_named(row)} ({row['n']})" for row in rows]
        return [f"Rows of {table.name} by {group.words}: {joined(pairs)}."] if pairs else []

    return Question(sql, said)


def change(table: Table, time: Column, measure: Column, by: Column | None) -> Question:
    """First to last value; of each thing apart where the table has a series for each, never added up across them."""
    what = f"{by.sql} AS name, " if by else ""
    sql = (
        f"SELECT {what}min({time.sql}) AS since, arg_min({measure.sql}, {time.sql}) AS first, "
        f"max({time.sql}) AS until, "
        f"arg_max({measure.sql}, {time.sql}) AS last, count(DISTINCT {time.sql}) = count(*) AS series FROM {table.sql} "
        f"WHERE {measure.sql} IS NOT NULL AND {time.sql} IS NOT NULL"
        + (
            " GROUP BY name HAVING since < until ORDER BY last / nullif(first, 0) DESC NULLS LAST, name LIMIT 6"
            if by
            else ""
        )
    )
    return Question(sql, lambda rows: [s for row in rows if (s := _changed(row, measure, by is not None))])


def _changed(row: Row, measure: Column, named: bool) -> str:
    first, last = number(row.get("first", "")), number(row.get("last", ""))
    if first is None or last is None or row.get("since") == row.get("until") or row.get("series", "").lower() != "true":
        return ""
    since, until = number(row["since"]), number(row["until"])
    what = f"{capital(measure.words)} of {row['name']}" if named else capital(measure.words)
    if first == last:
        return f"{what} stayed at {shown(first)} from {row['since']} to {row['until']}."
    verb = "rose" if last > first else "fell"
    percent = (
        f", {'up' if last > first else 'down'} {shown(abs(round(100 * (last / first - 1), 1)))} %" if first > 0 else ""
    )
    years = until - since if since and until and 1900 <= since < until <= 2200 else 0
    yearly = (
        f" ({shown(round(100 * ((last / first) ** (1 / years) - 1), 1))} % a year)"
        if years > 1 and first > 0 < last
        else ""
    )
    return f"{what} {verb} from {shown(first)} in {row['since']} to {shown(last)} in {row['until']}{percent}{yearly}."


def lookup(table: Table, label: Column, looked_up: list[str]) -> Question:
    """The rows whose name is one that was asked for."""
    tests = " OR ".join(f"{label.sql} ILIKE '%{name.replace(chr(39), chr(39) * 2)}%'" for name in looked_up[:4])
    shown_columns = [c for c in table.columns if not (c.is_text and c.names_things < 0)][:8]
    picked = ", ".join(c.sql for c in shown_columns)

    def said(rows: list[Row]) -> list[str]:
        return [_row_said(row, label, table) for row in rows]

    return Question(f"SELECT {picked} FROM {table.sql} WHERE {tests} ORDER BY {label.sql} LIMIT 4", said)


def _row_said(row: Row, label: Column, table: Table) -> str:
    rest = [f"{Column(key, '').words} {_value(value)}" for key, value in row.items() if key != label.name and value]
    return f"{row.get(label.name, '')} in {table.name}: {'; '.join(rest)}."


def _named(row: Row) -> str:
    """What a row is called; in quotation marks where a list would not show where it ends."""
    name = row["name"] or "none"
    return f"“{name}”" if "," in name else name


def _value(text: str) -> str:
    value = number(text)
    return shown(value) if value is not None and not (text.isdigit() and len(text) == 4) else text


def capital(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]


MOST_MEASURES = 3
"""Numeric columns looked at."""
FEW = 12
"""A column of at most this many different words groups the rows; one of more names them."""


def profile(table: Table, wanted: list[str]) -> Question:
    """How many rows there are, how many different words in each text column, and the range of each measure."""
    parts = ["count(*) AS n"]
    parts += [f"count(DISTINCT {c.sql}) AS d{at}" for at, c in enumerate(table.columns) if c.is_text or c.is_time]
    for at, column in enumerate(table.columns):
        if column.is_measure:
            parts += [f"{f}({column.sql}) AS {f}{at}" for f in ("min", "max", "avg", "sum")]
    return Question(f"SELECT {', '.join(parts)} FROM {table.sql}", lambda rows: _profiled(table, rows, wanted))


def plain(table: Table) -> list[Question]:
    """The simplest questions, for a table whose profile failed."""
    return [Question(f"SELECT count(*) AS n FROM {table.sql}", lambda rows: _profiled(table, rows, []))]


def details(table: Table, counts: Row, wanted: list[str], lowest: bool, looked_up: list[str]) -> list[Question]:
    """The questions that the profile makes sensible: top rows, groups, change over time, rows that are named."""
    measures = [c for c in _measures(table, wanted) if not _holds_years(table, c, counts)][:MOST_MEASURES]
    label, group, time = _label(table, counts), _group(table, counts, wanted), _time(table, counts)
    found: list[Question] = []
    if label and measures and not _repeats(label, table, counts):
        found += [ranking(table, label, measure, lowest) for measure in measures[:2]]
    if group and measures:
        found.append(grouping(table, group, measures[0]))
    elif group:
        found.append(counting(table, group))
    if time and measures:
        by = label if label and _repeats(label, table, counts) else None
        found.append(change(table, time, measures[0], by))
    if looked_up and label:
        found.append(lookup(table, label, looked_up))
    return found


def _measures(table: Table, wanted: list[str]) -> list[Column]:
    """Numeric columns, those that are asked for first."""
    columns = [column for column in table.columns if column.is_measure]
    return sorted(columns, key=lambda c: -_speaks_of(c, wanted))


def _speaks_of(column: Column, wanted: list[str]) -> int:
    return Table("", column.name, ()).relevance(wanted)


def _different(table: Table, column: Column, counts: Row) -> int:
    return int(number(counts.get(f"d{table.columns.index(column)}", "")) or 0)


def _label(table: Table, counts: Row) -> Column | None:
    """The column that says what a row is about."""
    texts = [c for c in table.columns if c.is_text and _different(table, c, counts) > 1]
    return max(texts, key=lambda c: (c.names_things, _different(table, c, counts)), default=None)


def _repeats(label: Column, table: Table, counts: Row) -> bool:
    """Whether the same thing has several rows, as in a series over time."""
    return _different(table, label, counts) < (number(counts.get("n", "")) or 0) * 0.9


def _holds_years(table: Table, column: Column, counts: Row) -> bool:
    """Whether a column that is not called so holds years."""
    at = table.columns.index(column)
    low, high = number(counts.get(f"min{at}", "")), number(counts.get(f"max{at}", ""))
    return low is not None and high is not None and low == int(low) and 1900 <= low <= high <= 2100


def _group(table: Table, counts: Row, wanted: list[str]) -> Column | None:
    """A text column that sorts the rows into a few groups, one that is asked for first."""
    rows = number(counts.get("n", "")) or 0
    texts = [c for c in table.columns if c.is_text and c.names_things > 0]
    fitting = [c for c in texts if 1 < _different(table, c, counts) <= min(FEW, rows * 0.6)]
    return max(fitting, key=lambda c: _speaks_of(c, wanted), default=None)


def _time(table: Table, counts: Row) -> Column | None:
    return next((c for c in table.columns if c.is_time and _different(table, c, counts) > 1), None)


def _profiled(table: Table, rows: list[Row], wanted: list[str]) -> list[str]:
    """The size of the table and the ranges of its numbers: of those that are asked for, where some are."""
    row = rows[0] if rows else {}
    count = number(row.get("n", ""))
    found = [f"The table {table.name} has {shown(count)} {'row' if count == 1 else 'rows'}."] if count else []
    asked = [column for column in _measures(table, wanted) if _speaks_of(column, wanted)]
    for at, column in enumerate(table.columns):
        if asked and column not in asked:
            continue
        low, high, mean, total = (number(row.get(f"{f}{at}", "")) for f in ("min", "max", "avg", "sum"))
        if low is None or high is None or mean is None or low == high:
            continue
        if _holds_years(table, column, row):
            found.append(f"{capital(column.words)} in {table.name} ranges from {low:.0f} to {high:.0f}.")
            continue
        end = f" and totals {shown(total)}" if column.adds_up and total is not None else ""
        what = f"{capital(column.words)} in {table.name}"
        found.append(f"{what} ranges from {shown(low)} to {shown(high)}, averages {shown(mean)}{end}.")
    return found
