"""A source file once it is read: numbered units (lines, pages or rows) and the passages cut from them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby
from typing import Literal

from nodes.language.words import stems
from nodes.tools.passages import ENDINGS, Passage, place
from state.citation import SPAN, UNITS
from state.quotation import APART, Match, Part, Wording
from state.text import counted

Unit = Literal["L", "p", "r", "b", "s", "h", "m", "c"]
"""See `state.citation.UNITS`."""
Kind = Literal["text", "html", "pdf", "json", "table", "prose", "slides", "book", "mail", "notebook", "picture"]
BY_SECTION = ("html", "prose")
"""Kinds whose numbers nobody sees: readers find a place by the headings above it."""
RUNNING: tuple[Unit, ...] = ("L", "r", "b")
"""Units that follow each other in one text; the others are texts of their own, such as pages."""
UNSAFE = re.compile(r"[\[\]#\x00-\x1f\x7f\ud800-\udfff]")
BREAK = "\v"
"""A line break that counts for no line: where a browser breaks a line of the file."""
BRIEF = 500
"""Characters of a row up to which a search shows all of it."""
FIRST_CELLS = 4
"""Cells of a longer one that say what the row is."""
SHOWN_ROWS = 5_000
"""Rows of a table in which a quotation is looked for the way they are shown."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to be read."""

    name: str
    """As labels have it: below its root, with `/`, without characters that a label cannot hold."""
    path: str
    """Where it really is, links resolved; an address where it is at one."""
    size: int
    version: int
    """Another one where the content has changed: the time, in nanoseconds, or what the storage says of it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out."""

    file: str
    reason: str
    """One line: why, and what to do."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows and columns as they stand in a file: all text, None where a cell is missing."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class Listing:
    """A table, row by row: a file that is one, or one that stands in a text."""

    file: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    places: Sequence[str] = ()
    """Of each row: in a text the lines, paragraphs, pages … that it takes; none in a file of numbered rows."""
    head: str = "r1"
    """The place of the header; above the first row of a file of rows."""

    def place(self, index: int) -> str:
        """The place of a row, counted from 0."""
        return self.places[index] if self.places else f"r{index + 1}"

    def within(self, where: str) -> "Listing":
        """The same in a text that is one unit of a file."""
        return replace(self, places=[where] * len(self.rows), head=where)


@dataclass(frozen=True, slots=True)
class Located:
    """Where a quotation stands."""

    file: str
    place: str
    """The lines, pages or rows that it takes."""
    quote: str
    """What stands there, to the letter."""
    found: Match
    cells: str = ""
    """Of a sheet: its cells (`=B7`)."""


@dataclass(frozen=True)
class Document:
    """A file of numbered units: lines, pages, slides and the like."""

    file: str
    kind: Kind
    unit: Unit
    units: Sequence[str]
    """Each line or paragraph with its line end, each page, or each row as it stands in the file."""
    cuts: Sequence[Passage] = ()
    """Its passages, in order (a table's are made on demand)."""
    grid: Grid | None = None
    """What can be loaded as a table, if anything."""
    inner: Sequence[Listing] = ()
    """The tables that stand in it."""

    @property
    def passages(self) -> Iterator[Passage]:
        """All passages in order."""
        return iter(self.cuts)

    @property
    def listings(self) -> Sequence[Listing]:
        """Its tables, row by row."""
        return [replace(one, file=self.file) for one in self.inner]

    def text(self, first: int, last: int) -> str:
        """Units `first` to `last` (from 1, inclusive) to the letter, without the last line end."""
        between = "" if self.unit in RUNNING else "\n"
        return between.join(self.units[first - 1 : last]).rstrip(ENDINGS)

    def text_at(self, where: str) -> str | None:
        """The exact text of a place such as `L12-L14`; None when there is no such place."""
        span = self._span(where)
        return self.text(*span) if span else None

    def chunks(self, first: int, last: int) -> Iterator[Passage]:
        """The passages of units `first` to `last`, cut off at these bounds."""
        for passage in self.passages:
            span = self._span(passage.place)
            if not span or span[1] < first or span[0] > last:
                continue
            inner = max(span[0], first), min(span[1], last)
            if inner == span:
                yield passage
            elif text := self.text(*inner).strip(ENDINGS):
                yield replace(passage, place=place(self.unit, *inner), text=text)

    def holds(self, quote: str) -> bool:
        """Whether `quote` stands in it, to the letter or else with white space taken as equal."""
        return bool(quote.strip()) and (quote in self._whole or _flat(quote) in self._flat)

    def find(self, parts: Sequence[Part], where: str = "") -> Located | None:
        """Where a quotation stands in it, or within the place `where`; None if nowhere."""
        span = self._span(where) if where else (1, len(self.units))
        if span is None:
            return None
        found = self._wording.find(parts, self._starts[span[0] - 1], self._starts[span[1]])
        if found is None:
            return None
        first, last = (bisect_right(self._starts, at) for at in (found.start, max(found.start, found.end - 1)))
        there = place(self.unit, first, min(last, len(self.units)))
        quote = self._whole[found.start : found.end].replace(BREAK, "\n")
        return Located(self.file, there, quote, found)

    @property
    def shows_sections(self) -> bool:
        """Whether a place is told by the headings above it, because nobody sees its number."""
        return self.kind in BY_SECTION

    def heading_at(self, where: str) -> Passage | None:
        """The passage in which a place begins; it knows the headings above."""
        span = self._span(where)
        if span is None or self.unit not in ("L", "b"):
            return None
        return next((cut for cut in self.cuts if (at := self._span(cut.place)) and at[0] <= span[0] <= at[1]), None)

    def last_of(self, where: str) -> int:
        """The last unit of a place of this document; 0 when there is no such place."""
        span = self._span(where)
        return span[1] if span else 0

    @property
    def size(self) -> str:
        """How long it is: `120 lines`."""
        return counted(len(self.units), UNITS[self.unit])

    def _span(self, where: str) -> tuple[int, int] | None:
        begin, _, end = where.partition("-")
        if not re.fullmatch(SPAN, where) or begin[0] != self.unit or (end and end[0] != self.unit):
            return None
        first = int(begin[1:])
        last = int(end[1:] or first)
        return (first, last) if 1 <= first <= last <= len(self.units) else None

    @cached_property
    def _whole(self) -> str:
        return self.text(1, len(self.units))

    @cached_property
    def _flat(self) -> str:
        return _flat(self._whole)

    @cached_property
    def _wording(self) -> Wording:
        return Wording(self._whole)

    @cached_property
    def _starts(self) -> list[int]:
        """Where each unit begins in the whole text, and where the last one ends."""
        gap = 0 if self.unit in RUNNING else 1
        return list(accumulate((len(unit) + gap for unit in self.units), initial=0))


@dataclass(frozen=True)
class TableDocument(Document):
    """A file of rows. Its passages show the cells with the names of their columns; its exact text is the raw rows."""

    head: str = ""
    """The header as it stands in the file."""
    origin: tuple[int, int] | None = None
    """Of a sheet: row (from 1) and column (from 1) of its first cell below the header."""

    @property
    def passages(self) -> Iterator[Passage]:
        """One passage a row."""
        return self.chunks(1, len(self.units))

    @property
    def listings(self) -> Sequence[Listing]:
        """Itself."""
        return [Listing(self.file, self.grid.header, self.grid.rows)] if self.grid else []

    def chunks(self, first: int, last: int) -> Iterator[Passage]:
        """Rows `first` to `last`, one passage each."""
        for number in range(max(first, 1), min(last, len(self.units)) + 1):
            yield Passage(self.file, f"r{number}", self.shown(number))

    def shown(self, number: int) -> str:
        """Row `number` as people read it: `vendor: X; price: 3`."""
        return "; ".join(self._named_cells(number)) or "(empty)"

    def brief(self, number: int, wanted: Iterable[str]) -> str:
        """The same; of a long row its first cells and those that have most of the `wanted` stems, `…` for others."""
        cells = self._named_cells(number)
        if sum(map(len, cells)) <= BRIEF:
            return self.shown(number)
        fitting = [len(set(wanted).intersection(stems(cell))) for cell in cells]
        best = sorted(filter(fitting.__getitem__, range(len(cells))), key=lambda at: -fitting[at])
        kept = set(best[:1])
        for at in [*range(min(FIRST_CELLS, len(cells))), *best]:
            if sum(len(cells[n]) for n in kept | {at}) <= BRIEF:
                kept.add(at)
        runs = groupby(range(len(cells)), kept.__contains__)
        said = ("; ".join(cells[at] for at in run) + ";" if is_kept else "…" for is_kept, run in runs)
        return " ".join(said).removesuffix(";")

    def _named_cells(self, number: int) -> list[str]:
        grid = self.grid or Grid((), [()] * number)
        cells = zip(grid.header, grid.rows[number - 1], strict=True)
        return [f"{name}: {_flat(cell)}" for name, cell in cells if cell]

    def find(self, parts: Sequence[Part], where: str = "") -> Located | None:
        """Also a row, or part of one, the way it is shown; and the names of the columns, which stand above row 1."""
        if located := super().find(parts, where):
            return replace(located, cells=self.cells(located.place, located.quote))
        first, last = (self._span(where) or (1, 0)) if where else (1, min(len(self.units), SHOWN_ROWS))
        for number in range(first, min(last, first + SHOWN_ROWS - 1) + 1):
            row = self._shown_wording(number)
            all_of_it = max(APART, len(row.text))
            if found := row.find([replace(one, apart=all_of_it) if one.apart == APART else one for one in parts]):
                pieces = filter(None, (row.find([one]) for one in parts))  # not the cells that were left out
                quote = " … ".join(self.shown(number)[piece.start : piece.end] for piece in pieces)
                return Located(self.file, f"r{number}", quote, found, self.cells(f"r{number}", quote))
        found = Wording(self.head).find(parts)
        return Located(self.file, "r1", self.head[found.start : found.end], found) if found else None

    def cells(self, where: str, quote: str = "") -> str:
        """The cells of a sheet that a place takes (`=A7:C7`), or the one of them that a quotation is (`=B7`)."""
        span = self._span(where)
        if self.origin is None or span is None:
            return ""
        (row, column), (first, last) = self.origin, span
        cells = self.grid.rows[first - 1] if self.grid else ()
        for at, (name, cell) in enumerate(zip(self.grid.header if self.grid else (), cells, strict=True)):
            if first == last and cell and quote in (_flat(cell), f"{name}: {_flat(cell)}"):
                return f"={_letters(column + at)}{row + first - 1}"
        left, right = (_letters(at) for at in (column, column + max(len(cells), 1) - 1))
        ends = dict.fromkeys([f"{left}{row + first - 1}", f"{right}{row + last - 1}"])
        return f"={':'.join(ends)}"

    def _shown_wording(self, number: int) -> Wording:
        """A row the way it is shown, made comparable once."""
        if number not in self._rows:
            self._rows[number] = Wording(self.shown(number))
        return self._rows[number]

    @cached_property
    def _rows(self) -> dict[int, Wording]:
        return {}

    def holds(self, quote: str) -> bool:
        """Also true for the header, and for a row (or part of one) the way it is shown."""
        if super().holds(quote) or (quote.strip() and quote in self.head):
            return True
        flat = _flat(quote)
        return bool(flat) and any(flat in self.shown(number) for number in range(1, len(self.units) + 1))


def safe_name(name: str) -> str:
    """A name without the characters that a label cannot hold."""
    return UNSAFE.sub("_", name)[-400:]


def _letters(column: int) -> str:
    """The name of a column of a sheet: `A` for 1, `AA` for 27."""
    name = ""
    while column:
        column, digit = divmod(column - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def _flat(text: str) -> str:
    return " ".join(text.split())
