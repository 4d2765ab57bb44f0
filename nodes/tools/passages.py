"""Cutting lines into passages: pieces small enough to cite and large enough to understand.

A passage is cut out of the file to the letter. Blocks end at blank lines; a heading stays with what follows it, a line
that ends in a colon with the list, code or table it announces, a small Markdown table, fenced block or indented block
stays whole, and a very long line is cut at sentence ends (the pieces share its place).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LINES = 12
"""Lines of a passage, at most; tables and fenced blocks may have `WHOLE`."""
WHOLE = 30
CHARS = 1200
"""Characters of a passage, roughly at most."""
SMALL = 160
"""A block shorter than this (a caption, one line) takes the next one in."""
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”’)\]]*\s+|\t+")
ENDINGS = "\r\n"
_BROKEN_OFF = re.compile(r"[^\W\d_][-\u00ad‐]\s*$")
"""A line that ends within a word: it goes with the next one."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source with its place."""

    file: str
    place: str
    text: str
    """To the letter, without the last line break; of a table row, its cells with the column names."""
    heading: str = ""
    """The nearest heading above."""
    trail: str = ""
    """All headings above, outermost first: `Guide > Prices`."""
    score: float = 0.0
    """How well it matches a search; higher is better, 0 outside a search."""

    @property
    def label(self) -> str:
        """The form that stands in texts: `[file#place]`."""
        return f"[{self.file}#{self.place}]"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins at some line."""

    level: int
    text: str


def place(unit: str, first: int, last: int) -> str:
    """`L3-L9`, or `L3` when it is one only."""
    return f"{unit}{first}" if first == last else f"{unit}{first}-{unit}{last}"


def cut_lines(file: str, lines: Sequence[str], headings: Mapping[int, Heading], unit: str = "L") -> Iterator[Passage]:
    """The passages of `lines` (kept with their line ends; numbered from 1) in order, without blank edges.

    An empty line without a line end is none: it counts in places only.
    """
    open_headings: list[Heading] = []
    for first, last in _spans(lines, headings):
        for number in range(first, last + 1):
            if found := headings.get(number):
                open_headings = [h for h in open_headings if h.level < found.level] + [found]
        heading = open_headings[-1].text if open_headings else ""
        trail = " > ".join(h.text for h in open_headings)
        text = "".join(lines[first - 1 : last]).rstrip(ENDINGS)
        for piece in _pieces(text) if _count(lines, first, last) == 1 else [text]:
            yield Passage(file, place(unit, first, last), piece, heading, trail)


def _spans(lines: Sequence[str], headings: Mapping[int, Heading]) -> Iterator[tuple[int, int]]:
    """First and last line of each passage: blocks, small ones joined to the next unless that has a heading."""
    held: tuple[int, int] | None = None
    for block in _blocks(lines, headings):
        joined = held is not None and _joins(lines, headings, held, block)
        first, last = held[0] if held and joined else block[0], block[1]
        if held and not joined:
            yield held
        held = None
        if (
            _chars(lines, first, last) < SMALL
            or last in headings
            or _announces(lines[last - 1])
            or (_is_item(lines[block[0] - 1]) and _fits(lines, first, last))
        ):
            held = (first, last)
        else:
            yield from _bounded(lines, first, last)
    if held:
        yield held


def _joins(
    lines: Sequence[str], headings: Mapping[int, Heading], held: tuple[int, int], block: tuple[int, int]
) -> bool:
    """Whether a block goes with the one before it. A heading takes what follows, whatever its size."""
    underlined = held[1] - 1 in headings and not re.search(r"\w", lines[held[1] - 1])
    only_heading = held[1] in headings or underlined
    if only_heading and block[0] not in headings:
        return True
    if block[0] in headings and not only_heading:
        return False
    if _announces(lines[held[1] - 1]):
        return _fits(lines, held[0], block[1], WHOLE)
    goes_on = only_heading or _is_item(lines[block[0] - 1]) or _chars(lines, *held) < SMALL
    return goes_on and _fits(lines, held[0], block[1])


def _is_item(line: str) -> bool:
    """Whether a line begins an item of a list."""
    return bool(re.match(r"\s{0,3}(?:[-*+•]|\d{1,3}[.)])\s", line))


def _announces(line: str) -> bool:
    """Whether a line ends in a colon: what it announces comes next."""
    return line.rstrip().endswith((":", ":**", "："))


def _blocks(lines: Sequence[str], headings: Mapping[int, Heading]) -> Iterator[tuple[int, int]]:
    """Runs of lines without a blank one; a heading begins a new one.

    A fenced block is one, blank lines included, and so is an indented one.
    """
    first: int | None = None
    fence = ""
    for number, line in enumerate(lines, start=1):
        bare = line.strip()
        inside = first is not None and _is_code(lines[first - 1]) and _is_code(_next_full(lines, number))
        blank = line and not bare and not fence and not inside
        if first is not None and (blank or number in headings):
            yield first, number - 1
            first = None
        if first is None and bare:
            first = number
        if bare[:3] in ("```", "~~~") and (not fence or bare[:3] == fence):
            fence = "" if fence else bare[:3]
    if first is not None:
        yield first, _last_full(lines, first)


def _is_code(line: str) -> bool:
    """Whether a line is indented as code is."""
    return line.startswith(("    ", "\t")) and bool(line.strip())


def _next_full(lines: Sequence[str], number: int) -> str:
    """The first line from `number` on (three are looked at) that is not blank."""
    return next((line for line in lines[number - 1 : number + 2] if line.strip()), "")


def _last_full(lines: Sequence[str], first: int) -> int:
    """The last line that is not blank, for a fence that never closes."""
    return next(number for number in range(len(lines), first - 1, -1) if lines[number - 1].strip())


def _bounded(lines: Sequence[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """A block cut to size; a table or fenced block stays whole up to `WHOLE` lines."""
    most = WHOLE if _is_whole(lines[last - 1]) else LINES
    start, used = first, 0
    for number in range(first, last + 1):
        size = len(lines[number - 1])
        if size and number > start and (_count(lines, start, number) > most or used + size > CHARS * (most // LINES)):
            end = number - 2 if number - 2 >= start and _BROKEN_OFF.search(lines[number - 2]) else number - 1
            yield from _trimmed(lines, start, end)
            start, used = end + 1, _chars(lines, end + 1, number - 1)
        used += size
    yield from _trimmed(lines, start, last)


def _trimmed(lines: Sequence[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The span without blank lines at its edges (a cut fenced block can have them); an empty one goes with its text."""
    full = [number for number in range(first, last + 1) if lines[number - 1].strip() or not lines[number - 1]]
    if full:
        yield full[0], full[-1]


