"""Rich consoles and tables, for terminals and for pipes."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions, ConsoleOptions
from rich.table import Table

WIDE = 1000
"""Columns where there is no terminal: a pipe has no edge to cut at."""


class _Screen(Console):
    """A console that says so when nobody reads any more; Rich's own ends the process."""

    def on_broken_pipe(self) -> None:
        """Leave it to the door."""
        raise BrokenPipeError


def out() -> Console:
    """Results."""
    return _screen(sys.stdout)


def err() -> Console:
    """Progress, questions, warnings."""
    return _screen(sys.stderr)


def draws(stream: TextIO) -> bool:
    """Whether it is a terminal that can draw what it shows anew."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def _screen(stream: TextIO) -> Console:
    """Rich takes a terminal that cannot draw for one of 80 columns, unless it is told its size.

    Its own: where results go into a file, what is asked is still shown at the terminal.
    """
    made = _Screen(stderr=stream is sys.stderr, markup=False, highlight=False, emoji=False)
    if not stream.isatty():
        made.width = WIDE
    elif not draws(stream):
        made.size = _size_of(stream)
    return made


def _size_of(terminal: TextIO) -> ConsoleDimensions:
    """Its width and height in characters, or what COLUMNS and LINES say instead."""
    try:
        own = os.get_terminal_size(terminal.fileno())
    except (OSError, ValueError):
        own = os.terminal_size((0, 0))
    said = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    width, height = (int(one) if one.isdecimal() else size for one, size in zip(said, own, strict=True))
    return ConsoleDimensions(width or 80, height or 25)


LEAST_TEXT = 24
"""Characters that the widest column of a table keeps, at least, before another column is left out."""


class Listing:
    """A table: ruled at a terminal, bare columns in a pipe; where it is too wide, it goes without some columns."""

    def __init__(self, columns: Sequence[str], least: Sequence[str]) -> None:
        self._columns = columns
        self._least = least
        self._rows: list[Sequence[str]] = []

    def add_row(self, *cells: str) -> None:
        """Add a row."""
        self._rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """The table, as wide as it may be here."""
        box = SIMPLE_HEAD if sys.stdout.isatty() else None
        made = Table(box=box, pad_edge=False, show_edge=False)
        kept = self._fitting(options.max_width)
        for place in kept:
            made.add_column(self._columns[place], overflow="fold")
        for row in self._rows:
            made.add_row(*(row[place] for place in kept))
        yield made

    def _fitting(self, width: int) -> list[int]:
        """The columns that fit side by side, the widest of them narrowed; empty ones go first, then `least`."""
        natural = [
            max(cell_len(text) for text in (column, *(row[place] for row in self._rows)))
            for place, column in enumerate(self._columns)
        ]
        kept = [*range(len(self._columns))]
        empty = [place for place in kept if not any(row[place] for row in self._rows)]
        for place in (*empty, *(self._columns.index(name) for name in self._least)):
            widest = max(natural[one] for one in kept)
            needed = sum(natural[one] for one in kept) + 3 * (len(kept) - 1) - widest + min(widest, LEAST_TEXT)
            if needed <= width:
                break
            kept = [one for one in kept if one != place]
        return kept


def table(*columns: str, least: Sequence[str] = ()) -> Listing:
    """A table of these columns; `least`: those that a narrow screen goes without, the first of them first."""
    return Listing(columns, least)
