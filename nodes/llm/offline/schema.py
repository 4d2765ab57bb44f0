"""Tables and columns as the list of sources names them, the cells that a question names, and answers in rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nodes.tools.words import keywords, stem

Row = dict[str, str]

MOST_TEXTS = 14
"""Columns whose cells are looked through."""
UNITS = frozenset("g kg mm cm m km in ft lb lbs usd eur s ms pct percent".split())  # noqa: SIM905
"""Last words of column names that say what is measured in."""
SMALL = UNITS | {"of", "per", "at", "the", "a"}

_NUMERIC = re.compile(r"^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC)")
_TIME = re.compile(r"^(?:year|date|month|quarter|day|week)$|^(?:DATE|TIMESTAMP)", re.IGNORECASE)
_NAMING = re.compile(r"name|vendor|company|product|framework|title|model|symbol|country|city", re.IGNORECASE)
_TABLE = re.compile(r"\btable (?P<name>\"[^\"]+\"|\S+) \(")
_FILE = re.compile(r"^(?P<file>.+?): ")
_COLUMN = re.compile(
    r"(?P<name>\"(?:[^\"]|\"\")+\"|[^,\"]+?) "
    r"(?P<kind>[A-Z][A-Z_0-9]*(?:\(\d+(?:, ?\d+)?\))?(?: WITH TIME ZONE)?(?:\[\])?)(?:, |$)"
)
_WORD = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z0-9])")


@dataclass(frozen=True, slots=True)
class Column:
    """A column and DuckDB's type of it."""

    name: str
    kind: str

    @property
    def sql(self) -> str:
        """The name, quoted for SQL."""
        return quoted(self.name)

    @property
    def said(self) -> str:
        """The name as one says it, with its unit in brackets."""
        name, _, last = self.name.strip("_ ").replace("_", " ").rpartition(" ")
        return f"{name} ({last})" if name and last.lower() in UNITS else f"{name} {last}".strip()

    @property
    def parts(self) -> list[str]:
        """The words of its name."""
        return [part.lower() for part in _PARTS.split(self.name) if part]

    @property
    def is_time(self) -> bool:
        """Whether it says when."""
        return any(_TIME.match(part) for part in self.parts) or bool(_TIME.match(self.kind))

    @property
    def is_measure(self) -> bool:
        """Whether it holds amounts."""
        return bool(_NUMERIC.match(self.kind)) and not self.is_time

    @property
    def is_text(self) -> bool:
        """Whether it holds words."""
        return self.kind.startswith(("VARCHAR", "TEXT", "ENUM"))

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words name it."""
        return {word for word in wanted if any(alike(part, word) for part in self.parts if part not in SMALL)}

    def fit(self, wanted: Sequence[str]) -> float:
        """How well these words name it: words of its name that are asked for, less those that are not."""
        own = [part for part in self.parts if part not in SMALL]
        said = [part for part in own if any(alike(part, word) for word in wanted)]
        return len(said) - 0.2 * (len(own) - len(said)) if said else 0.0

    def equals(self, value: str) -> str:
        """The condition in SQL; of a date, its year."""
        return f"year({self.sql}) = {value}" if _TIME.match(self.kind) else f"{self.sql} = {literal(value)}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the sources."""

    file: str
    name: str
    columns: tuple[Column, ...]

    @property
    def label_of_figures(self) -> str:
        """What a figure computed from it is cited as."""
        return f"[{self.file}#table]"

    @property
    def sql(self) -> str:
        """The name, quoted for SQL."""
        return quoted(self.name)

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words its file, its name or its columns speak of; `car seats` speak of `Carseats`."""
        own = Column(f"{self.file.rpartition('.')[0]} {self.name}", "")
        pairs = {one + two: {one, two} for one, two in pairwise(wanted)}
        found: set[str] = set()
        for column in (own, *self.columns):
            found |= column.match(wanted)
            found = found.union(*(pairs[pair] for pair in pairs if stem(pair) in map(stem, column.parts)))
        return found

    def label(self, different: dict[str, int]) -> Column | None:
        """The column that says what a row is about, given the number of different cells in each."""
        texts = [c for c in self.columns if c.is_text and different.get(c.name, 2) > 1]
        return max(texts, key=lambda c: (bool(_NAMING.search(c.name)), different.get(c.name, 0)), default=None)

    def probe(self, question: str) -> str:
        """SQL for the cells that the question names, and the number of different cells in each column.

        The number is written as a letter, its logarithm: no figure of an answer is to be cited as computed here.
        """
        texts = [column for column in self.columns if column.is_text][:MOST_TEXTS]
        if not texts:
            return ""
        names, cells = ", ".join(literal(c.name) for c in texts), ", ".join(c.sql for c in texts)
        whole = literal(f" {' '.join(_WORD.findall(question.lower()))} ")
        said = [word.lower() for word in keywords(question).values() if len(word) > 2]
        single = ", ".join(literal(form) for word in said[:24] for form in (word, word.removesuffix("s"))) or "''"
        return (
            f"WITH cells AS (SELECT DISTINCT unnest([{names}]) AS col, unnest([{cells}]) AS cell FROM {self.sql}), "
            "keys AS (SELECT *, ' ' || trim(regexp_replace(lower(cell), '[^\\p{L}\\p{N}]+', ' ', 'g')) || ' ' AS key, "
            "count(*) OVER (PARTITION BY col) AS different FROM cells WHERE cell IS NOT NULL) "
            f"(SELECT col, cell, chr(97 + floor(log2(different))::INT) AS different, "
            f"contains({whole}, key) AS whole FROM keys "
            "WHERE length(key) > 2 AND "
            f"(whole OR key IN (' yes ', ' true ') OR list_has_any(string_split(key, ' '), [{single}])) "
            "ORDER BY whole DESC, length(cell) DESC, cell LIMIT 30) "
            "UNION ALL (SELECT col, NULL, chr(97 + floor(log2(count(*)))::INT), false FROM keys GROUP BY col)"
        )


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
    return [dict(zip(header, cells, strict=False)) for cells in body if len(cells) == len(header)]


def alike(part: str, word: str) -> bool:
    """Whether a part of a name and a word mean the same.

    One stem, one short for the other (`pop`, `exp`), or the end of it (`state`, `outstate`).
    """
    one, two = stem(part), stem(word)
    if one == two:
        return True
    short, long = sorted((one, two), key=len)
    is_short_for = long.startswith(short) and (len(short) >= 4 or (len(short) == 3 and short == part))
    return is_short_for or (len(word) >= 5 and part.endswith(word))


def different(row: Row) -> int:
    """About how many different cells the column of a row of `Table.probe` has: the power of two below."""
    return 1 << ord(row["different"]) - ord("a")


def is_named(name: str, wanted: Sequence[str]) -> bool:
    """Whether any of these words names a thing of that name."""
    return bool(Column(name, "").match(wanted))


def quoted(name: str) -> str:
    """A name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


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
    cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
    return ["" if cell in ("NULL", "None", "nan") else cell for cell in cells]
