"""Statements in the results of others, with the labels that support them, and how they are written down again."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nodes.llm.offline.salience import says_the_same
from state.citation import LABEL, labels_in

SHORTEST = 12
"""Characters under which a line is a heading or a filler, unless it has a figure or is all there is."""

_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_BARE_LABEL = LABEL.pattern.replace("?P<file>", "").replace("?P<place>", "")
_SEGMENT = re.compile(rf".*?(?:[ \t]*{_BARE_LABEL})+[.;,]?", re.DOTALL)
_LABELS = re.compile(rf"[ \t]*{_BARE_LABEL}")
_HEADING = re.compile(r"^\s*(?P<marks>#{1,6})\s+(?P<title>.+?)\s*#*$|^\s*\*\*(?P<bold>[^*]+)\*\*:?\s*$")
_ASIDE = re.compile(r"^\W*(?:confidence\b\W*\d|failed\s*:|\(the agent stopped early)", re.IGNORECASE)
_QUOTED = re.compile(r"^[\"“](?P<quote>.+)[\"”]$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing a result says."""

    text: str
    """As written, quotation marks included, without labels."""
    labels: tuple[str, ...] = ()
    trail: tuple[str, ...] = ()
    """The headings above it, outermost first."""
    task: str = ""

    @property
    def words(self) -> str:
        """The text without the quotation marks around it."""
        match = _QUOTED.match(self.text)
        return match["quote"] if match else self.text

    @property
    def files(self) -> frozenset[str]:
        """The files that support it."""
        return frozenset(file for file, _ in labels_in(" ".join(self.labels)))

    @property
    def is_computed(self) -> bool:
        """Whether it states figures computed from a table."""
        return any(label.endswith("#table]") for label in self.labels)

    def __str__(self) -> str:
        return " ".join((self.text, *self.labels))


def quoted(text: str, label: str) -> Statement:
    """A statement that is a quotation."""
    return Statement(f'"{text}"', (label,))


def statements_in(text: str, task: str = "") -> list[Statement]:
    """The statements of a result, in order, each below its heading; remarks about the result itself are left out."""
    found: list[Statement] = []
    open_headings: list[tuple[int, str]] = []
    blocks = _blocks(text)
    for block in blocks:
        title = _HEADING.match(block)
        if title:
            level = len(title["marks"] or "#######")
            title_text = (title["title"] or title["bold"]).strip()
            open_headings = [*(other for other in open_headings if other[0] < level), (level, title_text)]
        elif not _ASIDE.match(block):
            found += _of_block(block, tuple(name for _, name in open_headings), task, is_alone=len(blocks) == 1)
    return found


def deduplicated(statements: Iterable[Statement]) -> list[Statement]:
    """Each thing once, in order; the labelled version of two is kept."""
    kept: list[Statement] = []
    for statement in statements:
        place = next((n for n, other in enumerate(kept) if says_the_same(statement.words, other.words)), None)
        if place is None:
            kept.append(statement)
        elif statement.labels and not kept[place].labels:
            kept[place] = statement
    return kept


def bullets(statements: Iterable[Statement]) -> str:
    """The statements as a list, a line (or a quotation of several) each."""
    return "\n".join(f"- {statement}" for statement in statements)


def _of_block(block: str, trail: tuple[str, ...], task: str, *, is_alone: bool) -> list[Statement]:
    """A block cut after each run of labels; what follows the last one stands alone."""
    segments, end = [], 0
    for match in _SEGMENT.finditer(block):
        segments.append(match.group())
        end = match.end()
    segments.append(block[end:])
    found = []
    for segment in segments:
        text = _BULLET.sub("", _LABELS.sub("", segment)).strip()
        if (len(text) >= SHORTEST or is_alone or any(ch.isdigit() for ch in text)) and re.search(r"\w", text):
            labels = tuple(f"[{file}#{place}]" for file, place in labels_in(segment))
            found.append(Statement(text, labels, trail, task))
    return found


def _blocks(text: str) -> list[str]:
    """Paragraphs, headings and list items; a quotation over several lines stays in one piece, a table is left out."""
    blocks: list[str] = []
    for line in text.splitlines():
        starts = not line.strip() or _BULLET.match(line) or _HEADING.match(line)
        if line.lstrip().startswith("|"):
            continue
        if starts or not blocks or not blocks[-1].strip() or _HEADING.match(blocks[-1]):
            blocks.append(line)
        else:
            blocks[-1] += "\n" + line
    return [block for block in blocks if block.strip()]
