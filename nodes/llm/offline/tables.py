"""The tables of the sources, as their list names them; SQL about them; and what a query's answer says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.llm.offline.words import terms

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
