"""Tables of the sources: their columns, the cells that a question may name, and rows as a query gives them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.language.subjects import ERRANDS
from nodes.language.table_words import SENSE, alike, forms_of, initials_in
from nodes.language.words import keywords, stem, stems

Row = dict[str, str]
"""A row of a query's answer, by the names of its columns."""
FEW = 64
"""Different cells of a column, at most, for a part of one, or a word short for one, to name it."""
MOST_TEXTS = 14
"""Columns whose cells are looked through."""
UNITS = frozenset("g kg mg mm cm m km in ft lb lbs ml l ha kwh usd eur gbp s ms pct percent".split())  # noqa: SIM905
"""Last words of column names that say what is measured in."""
KEYS = frozenset(("id", "key", "uuid", "index", "zip", "phone"))
"""Words in the names of columns whose numbers are names."""
SMALL = UNITS | {"of", "per", "at", "the", "a", "is", "has"}
"""Parts of column names that say nothing by themselves."""

MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
PERIODS = {
    "year": "strftime({}, '%Y')",
    "quarter": "strftime({0}, '%Y-Q') || quarter({0})",
    "month": "strftime({}, '%Y-%m')",
    "weekday": "dayname({})",
}
"""Parts of a date that rows are grouped by, in SQL."""
CALENDAR = {
    "calendar month": "coalesce("
    "try_cast(regexp_extract({0}::VARCHAR, '^(?:\\d{{4}}-)?(\\d{{1,2}})(?:$|-)', 1) AS INT), "
    f"list_position({[month[:3].lower() for month in MONTHS]}, lower({{0}}::VARCHAR)[1:3]))",
    "calendar year": "regexp_extract({0}::VARCHAR, '\\d{{4}}')",
}
"""The month, 1 to 12, and the year of a cell that says a month in any way: `2025-04`, `Apr`, `April 2025`."""
_WRITTEN = {r"\d{4}": "%Y", r"\d{4}-\d\d-\d\d": "%Y-%m-%d", r"\D+ \d{4}": "%B %Y", r"\D+": "%B"}
"""How a date or a part of it is written, and the form that says so to DuckDB."""

_NUMERIC = re.compile(r"^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC)")
_TIME = re.compile(r"^(?:year|date|month|quarter|day|week)$|^(?:DATE|TIMESTAMP)", re.IGNORECASE)
_TABLE = re.compile(
    r"(?P<file>.+?): table (?P<name>\"[^\"]+\"|\S+) \((?P<columns>(?:\"(?:[^\"]|\"\")*\"|\([^()]*\)|[^\"()])*)\)"
)
_COLUMN = re.compile(
    r"(?P<name>\"(?:[^\"]|\"\")+\"|[^,\"]+?) "
    r"(?P<kind>[A-Z][A-Z_0-9]*(?:\(\d+(?:, ?\d+)?\))?(?: WITH TIME ZONE)?(?:\[\])?)(?:, |$)"
)
_TOLD = re.compile(r'(?:(?P<name>\w+) )?"(?P<told>[^"]*)"')
_CODES = re.compile(
    r"([\w.]+) ?= ?([^=;()]+)(?=,? [\w.]+ ?=|[;)]|$)|([\w.]+) \(([^()=]+)\)|(?:^|[:;] )([\w.]+), ([^;=]+)(?=;|$)|"
    r"(\d+) - (.+?)(?=,? \d+ - |$)"
)
WORD = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z0-9])|(?<=\d)(?=[A-Za-z]{2})")


