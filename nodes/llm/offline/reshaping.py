"""The last answer in another shape.

What is put together keeps its labels, and its quotations are as they were quoted.
"""

import re
from collections.abc import Collection, Sequence
from itertools import accumulate

from nodes.language.following import followed
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
_BEFORE = "The answer before"
_TITLES: dict[ShapeName, str] = {"whole": "", "shorter": ", shorter", "table": ", as a table", "list": ", as a list"}
_ABOUT, _SAID, _WHERE = "About", "What is said", "Where"
_TITLE = re.compile(r"\A\*\*(?P<title>[^*\n]+)\*\*[^\n]*\n")
_ADMITTED = re.compile(rf"^{NOTHING}[^\n]*:[ \t]*\n+", re.MULTILINE)
_FIGURES = re.compile(
    r"(?P<what>[^:]+?)(?: by (?P<by>[^:]+?))? in (?P<table>[^:]+?)(?P<where> where [^:]+)?: (?P<series>.+?)\.?$"
)
_FIGURE = re.compile(r"(?P<name>.+?)(?: \((?P<ranked>-?[\d.,]+)\)|:? (?P<value>-?[\d.,]+)(?: \(\d+ rows?\))?)$")
_ROW = re.compile(r"(?:[^:;]{1,60}: [^;]*)(?:; [^:;]{1,60}: [^;]*)+")


def described(shape: Shape) -> str:
    """The task of putting the last answer into a shape, in words."""
    return f"{_BEFORE}{_TITLES[shape.name]}" + (f": {shape.points} points" if shape.points else "")


def shape_in(task: str) -> Shape | None:
    """The shape that such a task says; None for any other task."""
    title, _, points = task.partition(": ")
    name = next((name for name, words in _TITLES.items() if title == _BEFORE + words), None)
    return Shape(name, int(points.split()[0]) if points else 0) if name else None


def reshape(talk: Conversation, shape: Shape) -> Reply:
    """The last answer in that shape, with its labels."""
    turns = [turn for turn in talk.all("earlier") if turn.body.strip()]
    if not turns:
        return concluded(talk, "There is no answer on this thread yet that could be put in another way.", 0.3)
    answer = turns[-1].body if shape.name == "whole" else _ADMITTED.sub("", turns[-1].body)
    admitted = _ADMITTED.search(turns[-1].body)
    points = _points(answer)
    questions, answers = talk.before
    asked = keywords(followed(questions[-1], questions[:-1], answers))
    match shape.name:
        case "table":
            text = _as_table(answer, points, asked)
        case "whole":
            text = answer
        case "list":
            text = "\n".join(f"- {_in_a_line(point)}" for point in points[: shape.points or len(points)])
        case _:
            most = shape.points or max(1, len(points) // 3)
            chars = SHORT if len(points) > 1 else min(SHORT, len(answer) // 2)
            text = "\n\n".join(_shortened(point, asked, chars) for point in points[:most])
    if admitted and shape.name != "whole":
        text = f"{admitted.group().rstrip()}\n\n{text}"
    return concluded(talk, text, 0.3 if admitted else 0.8)


def _points(answer: str) -> list[str]:
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


def _as_table(answer: str, points: Sequence[str], asked: Collection[str]) -> str:
    """A row a point: what it is about, what it says, where; a table that is there already stays as it is."""
    rows = [line.lstrip("> ") for line in answer.splitlines() if line.lstrip("> ").startswith("|")]
    if len(rows) > 2:
        return "\n".join(rows)
    cells = [row for point in points for row in _figures(point) or [_cells(point, asked)]]
    heads = list(dict.fromkeys(head for row in cells for head in row if head != _WHERE))
    titles = [head if head != _SAID or len(heads) > 1 else "What was found" for head in heads]
    lines = [[row.get(head, "") for head in (*heads, _WHERE)] for row in cells if row]
    ruled = [[*titles, _WHERE], ["---"] * (len(heads) + 1), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in ruled)


def _figures(point: str) -> list[dict[str, str]]:
    """A row a figure of a list that was computed: `Lowest price in plans: Dash (40) and Volt (60)`."""
    found = _FIGURES.fullmatch(_in_a_line(LABEL.sub("", point)).strip())
    series = [_FIGURE.fullmatch(one) for one in re.split(r",\s+|\s+and\s+", found["series"])] if found else []
    if not found or len(series) < 2 or not all(series):
        return []
    name, what = found["by"] or found["table"], f"{found['what']}{found['where'] or ''}"
    where = " ".join(match.group() for match in LABEL.finditer(point))
    return [{name: one["name"].strip(":"), what: one["ranked"] or one["value"], _WHERE: where} for one in series if one]


def _cells(point: str, asked: Collection[str]) -> dict[str, str]:
    """What goes into the row of a point, by column: of a row of a table its own columns.

    Of a long one the sentence that says most of what was `asked` (stems).
    """
    where = " ".join(dict.fromkeys(match.group() for match in LABEL.finditer(point)))
    title = _TITLE.match(point)
    said = _in_a_line(LABEL.sub("", point[title.end() :] if title else point)).strip()
    if not said:
        return {}
    if _ROW.fullmatch(said):
        return {**dict(cell.split(": ", 1) for cell in said.split("; ")), _WHERE: where}
    best = max(_SENTENCE.split(said), key=lambda one: len(set(stems(one)) & set(asked)))
    short = said if len(said) <= SHORT else best[:SHORT]
    return {**({_ABOUT: title["title"]} if title else {}), _SAID: short, _WHERE: where}
