"""Tables wherever they stand: a file of rows, a page, a document, a mail; each row with the place to look for it."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from docx import Document as Word
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation
from xlsxwriter import Workbook

from nodes.tools.document import Found
from nodes.tools.readers.decoding import lines_of
from nodes.tools.readers.drawn import drawn, tables_in
from nodes.tools.readers.table import read_documents

HEAD, BASIC, TEAM = ("Plan", "Monthly fee"), ("Basic", "12 | 5"), ("Team", "49 EUR")
ROWS = (HEAD, BASIC, TEAM)
PIPES = "| Plan | Monthly fee |\n|---|---:|\n| Basic | 12 \\| 5 |\n| Team | 49 EUR |\n"
PAGE = (
    "<h1>Plans</h1><table><caption>All</caption><thead><tr><th>Plan</th><th>Monthly fee</th></tr></thead>"
    "<tr><td>Basic</td><td>12&nbsp;| <b>5</b></td></tr><tr><td>Team</td><td>49 EUR</td></tr></table>"
)
CHAPTER = {
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>',
    "c.opf": '<package><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>',
    "a.xhtml": PAGE,
}


def word() -> bytes:
    document, file = Word(), io.BytesIO()
    table = document.add_table(3, 2)
    for row, cells in zip(table.rows, ROWS, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.save(file)
    return file.getvalue()


def slides() -> bytes:
    deck, file = Presentation(), io.BytesIO()
    shape = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_table(3, 2, 0, 0, 9_000_000, 900_000)
    for row, cells in zip(shape.table.rows, ROWS, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    deck.save(file)
    return file.getvalue()


def workbook() -> bytes:
    file = io.BytesIO()
    with Workbook(file) as book:
        sheet = book.add_worksheet("2026")
        for number, cells in enumerate(ROWS):
            sheet.write_row(number, 0, cells)
    return file.getvalue()


def zipped(members: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


RECORDS = [dict(zip(HEAD, row, strict=True)) for row in (BASIC, TEAM)]
NOTES = {"cells": [{"cell_type": "markdown", "source": PIPES}], "nbformat": 4}
FRAME = (
    "+-------+-------------+\n| Plan  | Monthly fee |\n+=======+=============+\n| Basic | 12 \\|      |\n"
    "|       | 5           |\n+-------+-------------+\n| Team  | 49 EUR      |\n+-------+-------------+\n"
)
TERMINAL = (
    "+-------+-------------+\n| Plan  | Monthly fee |\n+-------+-------------+\n| Basic | 12 \\| 5     |\n"
    "| Team  | 49 EUR      |\n+-------+-------------+\n2 rows\n"
)
SIMPLE = (
    "=====  ===========\nPlan   Monthly fee\n=====  ===========\nBasic  12 |\n       5\n"
    "Team   49 EUR\n=====  ===========\n"
)
KINDS: dict[str, tuple[str, bytes, list[str]]] = {
    "a page on one line": ("a.html", PAGE.encode(), ["L1", "L1"]),
    "a page with a line a cell": ("a.html", PAGE.replace("><", ">\n<").encode(), ["L10-L12", "L15-L17"]),
    "Markdown": ("a.md", f"# Plans\n\n{PIPES}".encode(), ["L5", "L6"]),
    "Markdown without edges": (
        "a.md",
        b"Plan | Monthly fee\n--- | ---\nBasic | 12 \\| 5\nTeam | 49 EUR\n",
        ["L3", "L4"],
    ),
    "a frame": ("a.rst", FRAME.encode(), ["L4-L5", "L7"]),
    "a frame of a terminal": ("a.txt", TERMINAL.encode(), ["L4", "L5"]),
    "rules": ("a.rst", f"Plans\n\n{SIMPLE}".encode(), ["L6-L7", "L8"]),
    "CSV": ("a.csv", b"Plan;Monthly fee\nBasic;12 | 5\nTeam;49 EUR\n", ["r1", "r2"]),
    "a list in JSON": ("a.json", json.dumps({"n": 2, "plans": RECORDS}, indent=1).encode(), ["L4-L7", "L8-L11"]),
    "JSON on one line": ("a.json", json.dumps(RECORDS).encode(), ["L1", "L1"]),
    "JSON lines": ("a.jsonl", "\n".join(map(json.dumps, RECORDS)).encode(), ["L1", "L2"]),
    "Word": ("a.docx", word(), ["b2", "b3"]),
    "PowerPoint": ("a.pptx", slides(), ["s1", "s1"]),
    "a workbook": ("a.xlsx", workbook(), ["r1", "r2"]),
    "a mail": ("a.eml", f"Subject: Plans\nContent-Type: text/html\n\n{PAGE}\n".encode(), ["m1", "m1"]),
    "a book": ("a.epub", zipped(CHAPTER), ["h1", "h1"]),
    "a notebook": ("a.ipynb", json.dumps(NOTES).encode(), ["c1", "c1"]),
    "an archive": ("a.zip", zipped({"in/a.html": PAGE}), ["L1", "L1"]),
}


@pytest.mark.parametrize(("name", "data", "places"), KINDS.values(), ids=KINDS.keys())
def test_a_table_is_read_row_by_row_wherever_it_stands(
    name: str, data: bytes, places: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    (document,) = read_documents(Found(name, str(tmp_path / name), len(data), 0), 1_000_000)
    (listing,) = document.listings  # type: ignore[union-attr]

    assert [tuple(listing.header), *map(tuple, listing.rows)] == [*ROWS]
    assert [listing.place(at) for at in range(2)] == places
    assert listing.file == document.file
    assert all("49 EUR" in str(document.text_at(place)) for place in places[1:])  # type: ignore[union-attr]


def test_cells_over_rows_and_columns_stand_in_each_and_a_row_that_is_a_title_in_none(tmp_path: Path) -> None:
    page = (
        "<table><tr><th rowspan=2>Plan<th colspan=2>Terms<tr><th>Fee<th>Seats<tr><td colspan=3>Small"
        "<tr><td rowspan=2>Basic<td>12<td>1<tr><td>15<td>2<tr><td colspan=2>Team<td>10</table>"
        "<table><tr><td>alone</table><table><tr><td><table><tr><td>a<td>b<tr><td>1<td>2</table><td>x</table>"
    )
    (tmp_path / "a.html").write_text(page)
    (document,) = read_documents(Found("a.html", str(tmp_path / "a.html"), len(page), 0), 1_000_000)
    first, inner = document.listings  # type: ignore[union-attr]

    assert first.header == ["Plan", "Fee", "Seats"]
    assert first.rows == [["Basic", "12", "1"], ["Basic", "15", "2"], ["Team", "Team", "10"]]
    assert (inner.header, inner.rows) == (["a", "b"], [["1", "2"]])


@pytest.mark.parametrize(
    "text", ["a | b\nc | d\n", "```\n| a | b |\n| 1 | 2 |\n```\n", "|\n||\n", "+--+\n", "= =\n", "| a |\n| 1 |\n"]
)
def test_what_is_no_table_is_none(text: str) -> None:
    assert list(tables_in(lines_of(text), "L")) == []


CELL = (
    st.text("ab1 |:-=+\\", max_size=6).map(lambda text: " ".join(text.split())).filter(lambda text: text[-1:] != "\\")
)


@given(st.lists(st.tuples(CELL, CELL), min_size=2, max_size=5))
def test_rows_that_readers_draw_are_read_back_or_left_out(rows: list[tuple[str, str]]) -> None:
    read = [row for found in tables_in([f"{drawn(row)}\n" for row in rows], "b") for row in found.rows]
    assert all(tuple(cell or "" for cell in row) in rows for row in read)


@given(st.text("|+-=: ab\n`\\", max_size=80))
def test_any_text_is_looked_through_for_tables(text: str) -> None:
    lines = lines_of(text)
    for found in tables_in(lines, "L"):
        assert all(len(row) == len(found.header) for row in found.rows)
        assert len(found.places) == len(found.rows)