def _pieces(line: str) -> Iterator[str]:
    """A long line in windows that end where a sentence does; each is a part of it to the letter."""
    start = 0
    while len(line) - start > CHARS:
        ends = [m.end() for m in SENTENCE_END.finditer(line, start + SMALL, start + CHARS)]
        space = line.rfind(" ", start + SMALL, start + CHARS) + 1
        end = ends[-1] if ends else space or start + CHARS
        if piece := line[start:end].strip():
            yield piece
        start = end
    if piece := line[start:].strip() if start else line:
        yield piece


def _is_whole(line: str) -> bool:
    """Whether the block that ends with this line is a table, or code."""
    return line.startswith(("   ", "\t")) or line.lstrip().startswith(("|", "```", "~~~"))


def _chars(lines: Sequence[str], first: int, last: int) -> int:
    return sum(len(line) for line in lines[first - 1 : last])


def _count(lines: Sequence[str], first: int, last: int) -> int:
    """How many lines there are to read."""
    return sum(map(bool, lines[first - 1 : last]))


def _fits(lines: Sequence[str], first: int, last: int, most: int = 0) -> bool:
    most = most or (WHOLE if _is_whole(lines[last - 1]) else LINES)
    return _count(lines, first, last) <= most and _chars(lines, first, last) <= CHARS * (most // LINES)
