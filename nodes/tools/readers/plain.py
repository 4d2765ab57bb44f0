"""Text, Markdown and reStructuredText: lines, with the headings found among them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nodes.tools.document import Document, Grid, Kind, Listing, Unit
from nodes.tools.passages import Heading, Passage, cut_lines
from nodes.tools.readers.decoding import Unreadable, decode, lines_of
from nodes.tools.readers.drawn import tables_in

HASHES = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$")
TAGGED = re.compile(r" {0,3}<h([1-6])\b[^>]*>(.*?)</h\1>", re.DOTALL | re.IGNORECASE)
TAGGED_LINES = 5
"""Lines that a heading in HTML may take, as Markdown has them."""
UNDERLINE = re.compile(r"(?P<mark>[=\-~^*+\"])(?P=mark){2,}\s*$")
LEVELS = '=-~^*+"'
"""Which underline is above which."""


def read_text(file: str, data: bytes) -> Document:
    """A text file.

    Raises:
        Unreadable: it is not text, or there is nothing in it.
    """
    return text_document(file, decode(data))


def text_document(file: str, text: str, kind: Kind = "text", grid: Grid | None = None) -> Document:
    """A document of numbered lines, cut into passages.

    Raises:
        Unreadable: there is nothing in it.
    """
    lines = lines_of(text)
    headings = headings_in(lines) if kind == "text" else {}
    return line_document(file, lines, headings, kind, grid)


def line_document(
    file: str,
    lines: Sequence[str],
    headings: Mapping[int, Heading],
    kind: Kind,
    grid: Grid | None = None,
    unit: Unit = "L",
    inner: Sequence[Listing] | None = None,
) -> Document:
    """A document of lines, or of paragraphs, whose headings are known. `inner`: its tables, else those in its text.

    Raises:
        Unreadable: there is nothing in it.
    """
    passages = list(cut_lines(file, lines, headings, unit))
    if not passages:
        raise Unreadable("there is no text in it; nothing to do")
    return Document(file, kind, unit, lines, passages, grid, list(tables_in(lines, unit)) if inner is None else inner)


def unit_document(
    file: str,
    kind: Kind,
    unit: Unit,
    texts: Sequence[str],
    headings: Mapping[int, Heading] | None = None,
    inner: Mapping[int, Sequence[Listing]] | None = None,
) -> Document:
    """A document of units that are texts of their own, each cut into passages.

    Args:
        file: its name.
        kind: what it is.
        unit: what `texts` are.
        texts: in order.
        headings: the title of a unit, by its number from 1.
        inner: the tables of a unit, by its number; else those that are drawn in its text.

    Raises:
        Unreadable: there is nothing in it.
    """
    passages, tables = list[Passage](), list[Listing]()
    for number, text in enumerate(texts, 1):
        title = (headings or {}).get(number)
        lines = lines_of(text)
        own = (inner or {}).get(number)
        tables += [one.within(f"{unit}{number}") for one in (tables_in(lines, "L") if own is None else own)]
        for cut in cut_lines(file, lines, {}):
            placed = replace(cut, place=f"{unit}{number}")
            passages.append(replace(placed, heading=title.text, trail=title.text) if title else placed)
    if not passages:
        raise Unreadable("there is no text in it; nothing to do")
    return Document(file, kind, unit, texts, passages, inner=tables)


def headings_in(lines: Sequence[str]) -> dict[int, Heading]:
    """Headings by line number: `# hashes`, `<h2>` in Markdown, what is underlined after a blank line, CAPITALS alone.

    None inside fenced blocks.
    """
    found: dict[int, Heading] = {}
    fenced = False
    for number, line in enumerate(lines, start=1):
        bare = line.strip()
        if bare.startswith(("```", "~~~")) and not UNDERLINE.match(bare):
            fenced = not fenced
        elif fenced or not bare:
            continue
        elif hashes := HASHES.match(line.rstrip()):
            found[number] = Heading(len(hashes[1]), hashes[2])
        elif tagged := _tagged(lines, number):
            found[number] = tagged
        elif bare.isupper() and len(bare) < 60 and _is_alone(lines, number):
            found[number] = Heading(2, bare)
        elif underline := _underline(lines, number):
            found[number] = Heading(LEVELS.index(underline) + 1, bare)
    return found


def _tagged(lines: Sequence[str], number: int) -> Heading | None:
    """The heading in HTML that begins in line `number`, if one does that says something."""
    is_tag = lines[number - 1].lstrip()[:2].lower() == "<h"
    match = TAGGED.match("\n".join(lines[number - 1 : number - 1 + TAGGED_LINES])) if is_tag else None
    if match is None:
        return None
    said = " ".join(re.sub(r"<[^>]*>", " ", match[2]).split())
    return Heading(int(match[1]), said) if said else None


def _is_alone(lines: Sequence[str], number: int) -> bool:
    """Whether a line of several words stands between blank lines: in capitals it is a heading of plain text."""
    around = [lines[at - 1].strip() for at in (number - 1, number + 1) if 1 <= at <= len(lines)]
    return not any(around) and bool(re.search(r"[A-Z]{4}", lines[number - 1])) and number < len(lines)


def _underline(lines: Sequence[str], number: int) -> str | None:
    """The character that underlines line `number`, if one does."""
    after_blank = number == 1 or not lines[number - 2].strip()
    if not after_blank or number >= len(lines) or UNDERLINE.match(lines[number - 1]):
        return None
    match = UNDERLINE.match(lines[number])
    return match["mark"] if match else None
