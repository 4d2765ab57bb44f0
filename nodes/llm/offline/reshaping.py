"""An answer in another shape: the last one, or what was found just now.

What is put together keeps its labels, and its quotations are as they were quoted.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate

from nodes.language.following import followed
from nodes.language.mentions import figures_in
from nodes.language.shapes import Shape, ShapeName
from nodes.language.subjects import keywords
from nodes.language.words import stems
from nodes.llm.offline.conversation import CONFIDENCE, NOTHING, Conversation, Reply, concluded
from nodes.policy.synthesis import SAID_ABOVE, blocks
from state.citation import LABEL

SHORT = 320
"""Characters of a point in a shorter answer, or in a cell of a table."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_PIECE = re.compile(rf".+?(?:{_SENTENCE.pattern}|\n|\Z)", re.DOTALL)
_SAID_OF_ITSELF = re.compile(
    r"\n*^(?:Confidence:|No passage speaks of |… \(the beginning of )[^\n]*$", re.IGNORECASE | re.MULTILINE
)
_BEFORE = ("The answer before", "The two answers before")
_TITLES: dict[ShapeName, str] = {"whole": "", "shorter": ", shorter", "table": ", as a table", "list": ", as a list"}
_ABOUT, _SAID, _WHERE = "About", "What is said", "Where"
_TITLE = re.compile(r"\A\*\*(?P<title>[^*\n]+)\*\*[^\n]*\n")
_LAST = re.compile(rf"\n*{CONFIDENCE.pattern}")
_COUNT = re.compile(r"(\d{1,2}) (points|sentences)")
_ADMITTED = re.compile(rf"^{NOTHING}[^\n]*:[ \t]*\n+", re.MULTILINE)
_BY = re.compile(r" by (?P<by>[^:]+?)(?= in )")
_TITLED = re.compile(r"[>\s]*(?:#[^\n]*|\*\*[^*\n]+\*\*[^\n]*)?")
_CELLS = re.compile(r"(?:- In [^,:;]+, )?(?P<cells>[^:;]{1,60}: .*; [^:;]{1,60}: .*)")
_CELL = re.compile(r"(?:^|; )([^:;]{1,60}): ")


def described(shape: Shape) -> str:
    """The task of putting the last answer into a shape, in words."""
    return f"{_BEFORE[shape.answers - 1]}{_TITLES[shape.name]}" + (
        f": {shape.points} {shape.unit}" * bool(shape.points)
    )


def shape_in(task: str) -> Shape | None:
    """The shape that such a task says; None for any other task."""
    title, _, counted = task.partition(": ")
    shapes = [Shape(name, answers=answers) for name in _TITLES for answers in (1, 2)]
    shape = next((shape for shape in shapes if title == described(shape)), None)
    count = _COUNT.fullmatch(counted)
    if not shape or not count:
        return shape
    return replace(shape, points=int(count[1]), unit="sentences" if count[2] == "sentences" else "points")


def reshape(talk: Conversation, shape: Shape) -> Reply:
    """The last answer, or both last, in that shape, with the labels; what is admitted goes first."""
    turns = [turn.body for turn in talk.all("earlier") if turn.body.strip()][-shape.answers :]
    if not turns:
        return concluded(talk, "There is no answer on this thread yet that could be put in another way.", 0.3)
    questions, answers = talk.before
    before = "\n\n".join(turns)
    sure = 0.3 if _ADMITTED.search(before) else 0.8
    return concluded(talk, reshaped(before, shape, keywords(followed(questions[-1], questions[:-1], answers))), sure)


