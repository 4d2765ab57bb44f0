"""What an answer names: the things that a follow-up means by `the second one`, `the last two` or `both`.

They are looked for where answers list things: figures and rows of tables, and list items. One name that the sentence
says which says most of the question is its answer, where it asks for somebody or for one of a kind.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.language.subjects import phrases
from nodes.language.words import stems
from state.citation import LABEL

MOST_THINGS = 12
LONGEST_THING = 6
"""Words of the name of a thing; what is longer is a statement."""

_FIGURES = re.compile(r"^[-*] (?P<title>[^:\n]{3,}): (?P<series>.+?)\.?$")
_CELLS = re.compile(r"^[-*] In [^,:;]+[,:] (?P<cells>.+?)\.?$")
"""A row that was looked up; reports of earlier versions say `In bikes: year 2024; model Brisa`."""
_SUPERLATIVE = re.compile(r"\b(?:[a-z]{2,}est|most|least|best|worst)\b", re.IGNORECASE)
_ASKS_FOR_ONE = re.compile(rf"who\b|(?:which|what)\b.*{_SUPERLATIVE.pattern}|which [a-z]+[^\Ws] \b", re.IGNORECASE)
_ROW = re.compile(r"^(?:> )?(?P<column>[^:;\n]{1,60}): (?P<value>[^;\n]+)(?:; [^:;\n]{1,60}: [^;\n]*)+$")
_ITEM = re.compile(r"^(?:> ?)?\s*(?:[-*•]|\d{1,2}[.)])\s+(?P<item>.+)$")
_LEAD = re.compile(r"(?:\*\*|`)(?P<marked>[^*`]+)(?:\*\*|`)|(?P<plain>[^.:;,(–—]+)")
_FIGURE = re.compile(r"(?P<name>.+?)(?: \((?P<ranked>[^()]*)\)|:? (?P<value>-?[\d.,]+(?: %)?)(?: \([^()]*\))?)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_JOINT = re.compile(r",?\s+(?:and|or)\s+|,\s+")


@dataclass(frozen=True, slots=True)
class Mentions:
    """The things that an answer names."""

    things: tuple[str, ...] = ()
    """In their order; none where it lists nothing."""
    are_computed: bool = False
    """Whether they are what figures are of, or rows that were asked for: then they are the answer, all of them."""
    one: str = ""
    """The thing that is the answer: the only one, or the first where the question asks for a superlative."""


def mentions_in(answer: str, question: str) -> Mentions:
    """What the answer to a question names."""
    lines = [line.strip() for line in LABEL.sub("", answer).splitlines() if line.strip()]
    asked = set(stems(question))
    computed = _computed(lines, asked)
    found = computed or _rows(lines) or _items(lines)
    things = tuple(dict.fromkeys(thing for one in found if (thing := one.strip(" .*`“”"))))[:MOST_THINGS]
    is_one = len(things) == 1 or (bool(computed) and bool(_SUPERLATIVE.search(question)))
    return Mentions(things, bool(computed), things[0] if is_one else "" if things else _named(lines, asked, question))


def _named(lines: Sequence[str], asked: set[str], question: str) -> str:
    """The one name in the sentence that says most of a question for somebody, or for one of a kind."""
    if not _ASKS_FOR_ONE.match(question) or len(asked) < 2:
        return ""
    sentences = [one for line in lines for one in _SENTENCE.split(line.lstrip("> "))]
    best = max(sentences, key=lambda one: len(set(stems(one)) & asked), default="")
    found = [one for one in phrases(best) if set(stems(one)).isdisjoint(asked)]
    return found[0] if len(found) == 1 else ""


def figures_in(line: str) -> tuple[str, list[tuple[str, str]]]:
    """What figures are called, and name and amount of each: `- Lowest price: Dash (40) and Volt (60).`."""
    found = _FIGURES.match(line)
    if not found or _CELLS.match(line):
        return "", []
    if ": " in found["series"]:
        pairs = [one.partition(": ") for one in found["series"].split("; ")]
        return found["title"], [(name, value) for name, _, value in pairs]
    series = [match for one in _JOINT.split(found["series"]) if (match := _FIGURE.fullmatch(one))]
    return found["title"], [(one["name"], one["ranked"] or one["value"] or "") for one in series]


def _computed(lines: Sequence[str], asked: set[str]) -> list[str]:
    """The names in figures; of rows the cell that was asked for."""
    cells = [match["cells"].split("; ")[-1] for line in lines if (match := _CELLS.match(line))]
    rows = [cell.partition(": " if ": " in cell else " ") for cell in cells]
    values = [value for name, _, value in rows if set(stems(name)) & asked]
    named = next((found for line in lines if (found := [name for name, _ in figures_in(line)[1]])), [])
    return values if rows else named if len(named) > 1 else []


def _rows(lines: Sequence[str]) -> list[str]:
    """What rows of a table begin with, in their own words or as Markdown."""
    drawn = [line.strip("| ").split(" | ")[0] for line in lines if line.startswith("|") and "---" not in line]
    return [match["value"] for line in lines if (match := _ROW.match(line))] or drawn[1:]


def _items(lines: Sequence[str]) -> list[str]:
    items = [lead for line in lines if (item := _ITEM.match(line)) and (lead := _LEAD.match(item["item"]))]
    found = [(lead["marked"] or lead["plain"]).strip() for lead in items]
    return found if len(found) > 1 and all(len(one.split()) <= LONGEST_THING for one in found) else []
