"""CSV and TSV: rows, numbered from 1 after the header. A file that is no table is read as text."""

import csv
import re
from collections.abc import Sequence

from nodes.tools.document import Document, Grid, TableDocument
from nodes.tools.readers.decoding import decode, lines_of
from nodes.tools.readers.drawn import COLUMNS, named_columns
from nodes.tools.readers.plain import text_document

DELIMITERS = ",;\t|"
SAMPLE_LINES = 50
ROW_LINES = 200
"""A row of more lines is an open quote, not a row."""
TITLES = 5
"""Rows that may stand above the names of the columns."""
UNITS = 2
"""Rows that may stand below them, before the first row of the table."""
_FIGURE = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)? ?%?")
_MISSING = frozenset(("", "na", "n/a", "nan", "none", "null", "nil", "-", "--", "?", "unknown", "missing"))


def read_delimited(file: str, data: bytes) -> Document:
    """A table, or a text document when it is not one.

    Raises:
        Unreadable: it is not text, or there is nothing in it.
    """
    text = decode(data)
    return _table(file, lines_of(text)) or text_document(file, text)


def _table(file: str, lines: Sequence[str]) -> TableDocument | None:
    try:
        parsed = _rows(lines, _delimiter(lines))
    except csv.Error:
        return None
    above = _titles([cells for _, cells in parsed])
    if len(parsed) - above < 2 or not _is_regular([cells for _, cells in parsed[above:]]):
        return None
    names = [parsed[above][1][0].lstrip("# ") or "#", *parsed[above][1][1:]]
    top = above + 1 + _units([cells for _, cells in parsed[above + 1 :]])
    head, body = "".join(raw for raw, _ in parsed[:top]), parsed[top:]
    width = max(len(cells) for _, cells in parsed[above:])
    header = named_columns(names, width)
    rows = [_padded(cells, width) for _, cells in body]
    return TableDocument(file, "table", "r", [raw for raw, _ in body], (), Grid(header, rows), head=head)


def _delimiter(lines: Sequence[str]) -> str:
    """The delimiter that gives the most lines as many columns as the first below the titles, and more than one."""

    def agreement(delimiter: str) -> tuple[int, int]:
        rows = [cells for cells in csv.reader(lines[:SAMPLE_LINES], delimiter=delimiter) if any(map(str.strip, cells))]
        widths = [len(cells) for cells in rows[_titles(rows) :]]
        return (widths.count(widths[0]), widths[0]) if widths and widths[0] > 1 else (0, 0)

    return max(DELIMITERS, key=agreement)


def _rows(lines: Sequence[str], delimiter: str) -> list[tuple[str, list[str]]]:
    """Each row that is not blank, with the lines it stands on."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    found: list[tuple[str, list[str]]] = []
    before = 0
    for cells in reader:
        raw = "".join(lines[before : reader.line_num])
        if reader.line_num - before > ROW_LINES or len(cells) > COLUMNS:
            raise csv.Error("not a row")
        before = reader.line_num
        if any(cell.strip() for cell in cells):
            found.append((raw, cells))
    if found and found[-1][0].count('"') % 2:
        raise csv.Error("a quote is not closed")
    return found


def _is_regular(rows: Sequence[Sequence[str]]) -> bool:
    """Whether most rows have as many cells as the header, or none more and most more than half: prose does neither."""
    width = len(rows[0])
    is_filled = width > 2 and all(1 < len(cells) <= width for cells in rows)  # its empty cells at the end are left out
    return sum(2 * len(cells) > width if is_filled else len(cells) == width for cells in rows) * 2 > len(rows)


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the names of the columns: remarks, or those with one cell, where wider ones follow.

    The last remark (`# town;lamps`) has the names where it has as many cells as the row below it.
    """
    remarks = next((number for number, row in enumerate(rows) if row[0].lstrip()[:1] != "#"), 0)
    if remarks:
        return remarks - (len(rows[remarks - 1]) == len(rows[remarks]) > 1)
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows[: TITLES + 1]]
    names = next((number for number, row in enumerate(cells) if len(row) > 1), 0)
    is_names = max(map(len, cells), default=0) > 2 and not any(map(_FIGURE.fullmatch, cells[names]))
    return names if is_names else 0


def _units(rows: Sequence[Sequence[str]]) -> int:
    """How many rows below the names say units, or other names: words, where two columns have figures else."""
    below = rows[UNITS : UNITS + SAMPLE_LINES]

    def filled(some: Sequence[Sequence[str]], at: int) -> list[str]:
        return [cell for row in some if at < len(row) and (cell := row[at].strip()).lower() not in _MISSING]

    columns = range(max(map(len, rows[:UNITS]), default=0))
    amounts = [at for at in columns if (cells := filled(below, at)) and all(map(_FIGURE.fullmatch, cells))]
    told = [[cell for at in amounts for cell in filled([row], at)] for row in rows[:UNITS]]
    rest = (n for n, cells in enumerate(told) if len(cells) < 2 or any(map(_FIGURE.fullmatch, cells)))
    return next(rest, UNITS) if below else 0


def _padded(cells: Sequence[str], width: int) -> list[str | None]:
    return [*(cell.strip() or None for cell in cells), *[None] * (width - len(cells))]