def reshaped(text: str, shape: Shape, asked: Collection[str]) -> str:
    """An answer to what was `asked` (stems) in a shape: its labels stay, how sure it is, and what it admits first."""
    if shape.name == "whole" or (text.startswith(NOTHING) and not LABEL.search(text)):
        return text
    ends = [said.group() for said in _LAST.finditer(text)]
    admitted = _ADMITTED.search(text)
    answer = _LAST.sub("", _ADMITTED.sub("", text))
    points = points_of(answer)
    if shape.name == "table":
        drawn = [line.lstrip("> ") for line in answer.splitlines() if line.lstrip("> ").startswith("|")]
        said = "\n".join(drawn) if len(drawn) > 2 else _drawn(rows_of(points, asked))
    elif shape.name == "list":
        items = points if len(points) >= max(2, shape.points) else [one for point in points for one in _parts(point)]
        said = "\n".join(f"- {_in_a_line(_shortened(one, asked, SHORT))}" for one in items[: shape.points or None])
    elif shape.unit == "sentences" and shape.points:
        parts = _parts(points[0])
        said = "\n\n".join(parts[_best_of(parts, asked) :][: shape.points])
    else:
        most = shape.points or max(1, len(points) // 3)
        chars = SHORT if len(points) > 1 else min(SHORT, len(answer) // 2)
        said = "\n\n".join(_shortened(point, asked, chars) for point in points[:most])
    return "\n\n".join([*([admitted.group().rstrip()] if admitted else []), said, *(end.strip() for end in ends)])


def points_of(answer: str) -> list[str]:
    """What an answer says, without headings: paragraphs, list items, and passages with the title above them."""
    found = [block.strip() for _, block in blocks(_SAID_OF_ITSELF.sub("", answer).strip())]
    said = [block for block in found if block and not block.startswith("#") and block != SAID_ABOVE]
    return said or [answer.strip()]


def _shortened(point: str, asked: Collection[str], chars: int) -> str:
    """The sentences or lines of a point from the one on that says most of what was `asked` (stems), and its label.

    As many as `chars` characters have room for, at least one. Quoted text stays as it is quoted.
    """
    if len(point) <= chars:
        return point
    label, text = LABEL.search(point), LABEL.sub("", point).strip()
    is_quoted = text.startswith((">", "**"))
    pieces = _PIECE.findall(text)
    best = _best_of(pieces, asked)
    ends = list(accumulate(map(len, pieces[best:])))
    kept = "".join(pieces[best:])[: max([end for end in ends if end <= chars], default=ends[0])].strip("> \n")
    mark = "> " if is_quoted and not kept.startswith((">", "**")) else ""
    return f"{mark}{kept}{chr(10) if is_quoted else ' '}{label.group()}" if label else f"{mark}{kept}"


def _best_of(pieces: Sequence[str], asked: Collection[str]) -> int:
    """The place of the piece that says most of what was asked (stems); of a title only where there is nothing else."""
    return max(range(len(pieces)), key=lambda n: (not _is_title(pieces[n]), len(set(stems(pieces[n])) & set(asked))))


def _is_title(piece: str) -> bool:
    return _TITLED.fullmatch(piece.strip("\n")) is not None


def _pieces(text: str) -> list[str]:
    """The sentences or lines of a text, without titles; all where there is nothing else."""
    pieces = _PIECE.findall(text)
    return [piece for piece in pieces if not _is_title(piece)] or pieces


def _parts(point: str) -> list[str]:
    """The same of a point, each with its label: they need not stand side by side in the source."""
    label, text = LABEL.search(point), LABEL.sub("", point).strip()
    mark, apart = ("> ", "\n") if text.startswith((">", "**")) else ("", " ")
    pieces = [piece.strip("> \n") for piece in _pieces(text)]
    return [f"{mark}{piece}{apart}{label.group()}" if label else f"{mark}{piece}" for piece in pieces]


def _in_a_line(point: str) -> str:
    return " ".join(re.sub(r"(?m)^\s*(?:>|[-*•]\s|\d+[.)]\s)\s?", "", "".join(_pieces(point))).split())


def _drawn(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; its first row is what the columns are called."""
    ruled = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in ruled)


def rows_of(points: Sequence[str], asked: Collection[str]) -> list[list[str]]:
    """A table of points: what its columns are called, then a row a point: what it is about, what it says, where."""
    cells: list[dict[str, str]] = []
    for row in [row for point in points for row in _rows(point, asked)]:
        of_same = (one for one in cells if _SAID not in one and _WHERE in one and _agree(one, row))
        if same := next(of_same, None):  # what two figures say of one thing
            same |= {**row, _WHERE: " ".join(dict.fromkeys([same[_WHERE], row[_WHERE]]))}
        else:
            cells.append(row)
    heads = list(dict.fromkeys(head for row in cells for head in row if head != _WHERE))
    titles = [head if head != _SAID or len(heads) > 1 else "What was found" for head in heads]
    return [[*titles, _WHERE], *([row.get(head, "") for head in (*heads, _WHERE)] for row in cells)]


def _agree(one: dict[str, str], other: dict[str, str]) -> bool:
    """Whether two rows are about the same thing: they begin alike, and say nothing different."""
    return next(iter(one.items())) == next(iter(other.items())) and all(
        one[head] == cell for head, cell in other.items() if head in one and head != _WHERE
    )


def _rows(point: str, asked: Collection[str]) -> list[dict[str, str]]:
    """What goes into the rows of a point, by column: of figures a row each, of a row of a table its own columns.

    Of a long one the sentences that say most of what was `asked` (stems).
    """
    where = " ".join(dict.fromkeys(match.group() for match in LABEL.finditer(point)))
    what, figures = figures_in(LABEL.sub("", point).strip())
    if len(figures) > 1 and all(amount for _, amount in figures):
        by, amounts = _BY.search(what), _BY.sub("", what)
        return [{by["by"] if by else _ABOUT: name, amounts: amount, _WHERE: where} for name, amount in figures]
    bare = LABEL.sub("", point).strip("> \n")
    title = _TITLE.match(point)
    said = _in_a_line(LABEL.sub("", point[title.end() :] if title else point)).strip()
    if found := _CELLS.fullmatch(bare):
        cells = _CELL.split(found["cells"].rstrip("."))[1:]
        return [{**dict(zip(cells[::2], cells[1::2], strict=True)), _WHERE: where}]
    row = {_SAID: _shortened(said, asked, SHORT)[:SHORT], _WHERE: where}
    return [{_ABOUT: title["title"], **row} if title else row] if said else []
