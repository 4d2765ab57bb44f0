"""Rich consoles and tables, for terminals and for pipes."""

import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
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
    return _Screen(markup=False, highlight=False, emoji=False, width=None if sys.stdout.isatty() else WIDE)


def err() -> Console:
    """Progress, questions, warnings."""
    return _Screen(stderr=True, markup=False, highlight=False, emoji=False, width=None if sys.stderr.isatty() else WIDE)


def table(*columns: str) -> Table:
    """A table: ruled at a terminal, bare columns in a pipe."""
    box = SIMPLE_HEAD if sys.stdout.isatty() else None
    made = Table(box=box, pad_edge=False, show_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made
