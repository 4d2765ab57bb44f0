"""Where a claim comes from.

A label names a place in the sources in one word, so that a model can copy it: `[langgraph.md#L12-L14]` (lines),
`[study.pdf#p3]` (page), `[prices.csv#r2-r9]` (rows, the first after the header is 1), `[prices.csv#table]` (computed
from the whole table); `UNITS` has all letters. What lies in a file of many parts, such as a sheet or a file of an
archive, is named like a file in a folder: `[prices.xlsx/2026#r6]`. Tools hand labels out; results carry them; the
report turns them into numbered sources.
"""

import re

from pydantic import BaseModel, ConfigDict

UNITS = {
    "L": "line",
    "p": "page",
    "r": "row",
    "b": "paragraph",
    "s": "slide",
    "h": "chapter",
    "m": "message",
    "c": "cell",
}
"""What files are counted in, by the letter that stands in a place."""
SPAN = rf"[{''.join(UNITS)}]\d{{1,9}}(?:-[{''.join(UNITS)}]\d{{1,9}})?"
"""The pattern of a place that is counted."""
LABEL = re.compile(rf"\[(?P<file>[^\[\]#\n]{{1,400}})#(?P<place>{SPAN}|table)\]")
SHEET = re.compile(r"(?P<book>.*\.(?:xlsx|xlsm|xlsb|xls|ods))/(?P<sheet>[^/]+)", re.IGNORECASE)
"""A sheet of a workbook, as `file` has it."""
_WITH_SPACE = re.compile(rf"{LABEL.pattern}(?:[ \t]+(?=[.,;:](?:\s|$)))?")


class Citation(BaseModel):
    """A place in the sources that supports a claim."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    """Path below the sources folder, with forward slashes."""
    place: str
    """`L12-L14`, `p3`, `r2`, `table`."""
    quote: str = ""
    """What stands there, to the letter (line breaks included); for `table`, how the figure was computed."""

    exact: str = ""
    """The lines of the quote itself, where `place` is wider, or its cells in a sheet (`=B7`, `=A7:C7`); empty where it
    is not, or unknown."""

    section: str = ""
    """The headings above, in a file whose numbers are not what a reader sees: a web page, a text document."""

    address: str = ""
    """Of a page of the web: where it was, and when it was read."""

    @property
    def label(self) -> str:
        """The form that stands in texts: `[file#place]`."""
        return f"[{self.file}#{self.place}]"

    @property
    def shown_file(self) -> str:
        """The file as people say it: `prices.xlsx, sheet 2026`."""
        sheet = SHEET.fullmatch(self.file)
        return f"{sheet['book']}, sheet {sheet['sheet']}" if sheet else self.file

    @property
    def shown_place(self) -> str:
        """The place as people say it: `lines 12-14`, `slide 4`, `B7`; empty for a table as a whole."""
        place = self.exact or self.place
        if place.startswith("="):
            return place[1:]
        if place == "table":
            return ""
        first, _, last = place.partition("-")
        unit = UNITS[place[0]]
        return f"{unit}s {first[1:]}-{last[1:]}" if last and last != first else f"{unit} {first[1:]}"


class Claim(BaseModel):
    """One statement and the places that support it."""

    model_config = ConfigDict(extra="forbid")

    text: str
    """The statement, without labels."""
    citations: list[Citation] = []
    task_id: str = ""
    """The task it came from."""
    unverified: list[str] = []
    """Quotations and figures in it that were looked for and stand nowhere."""


def labels_in(text: str) -> list[tuple[str, str]]:
    """The (file, place) of every label in `text`, in order, each once."""
    return list(dict.fromkeys((m["file"], m["place"]) for m in LABEL.finditer(text)))


def line_of(place: str, text: str, number: int) -> str:
    """The place of line `number` (from 0) of a text that stands at `place`; all of `place` where that is not sure.

    It is where the text has as many lines as its place: some may not be shown.
    """
    first, _, last = place.partition("-")
    lines = int((last or first)[1:]) - int(first[1:]) + 1
    is_sure = place.startswith("L") and text.count("\n") + 1 == lines
    return f"L{int(first[1:]) + number}" if is_sure else place


def without_labels(text: str) -> str:
    """`text` with its labels taken out and the spaces they leave closed up."""
    kept, end = [], 0
    for match in _WITH_SPACE.finditer(text):
        kept.append(text[end : match.start()].rstrip(" \t"))
        end = match.end()
    return "".join([*kept, text[end:]]).strip()
