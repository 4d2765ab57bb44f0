"""An answer in another shape: shorter, as a list, as a table. Labels stay, and what is quoted stays to the letter."""

import re
from collections.abc import Collection, Sequence
from itertools import accumulate

from nodes.language.mentions import figures_in
from nodes.language.shapes import Shape
from nodes.language.table_schema import rows_in
from nodes.language.words import stems
from nodes.llm.offline.conversation import CONFIDENCE, NOTHING
from nodes.policy.synthesis import SAID_ABOVE, blocks
from state.citation import LABEL, without_labels

SHORT = 320
"""Characters of a point in a shorter answer, or in a cell of a table."""
_ABOUT, _SAID, _WHERE, _FOUND = "About", "What is said", "Where", "What was found"
_ADMITTED = re.compile(rf"^{NOTHING}[^\n]*:[ \t]*\n+", re.MULTILINE)
_SAID_OF_ITSELF = re.compile(
    r"\n*^(?:Confidence:|No passage speaks of |… \(the beginning of )[^\n]*$", re.IGNORECASE | re.MULTILINE
)
_PIECE = re.compile(rf".+?(?:(?<=[.!?。！？])\s+(?!{LABEL.pattern})|\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"\s*(?:(?:#|\*\*[^*\n]+\*\*)[^\n]*|\d+[.)])?\s*")
_MARK = re.compile(r"^\s*(?:(?:>|[-*•]|\d+[.)])\s+)+", re.MULTILINE)
_BY = re.compile(r" by (?P<by>[^:]+?)(?= in )")
_CELLS = re.compile(r"(?:In [^,:;]+, )?(?P<cells>[^:;]{1,60}: .*; [^:;]{1,60}: .*?)\.?")
_CELL = re.compile(r"(?:^|; )([^:;]{1,60}): ")


class Point:
    """A paragraph or list item of an answer, or a passage with the title above it."""

    def __init__(self, block: str) -> None:
        titled = re.match(r"\*\*(?P<title>[^*\n]+)\*\*[^\n]*\n+(?=>)", block)
        self.title = titled["title"] if titled else ""
        self.is_quoted = bool(titled) or block.startswith(">")
        self.labels = " ".join(dict.fromkeys(found.group() for found in LABEL.finditer(block)))
        body = block[titled.end() if titled else 0 :]
        self.text = re.sub(r"^> ?", "", without_labels(body), flags=re.MULTILINE).strip() if self.is_quoted else body
        self.pieces = [found.group() for found in _PIECE.finditer(self.text)] or [""]
        """Its sentences or lines, to the letter."""
        self.sentences = [piece for piece in self.pieces if not _TITLE.fullmatch(piece)] or self.pieces
        """Those that are neither titles nor numbers; all where there is nothing else."""

    def best(self, asked: Collection[str]) -> int:
        """The place of the sentence that says most of what was `asked` (stems)."""
        return max(range(len(self.sentences)), key=lambda n: len(set(stems(self.sentences[n])).intersection(asked)))

    def shortened(self, asked: Collection[str], chars: int = SHORT) -> str:
        """As many pieces from the best sentence on as there is room for, at least one; all of a short one."""
        is_short = sum(map(len, self.pieces)) <= chars
        pieces = self.pieces[self.pieces.index(self.sentences[0 if is_short else self.best(asked)]) :]
        ends = list(accumulate(map(len, pieces)))
        return "".join(pieces)[: max([end for end in ends if end <= chars], default=ends[0])].strip()

    def cited(self, said: str) -> str:
        """A part of it, quoted where it is, with its labels, or else those of all."""
        if self.is_quoted:
            return "".join(f"> {line}".rstrip() + "\n" for line in said.strip().splitlines()) + self.labels
        return said.strip() if LABEL.search(said) else f"{said.strip()} {self.labels}".strip()


def reshaped(text: str, shape: Shape, asked: Collection[str]) -> str:
    """An answer to what was `asked` (stems) in a shape: its labels stay, how sure it is, and what it admits first."""
    if text.startswith(NOTHING) and not LABEL.search(text):
        return text
    answer = _ADMITTED.sub("", text)
    points = points_of(answer)
    if shape.name == "table":
        drawn = [line.lstrip("> ") for line in answer.splitlines() if line.lstrip("> ").startswith("|")]
        said = ["\n".join(drawn) if len(drawn) > 2 else _drawn(rows_of(points, asked))]
    elif shape.name == "list":
        is_enough = len(points) >= max(2, shape.points)
        items = [one.cited(part) for one in points for part in ([one.shortened(asked)] if is_enough else one.sentences)]
        said = ["\n".join(f"- {_in_a_line(item)}" for item in items[: shape.points or None])]
    elif shape.unit == "sentences" and shape.points:
        first = points[0].best(asked)
        said = [points[0].cited(sentence) for sentence in points[0].sentences[first : first + shape.points]]
    else:
        most = shape.points or max(1, len(points) // 3)
        chars = SHORT if len(points) > 1 else min(SHORT, len(answer) // 2)
        said = [point.cited(point.shortened(asked, chars)) for point in points[:most]]
    admitted, sure = _ADMITTED.search(text), CONFIDENCE.search(text)
    return "\n\n".join([*([admitted[0].strip()] if admitted else []), *said, *([sure[0].strip()] if sure else [])])


def points_of(answer: str) -> list[Point]:
    """What an answer says, without headings: paragraphs, list items, and passages with the title above them."""
    found = [block.strip() for _, block in blocks(_SAID_OF_ITSELF.sub("", answer).strip())]
    said = [
        one for block in found if block and not block.startswith("#") and block != SAID_ABOVE for one in _undrawn(block)
    ]
    return [Point(block) for block in said or [answer.strip()]]


def rows_of(points: Sequence[Point], asked: Collection[str]) -> list[list[str]]:
    """A table of points: what its columns are called, then a row a point: what it is about, what it says, where."""
    rows: list[dict[str, str]] = []
    for row in (row for point in points for row in _rows(point, asked)):
        first = next(iter(row.items()))
        alike = (one for one in rows if first in one.items() and one.keys() & row.keys() == {first[0], _WHERE})
        if same := next(alike, None):  # what two figures say of one thing
            same |= {**row, _WHERE: " ".join(dict.fromkeys([same[_WHERE], row[_WHERE]]))}
        else:
            rows.append(row)
    heads = list(dict.fromkeys(head for row in rows for head in row if head != _WHERE))
    titles = [_FOUND] if heads == [_SAID] else heads
    return [[*titles, _WHERE], *([row.get(head, "") for head in (*heads, _WHERE)] for row in rows)]


def _rows(point: Point, asked: Collection[str]) -> list[dict[str, str]]:
    """What goes into the rows of a point, by column: of figures a row each, of a row of a table its own columns."""
    text = without_labels(point.text)
    what, figures = figures_in(text)
    if len(figures) > 1 and all(amount for _, amount in figures):
        by, amounts = _BY.search(what), _BY.sub("", what)
        return [{by["by"] if by else _ABOUT: name, amounts: amount, _WHERE: point.labels} for name, amount in figures]
    if found := _CELLS.fullmatch(_in_a_line(text)):
        cells = _CELL.split(found["cells"])[1:]
        return [{**dict(zip(cells[::2], cells[1::2], strict=True)), _WHERE: point.labels}]
    about = {_ABOUT: point.title} if point.title else {}
    return [{**about, _SAID: _in_a_line(without_labels(point.shortened(asked)))[:SHORT], _WHERE: point.labels}]


def _in_a_line(text: str) -> str:
    """A text without list marks and the titles in it."""
    lines = [line for line in text.splitlines() if not _TITLE.fullmatch(line.lstrip("> "))]
    return " ".join(_MARK.sub("", "\n".join(lines) or text).split())


def _undrawn(block: str) -> list[str]:
    """What the rows of a table in Markdown say, each with what its columns are called; another block as it is."""
    said = []
    for row in rows_in(block) if all(line.startswith("|") for line in block.splitlines()) else ():
        labels, about = row.pop(_WHERE, ""), row.pop(_ABOUT, "")
        cells = [cell if head in (_SAID, _FOUND) else f"{head}: {cell}" for head, cell in row.items() if cell]
        said.append(f"{about}{': ' * bool(about)}{'; '.join(cells)} {labels}".strip())
    return said or [block]


def _drawn(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; its first row is what the columns are called."""
    ruled = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in ruled)
