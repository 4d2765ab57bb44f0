"""Where a claim comes from.

A label names a place in the sources in one word, so that a model can copy it: `[langgraph.md#L12-L14]` (lines),
`[study.pdf#p3]` (page), `[prices.csv#r2-r9]` (rows, the first after the header is 1), `[prices.csv#table]` (computed
from the whole table). Tools hand labels out; results carry them; the report turns them into numbered sources.
"""

import re

from pydantic import BaseModel, ConfigDict

LABEL = re.compile(r"\[(?P<file>[^\[\]#\n]{1,400})#(?P<place>[Lpr]\d+(?:-[Lpr]\d+)?|table)\]")
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
    """The lines of the quote itself, where `place` is wider; empty where it is not, or unknown."""

    section: str = ""
    """The headings above, of a web page: its line numbers are not what a reader sees."""

    @property
    def label(self) -> str:
        """The form that stands in texts: `[file#place]`."""
        return f"[{self.file}#{self.place}]"


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


def without_labels(text: str) -> str:
    """`text` with its labels taken out and the spaces they leave closed up."""
    kept, end = [], 0
    for match in _WITH_SPACE.finditer(text):
        kept.append(text[end : match.start()].rstrip(" \t"))
        end = match.end()
    return "".join([*kept, text[end:]]).strip()
