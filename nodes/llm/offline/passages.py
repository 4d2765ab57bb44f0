"""Labelled passages in what tools returned, and sentences in them with the narrowest label that is sure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from nodes.llm.offline.sentences import Sentence, sentences_in

WRAPPED = 55
"""Characters from which on a line looks like one that was wrapped."""

_LABELLED = re.compile(
    r"^\[(?P<file>[^\[\]#\n]{1,400})#(?P<place>[Lpr]\d+(?:-[Lpr]\d+)?)\](?P<gap>[ \t]*\n|[ \t]?)", re.MULTILINE
)
_LINES = re.compile(r"L(\d+)(?:-L(\d+))?")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source as a tool showed it."""

    file: str
    place: str
    text: str

    @property
    def label(self) -> str:
        """The form that stands in texts: `[file#place]`."""
        return f"[{self.file}#{self.place}]"

    @property
    def span(self) -> tuple[int, int] | None:
        """Its first and last line, where it is cited by lines."""
        lines = _LINES.fullmatch(self.place)
        return (int(lines[1]), int(lines[2] or lines[1])) if lines else None

    @property
    def is_closed_up(self) -> bool:
        """Whether lines of it are not shown (blank ones): what looks like two lines may be two paragraphs."""
        return self.span is not None and self.text.count("\n") != self.span[1] - self.span[0]

    def label_of(self, start: int, end: int) -> str:
        """The label of a part of it: its own lines where the passage shows each of its lines, else the passage's."""
        if self.span is None or self.is_closed_up:
            return self.label
        first = self.span[0]
        begin = first + self.text.count("\n", 0, start)
        until = first + self.text.count("\n", 0, end)
        return f"[{self.file}#L{begin}]" if begin == until else f"[{self.file}#L{begin}-L{until}]"


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a source, to the letter, with its label."""

    text: str
    file: str
    label: str
    heading: str
    passage: int
    """The number of the passage it stands in: tools return the best first."""


def passages_in(text: str) -> list[Passage]:
    """The passages in one tool result; lines beyond the label's range are the tool's own words and are cut."""
    found = []
    marks = list(_LABELLED.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    for mark, end in zip(marks, ends, strict=True):
        body = text[mark.end() : end].rstrip()
        lines = _LINES.fullmatch(mark["place"])
        if lines:
            most = int(lines[2] or lines[1]) - int(lines[1]) + 1
            body = "\n".join(body.split("\n")[:most]).rstrip()
        found.append(Passage(mark["file"], mark["place"], body))
    return found


def quotes_in(passages: Iterable[Passage]) -> list[Quote]:
    """Every quotable sentence of the passages, each once, in order."""
    found: dict[tuple[str, str], Quote] = {}
    for number, passage in enumerate(passages):
        for sentence in _sentences(passage):
            if passage.is_closed_up and _may_span_paragraphs(sentence.text):
                continue
            label = passage.label_of(sentence.start, sentence.start + len(sentence.text))
            quote = Quote(sentence.text, passage.file, label, sentence.heading, number)
            held = found.get((passage.file, sentence.text))
            if held is None or len(label) < len(held.label):
                found[passage.file, sentence.text] = quote
    return list(found.values())


def _may_span_paragraphs(text: str) -> bool:
    """Whether a line break in it need not be one inside a paragraph: a short line before it, a capital after it."""
    lines = text.split("\n")
    return any(len(one) < WRAPPED and not other[:1].islower() for one, other in pairwise(lines))


def _sentences(passage: Passage) -> list[Sentence]:
    """Sentences of prose; a row of a table is computed with, not quoted."""
    return [] if passage.place.startswith("r") else sentences_in(passage.text)