@dataclass(frozen=True, slots=True)
class Column:
    """A column and DuckDB's type of it."""

    name: str
    kind: str
    told: str = ""
    """What a codebook says of it."""
    of: str = ""
    """The column of dates of which this is a part: its year, its month."""

    @property
    def sql(self) -> str:
        """The name, quoted for SQL; of a part of a date, what computes it."""
        return (PERIODS | CALENDAR)[self.name].format(quoted(self.of)) if self.of else quoted(self.name)

    @property
    def said(self) -> str:
        """The name as one says it, with its unit in brackets."""
        plain = re.sub(r"^c_(?=\d)", "", self.name)  # names that begin with a digit are given a letter
        name, _, last = plain.strip("_ ").replace("_", " ").rpartition(" ")
        return f"{name} ({last})" if name and last.lower() in UNITS else f"{name} {last}".strip()

    @property
    def parts(self) -> list[str]:
        """The words of its name."""
        return [part.lower() for part in _PARTS.split(self.name) if part]

    @property
    def own(self) -> list[str]:
        """The same without units and small words."""
        return [part for part in self.parts if part not in SMALL]

    @property
    def is_time(self) -> bool:
        """Whether it says when; hours per week say how much."""
        said = self.parts[: self.parts.index("per")] if "per" in self.parts else self.parts
        return any(_TIME.match(part) for part in (*said, self.kind))

    @property
    def is_date(self) -> bool:
        """Whether it holds dates."""
        return self.kind.startswith(("DATE", "TIMESTAMP"))

    @property
    def is_key(self) -> bool:
        """Whether its numbers are names."""
        return bool(KEYS & {*self.parts} or self.parts[-1:] in (["no"], ["nr"], ["code"]))

    @property
    def is_measure(self) -> bool:
        """Whether it holds amounts."""
        return bool(_NUMERIC.match(self.kind)) and not self.is_time and not self.is_key

    @property
    def is_real(self) -> bool:
        """Whether it holds amounts with digits after the point."""
        return self.kind.startswith(("DOUBLE", "FLOAT", "REAL", "DECIMAL"))

    @property
    def is_text(self) -> bool:
        """Whether it holds words."""
        return self.kind.startswith(("VARCHAR", "TEXT", "ENUM"))

    @property
    def codes(self) -> dict[str, list[str]]:
        """What its cells mean, by what is told: `1 = very poor, 2 = poor`, `A (applied) or B`, `F, female; M, male`."""
        found = [[part for part in one if part] for one in _CODES.findall(self.told) if not self.told.endswith("…")]
        return {code.lower(): stems(means) for code, means in found} if len(found) > 1 else {}

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words name it, or stand in what is told of it."""
        told = set(stems(self.told))
        return {word for word in wanted if stem(word) in told or any(alike(part, word) for part in self.own)}

    def is_counted_in(self, wanted: Sequence[str]) -> bool:
        """Whether it holds how many of them there are: `seats`, `seats_sold`, but no `seat_price` of seats."""
        own = self.own
        while len(own) > 1 and re.search(r"(?:ed|en|old|total|count|number|n)$", own[-1]):
            own.pop()
        return bool(own) and any(alike(own[-1], word) for word in wanted)

    def holds(self, word: str) -> str:
        """The condition in SQL that a cell has a word."""
        pattern = rf"(?i)(^|[^\pL\pN]){word}($|[^\pL\pN])"
        return f"regexp_matches({self.sql}, {literal(pattern)})"

    def within(self, bound: str) -> str:
        """The condition in SQL that it is above or below an amount, a time or another column; or that it is empty."""
        sign, _, value = bound.partition(" ")
        is_text = (self.of or self.is_date) and not value.startswith(('"', "NULL"))
        return f"{self.sql} {sign} {literal(value) if is_text else value}"

    def equals(self, value: str) -> str:
        """The condition in SQL; of a date also its year or its month: `2024`, `March`, `March 2024`."""
        forms = [form for written, form in _WRITTEN.items() if self.is_date and re.fullmatch(written, value)]
        shown = f"strftime({self.sql}, {literal(forms[0])})" if forms else self.sql
        return f"{shown} = {literal(value)}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the sources."""

    file: str
    name: str
    columns: tuple[Column, ...]
    told: str = ""
    """What a codebook says of it."""

    @property
    def named(self) -> Column:
        """What it is called, and its file, as words to be met."""
        return Column(f"{self.file.rpartition('.')[0]} {self.name}", "")

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words its file, its name or its columns speak of."""
        return set().union(*(column.match(wanted) for column in (self.named, *self.columns)))

    @property
    def periods(self) -> list[Column]:
        """The parts of its dates that no column is called by."""
        dates = [column for column in self.columns if column.is_date]
        called = {part for column in self.columns for part in column.parts}
        return [Column(part, "VARCHAR", of=date.name) for date in dates for part in PERIODS if part not in called]

    def probe(self, question: str) -> str:
        """SQL for the cells that the question may name, and of each column about how many different ones it has.

        The number is written as a letter, its logarithm: no figure of an answer is to be cited as computed here.
        `whole`: whether all of the cell stands in the question; of a column, whether its cells tell the rows apart.
        """
        texts = [column for column in self.columns if column.is_text][:MOST_TEXTS]
        said, table = content_of(question, self), quoted(self.name)
        meant = [*said, *(sense for word in said for sense in SENSE.get(stem(word), []))]
        flags = [column for column in self.columns if column.is_measure or column.kind == "BOOLEAN"]
        parts = [
            f"(SELECT {literal(c.name)} AS col, cell, 'b' AS different, true AS whole FROM (VALUES ('0'), ('1')) "
            f"flag(cell) WHERE (SELECT min({c.sql}::DOUBLE) = 0 AND max({c.sql}::DOUBLE) = 1 "
            f"AND count(DISTINCT {c.sql}) = 2 FROM {table}))"
            for c in [column for column in flags if column.match(meant)][:MOST_TEXTS]
        ]
        dates = [(literal(c.name), f"count(DISTINCT {c.sql})") for c in self.columns if c.is_date]
        parts += [
            f"(SELECT {name} AS col, NULL AS cell, chr(97 + floor(log2(greatest(1, {count})))::INT) AS different, "
            f"10 * {count} >= 9 * count(*) AS whole FROM {table})"
            for name, count in dates
        ]
        if not texts:
            return " UNION ALL ".join(parts)
        names, cells = ", ".join(literal(c.name) for c in texts), ", ".join(c.sql for c in texts)
        whole = literal(f" {' '.join(WORD.findall(question.lower()))} ")
        short = [cell.lower() for cell in initials_in(question)]
        asked = set(stems(question))
        short += [code for column in texts for code, means in column.codes.items() if asked.intersection(means)]
        meant_by = [*short, *(form for word in said for form in sorted(forms_of(word)))]
        forms = ", ".join(map(literal, meant_by[:90])) or "''"
        yes_or_no = ", ".join(literal(f" {cell} ") for cell in ("yes", "y", "true", "no", "n", "false"))
        named = (
            f"WITH cells AS (SELECT DISTINCT unnest([{names}]) AS col, unnest([{cells}]) AS cell FROM {table}), "
            "keys AS (SELECT *, count(*) OVER (PARTITION BY col) AS different, "
            "' ' || trim(regexp_replace(lower(cell), '[^\\p{L}\\p{N}]+', ' ', 'g')) || ' ' AS key, "
            "string_split(lower(regexp_replace(cell, '([a-z])([A-Z])', '\\1 \\2', 'g')), ' ') AS parts "
            "FROM cells WHERE cell <> '') "
            f"(SELECT col, cell, chr(97 + floor(log2(different))::INT) AS different, contains({whole}, key) whole "
            f"FROM keys WHERE length(key) > 2 AND (whole OR key IN ({yes_or_no}) OR "
            f"len(list_filter([{forms}], lambda form: contains(key, ' ' || form || ' ') "
            f"OR replace(key, ' ', '') = form OR different <= {FEW} AND length(form) > 3 AND "
            "(contains(key, ' ' || form) OR len(list_filter(parts, lambda part: length(part) > 2 AND "
            "starts_with(form, part))) > 0))) > 0) "
            "ORDER BY whole DESC, keys.different, length(cell) DESC, cell LIMIT 40)"
        )
        telling = (
            "(SELECT col, NULL, chr(97 + floor(log2(count(*)))::INT), "
            f"10 * count(*) >= 9 * (SELECT count(*) FROM {table}) FROM keys GROUP BY col)"
        )
        return " UNION ALL ".join([named, telling, *parts])


def tables_in(lines: Sequence[str]) -> list[Table]:
    """The tables named in the list of sources, in order."""
    found = []
    for match in filter(None, map(_TABLE.match, lines)):
        told = {one["name"]: one["told"] for one in _TOLD.finditer(match.string, match.end())}
        columns = [
            Column(name := one["name"].strip().strip('"').replace('""', '"'), one["kind"], told.get(name, ""))
            for one in _COLUMN.finditer(match["columns"])
        ]
        table = Table(match["file"], match["name"].strip('"'), tuple(columns), told.get(None, ""))
        found += [table] if columns else []
    return found


def rows_in(answer: str) -> list[Row]:
    """The rows of the Markdown table in a query's answer; empty cells and NULLs as empty text."""
    lines = [line.strip()[1:-1] for line in answer.splitlines() if line.strip().startswith("|")]
    cells = [[cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    if len(cells) < 2 or not all(re.fullmatch(r":?-+:?", cell) for cell in cells[1]):
        return []
    cleaned = [["" if cell in ("NULL", "None", "nan") else cell for cell in row] for row in cells[2:]]
    return [dict(zip(cells[0], row, strict=True)) for row in cleaned if len(row) == len(cells[0])]


def different(row: Row) -> int:
    """About how many different cells the column of a row of `Table.probe` has: the power of two below."""
    return 1 << ord(row["different"]) - ord("a")


def quoted(name: str) -> str:
    """A name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


def content_of(question: str, table: Table) -> list[str]:
    """The words of a question that say what is asked about; those of errands where a column is called so."""
    parts = {key for column in table.columns for key in (*map(stem, column.parts), *stems(column.told))}
    return [word.lower() for key, word in keywords(question).items() if word.lower() not in ERRANDS or key in parts]
