"""A source file once it is read: numbered units (lines, pages or rows) and the passages cut from them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from nodes.tools.passages import ENDINGS, Passage, place

Unit = Literal["L", "p", "r"]
Kind = Literal["text", "html", "pdf", "json", "table"]
UNIT_NAMES: dict[Unit, str] = {"L": "lines", "p": "pages", "r": "rows"}
PLACE = re.compile(r"(?P<unit>[Lpr])(?P<first>\d{1,9})(?:-(?P<again>[Lpr])(?P<last>\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Found:
    """A file to be read."""

    name: str
    """As labels have it: below its root, with `/`, without characters that a label cannot hold."""
    path: str
    """Where it really is, links resolved."""
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows and columns as they stand in a file: all text, None where a cell is missing."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | None]]


@dataclass(frozen=True)
class Document:
    """A file of numbered lines or pages."""

    file: str
    kind: Kind
    unit: Unit
    units: Sequence[str]
    """Each line with its line end, each page, or each row as it stands in the file."""
    cuts: Sequence[Passage] = ()
    """Its passages, in order (a table's are made on demand)."""
    grid: Grid | None = None
    """What can be loaded as a table, if anything."""

    @property
    def passages(self) -> Iterator[Passage]:
        """All passages in order."""
        return iter(self.cuts)

    def text(self, first: int, last: int) -> str:
        """Units `first` to `last` (from 1, inclusive) to the letter, without the last line end."""
        between = "\n" if self.unit == "p" else ""
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

    def last_of(self, where: str) -> int:
        """The last unit of a place of this document; 0 when there is no such place."""
        span = self._span(where)
        return span[1] if span else 0

    @property
    def size(self) -> str:
        """How long it is: `120 lines`."""
        name = UNIT_NAMES[self.unit]
        return f"{len(self.units)} {name[:-1] if len(self.units) == 1 else name}"

    def _span(self, where: str) -> tuple[int, int] | None:
        match = PLACE.fullmatch(where)
        if not match or match["unit"] != self.unit or match["again"] not in (None, self.unit):
            return None
        first = int(match["first"])
        last = int(match["last"] or first)
        return (first, last) if 1 <= first <= last <= len(self.units) else None

    @cached_property
    def _whole(self) -> str:
        return self.text(1, len(self.units))

    @cached_property
    def _flat(self) -> str:
        return _flat(self._whole)


@dataclass(frozen=True)
class TableDocument(Document):
    """A file of rows. Its passages show the cells with the names of their columns; its exact text is the raw rows."""

    head: str = ""
    """The header as it stands in the file."""

    @property
    def passages(self) -> Iterator[Passage]:
        """One passage a row."""
        return self.chunks(1, len(self.units))

    def chunks(self, first: int, last: int) -> Iterator[Passage]:
        """Rows `first` to `last`, one passage each."""
        for number in range(max(first, 1), min(last, len(self.units)) + 1):
            yield Passage(self.file, f"r{number}", self.shown(number))

    def shown(self, number: int) -> str:
        """Row `number` as people read it: `vendor: X; price: 3`."""
        grid = self.grid or Grid((), [()] * number)
        cells = zip(grid.header, grid.rows[number - 1], strict=True)
        return "; ".join(f"{name}: {_flat(cell)}" for name, cell in cells if cell) or "(empty)"

    def holds(self, quote: str) -> bool:
        """Also true for the header, and for a row (or part of one) the way it is shown."""
        if super().holds(quote) or (quote.strip() and quote in self.head):
            return True
        flat = _flat(quote)
        return bool(flat) and any(flat in self.shown(number) for number in range(1, len(self.units) + 1))


def _flat(text: str) -> str:
    return " ".join(text.split())
