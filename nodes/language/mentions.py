"""What an answer names: the things that a follow-up means by `the second one`, `the last two` or `both`.

They are looked for where answers list things: figures and rows of tables, list items, and the series in the sentence
that says most of the question (`three ways to log in: API keys, OAuth and mutual TLS`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.language.words import STOP_WORDS, stems
from state.citation import LABEL

MOST_THINGS = 12
LONGEST_THING = 6
"""Words of the name of a thing; what is longer is a statement."""

_FIGURES = re.compile(r"^[-*] (?P<title>[^:\n]{3,}): (?P<series>.+?)\.?$")
_SUPERLATIVE = re.compile(r"\b(?:[a-z]{2,}est|most|least|best|worst)\b", re.IGNORECASE)
_ROW = re.compile(r"^(?:> )?(?P<column>[^:;\n]{1,60}): (?P<value>[^;\n]+)(?:; [^:;\n]{1,60}: [^;\n]*)+$")
_ITEM = re.compile(r"^(?:> ?)?\s*(?:[-*•]|\d{1,2}[.)])\s+(?P<item>.+)$")
_LEAD = re.compile(r"(?:\*\*|`)(?P<marked>[^*`]+)(?:\*\*|`)|(?P<plain>[^.:;,(–—]+)")
_AMOUNT = re.compile(r"\s*(?:\((?:[^()]*)\)|:? ?-?[\d.,]+(?: %)?)$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_FIRST = re.compile(r"^.*(?:[:;]|\b(?:of|are|is|includes?|with|has|have|were|was|by|as|elects?|needs?|knows?))\s+")
_JOINT = re.compile(r",?\s+(?:and|or)\s+|,\s+")
_NAME = re.compile(r"[\w'’.+#/&`* -]+")
_DETERMINED = re.compile(r"^(?:the|an?|its|their|our)\s+", re.IGNORECASE)


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
    found = computed or _rows(lines) or _items(lines) or _series(lines, asked)
    things = tuple(dict.fromkeys(thing for one in found if (thing := one.strip(" .*`“”"))))[:MOST_THINGS]
    is_one = len(things) == 1 or (bool(computed) and bool(_SUPERLATIVE.search(question)))
    return Mentions(things, bool(computed), things[0] if is_one else "")


def _computed(lines: Sequence[str], asked: set[str]) -> list[str]:
    """The names in figures: `Lowest price: Dash (40) and Volt (60).`; of rows the cell that was asked for."""
    found = [match for line in lines if (match := _FIGURES.match(line))]
    cells = [match["series"].split("; ")[-1].split() for match in found if match["title"].startswith("In ")]
    values = [" ".join(cell[1:]) for cell in cells if set(stems(cell[0])) & asked]
    named = [[_AMOUNT.sub("", one) for one in _JOINT.split(match["series"])] for match in found]
    return values if cells else named[0] if named and len(named[0]) > 1 else []


def _rows(lines: Sequence[str]) -> list[str]:
    """What rows of a table begin with, in their own words or as Markdown."""
    drawn = [line.strip("| ").split(" | ")[0] for line in lines if line.startswith("|") and "---" not in line]
    return [match["value"] for line in lines if (match := _ROW.match(line))] or drawn[1:]


def _items(lines: Sequence[str]) -> list[str]:
    items = [lead for line in lines if (item := _ITEM.match(line)) and (lead := _LEAD.match(item["item"]))]
    found = [(lead["marked"] or lead["plain"]).strip() for lead in items]
    return found if len(found) > 1 and all(len(one.split()) <= LONGEST_THING for one in found) else []


def _series(lines: Sequence[str], asked: set[str]) -> list[str]:
    """The series in the sentence that says most of the question; the first of those that say as much."""
    best, most = list[str](), 0
    for sentence in (one for line in lines for one in _SENTENCE.split(line.lstrip("> "))):
        parts = [one.strip(" .") for one in _JOINT.split(sentence)]
        if len(parts) < 2 or not re.search(r"\b(?:and|or)\b", sentence):
            continue
        first = _FIRST.sub("", parts[0]).split()
        known = max((n for n, word in enumerate(first[:-1], start=1) if set(stems(word)) & asked), default=0)
        series = [_DETERMINED.sub("", one) for one in [" ".join(first[known:]), *parts[1:]]]
        *qualities, head = [one.rpartition(" ") for one in series]
        if set(stems(head[2])) & asked and head[0] and not any(one[0] for one in qualities):
            # active, supporting and junior members
            series[:-1] = [f"{quality} {head[2]}" for _, _, quality in qualities]
        share = len(set(stems(sentence)) & asked)
        if share > most and all(0 < len(one.split()) <= LONGEST_THING and _is_name(one) for one in series):
            best, most = series, share
    return best


def _is_name(words: str) -> bool:
    said = words.lower().split()
    return (
        bool(_NAME.fullmatch(words))
        and said[0] not in STOP_WORDS
        and not set(said) & {"is", "are", "has", "have", "does", "may", "can", "must"}
    )
