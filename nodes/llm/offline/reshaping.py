"""The last answer in another shape.

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
from nodes.llm.offline.conversation import NOTHING, Conversation, Reply, concluded
from nodes.policy.synthesis import blocks
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
_ADMITTED = re.compile(rf"^{NOTHING}[^\n]*:[ \t]*\n+", re.MULTILINE)
_BY = re.compile(r" by (?P<by>[^:]+?)(?= in )")
_ROW = re.compile(r"(?:[^:;]{1,60}: [^;]*)(?:; [^:;]{1,60}: [^;]*)+")


def described(shape: Shape) -> str:
    """The task of putting the last answer into a shape, in words."""
    return f"{_BEFORE[shape.answers - 1]}{_TITLES[shape.name]}" + (f": {shape.points} points" if shape.points else "")


def shape_in(task: str) -> Shape | None:
    """The shape that such a task says; None for any other task."""
    title, _, points = task.partition(": ")
    bare = (Shape(name, answers=count) for name in _TITLES for count in (1, 2))
    shape = next((shape for shape in bare if title == described(shape)), None)
    return replace(shape, points=int(points.split()[0]) if points else 0) if shape else None


def reshape(talk: Conversation, shape: Shape) -> Reply:
    """The last answer, or both last, in that shape, with the labels; what is admitted goes first."""
    turns = [turn.body for turn in talk.all("earlier") if turn.body.strip()][-shape.answers :]
    if not turns:
        return concluded(talk, "There is no answer on this thread yet that could be put in another way.", 0.3)
    before = "\n\n".join(turns)
    admitted = _ADMITTED.search(before)
    sure = 0.3 if admitted else 0.8
    if shape.name == "whole":
        return concluded(talk, before, sure)
    answer = _ADMITTED.sub("", before)
    points = points_of(answer)
    questions, answers = talk.before
    asked = keywords(followed(questions[-1], questions[:-1], answers))
    if shape.name == "table":
        drawn = [line.lstrip("> ") for line in answer.splitlines() if line.lstrip("> ").startswith("|")]
        text = "\n".join(drawn) if len(drawn) > 2 else _drawn(rows_of(points, asked))
    elif shape.name == "list":
        text = "\n".join(f"- {_in_a_line(point)}" for point in points[: shape.points or len(points)])
    else:
        most = shape.points or max(1, len(points) // 3)
        chars = SHORT if len(points) > 1 else min(SHORT, len(answer) // 2)
        text = "\n\n".join(_shortened(point, asked, chars) for point in points[:most])
    return concluded(talk, f"{admitted.group().rstrip()}\n\n{text}" if admitted else text, sure)


def points_of(answer: str) -> list[str]:
    """What an answer says, without headings: paragraphs, list items, and passages with the title above them."""
    found = [block.strip() for _, block in blocks(_SAID_OF_ITSELF.sub("", answer).strip())]
    return [block for block in found if block and not block.startswith("#")] or [answer.strip()]


def _shortened(point: str, asked: Collection[str], chars: int) -> str:
    """The sentences or lines of a point from the one on that says most of what was `asked` (stems), and its label.

    As many as `chars` characters have room for, at least one.

    Quoted text stays as it is quoted.
    """
    if len(point) <= chars:
        return point
    label, text = LABEL.search(point), LABEL.sub("", point).strip()
    is_quoted = text.startswith((">", "**"))
    pieces = _PIECE.findall(text)
    best = max(range(len(pieces)), key=lambda n: len(set(stems(pieces[n])) & set(asked)))
    ends = list(accumulate(map(len, pieces[best:])))
    kept = "".join(pieces[best:])[: max([end for end in ends if end <= chars], default=ends[0])].rstrip("> \n")
    mark = "> " if best and is_quoted and not kept.startswith(">") else ""
    return f"{mark}{kept}{chr(10) if is_quoted else ' '}{label.group()}" if label else f"{mark}{kept}"


def _in_a_line(point: str) -> str:
    return " ".join(re.sub(r"(?m)^\s*(?:>|[-*•]\s|\d+[.)]\s)\s?", "", point).split())


def _drawn(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; its first row is what the columns are called."""
    ruled = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in ruled)


def rows_of(points: Sequence[str], asked: Collection[str]) -> list[list[str]]:
    """A table of points: what its columns are called, then a row a point: what it is about, what it says, where."""
    cells = [row for point in points for row in _rows(point, asked)]
    heads = list(dict.fromkeys(head for row in cells for head in row if head != _WHERE))
    titles = [head if head != _SAID or len(heads) > 1 else "What was found" for head in heads]
    return [[*titles, _WHERE], *([row.get(head, "") for head in (*heads, _WHERE)] for row in cells)]


def _rows(point: str, asked: Collection[str]) -> list[dict[str, str]]:
    """What goes into the rows of a point, by column: of figures a row each, of a row of a table its own columns.

    Of a long one the sentences that say most of what was `asked` (stems).
    """
    where = " ".join(dict.fromkeys(match.group() for match in LABEL.finditer(point)))
    what, figures = figures_in(LABEL.sub("", point).strip())
    if len(figures) > 1 and all(amount for _, amount in figures):
        by, amounts = _BY.search(what), _BY.sub("", what)
        return [{by["by"] if by else _ABOUT: name, amounts: amount, _WHERE: where} for name, amount in figures]
    title = _TITLE.match(point)
    said = _in_a_line(LABEL.sub("", point[title.end() :] if title else point)).strip()
    if _ROW.fullmatch(said):
        return [{**dict(cell.split(": ", 1) for cell in said.split("; ")), _WHERE: where}]
    row = {_SAID: _shortened(said, asked, SHORT)[:SHORT], _WHERE: where}
    return [{_ABOUT: title["title"], **row} if title else row] if said else []
