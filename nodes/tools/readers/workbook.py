"""Workbooks (xlsx, xls, ods …) by python-calamine: each sheet a table, with the values that formulas had last.

Chosen over openpyxl, which reads xlsx alone and takes ten times as long, and DuckDB's extension, which is fetched from
the network. Nothing in a workbook is run: macros and links to other files are passed over.
"""

import datetime as dt
import io
from collections.abc import Iterator, Sequence
from typing import Any
from zipfile import ZipFile

from python_calamine import CalamineError, CalamineWorkbook

from nodes.tools.document import Document, Grid, Skipped, TableDocument
from nodes.tools.readers.decoding import Unreadable, storable
from nodes.tools.readers.drawn import COLUMNS, named_columns
from nodes.tools.readers.zipped import DAMAGED, OLE, open_zip

SHEETS = 200
"""More are not read."""
TITLES = 10
"""Rows that may stand above the names of the columns."""
MANIFEST = "META-INF/manifest.xml"
"""Where OpenDocument files say what of them is encrypted (OpenDocument 1.3, part 2, chapter 4)."""


def read_workbook(file: str, data: bytes) -> Iterator[Document | Skipped]:
    """Its sheets, each a table named `FILE/SHEET`; empty ones are passed over.

    Raises:
        Unreadable: damaged, protected by a password, or all of it is empty.
    """
    if data.startswith(b"PK"):
        with open_zip(data, "a workbook") as archive:
            if _is_locked(archive):
                raise Unreadable("it is protected by a password; save it without")
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        names = book.sheet_names
    except (CalamineError, ValueError, OSError) as error:
        if data.startswith(OLE):  # what has a password begins so, and what is old; both may be said to be damaged
            raise Unreadable("it is protected by a password, or damaged; save it anew without one") from error
        raise Unreadable("it is damaged, or no workbook; export it again") from error
    found = 0
    for name in names[:SHEETS]:
        try:
            sheet = _sheet(f"{file}/{_named(name)}", book, name)
        except (CalamineError, ValueError, OSError) as error:
            yield Skipped(f"{file}/{_named(name)}", f"the sheet cannot be read ({error}); save the workbook anew")
            continue
        if sheet:
            found += 1
            yield sheet
    if len(names) > SHEETS:
        yield Skipped(file, f"of its {len(names)} sheets only the first {SHEETS} are read; split it")
    if not found:
        raise Unreadable("all its sheets are empty; nothing to do")


def _is_locked(archive: ZipFile) -> bool:
    try:
        return b"encryption-data" in archive.read(MANIFEST)
    except (KeyError, *DAMAGED):
        return False


def _sheet(file: str, book: CalamineWorkbook, name: str) -> TableDocument | None:
    sheet = book.get_sheet_by_name(name)
    begin = sheet.start or (0, 0)
    cells = [[_text(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
    while cells and not any(cells[-1]):
        cells.pop()
    full = [number for number, row in enumerate(cells) if any(row)]
    if not full or len(cells[0]) > COLUMNS:
        return None
    above = _header(cells, full)
    top = full[0] if above is None else above + 1
    header = named_columns([] if above is None else [cell or "" for cell in cells[above]], len(cells[0]))
    lines = ["\t".join(cell or "" for cell in row).rstrip("\t") + "\n" for row in cells]
    head = "".join(lines[number] for number in full if number < top)
    body = cells[top:]
    return TableDocument(
        file, "table", "r", lines[top:], (), Grid(header, body), head=head, origin=(begin[0] + top + 1, begin[1] + 1)
    )


def _header(cells: Sequence[Sequence[str | None]], full: Sequence[int]) -> int | None:
    """The row of the columns' names: the first as wide as any, with rows below it; titles may stand above it."""
    widths = {number: sum(cell is not None for cell in cells[number]) for number in full}
    widest = max(widths.values())
    found = next(number for number in full if widths[number] == widest)
    is_header = found != full[-1] and full.index(found) < TITLES and (widest > 1 or found == full[0])
    return found if is_header else None


def _text(cell: Any) -> str | None:
    """A value as a CSV file would have it; whole numbers without a point, times as ISO 8601."""
    match cell:
        case None | "":
            return None
        case bool():
            return str(cell).lower()
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
        case dt.datetime():
            return cell.isoformat(" ")
        case dt.date() | dt.time():
            return cell.isoformat()
    return storable(str(cell)).strip() or None


def _named(sheet: str) -> str:
    return sheet.replace("/", "_")
