"""Labelled passages in what tools returned, and sentences in them with the narrowest label that is sure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nodes.llm.offline.sentences import Sentence, sentences_in

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

    def label_of(self, start: int, end: int) -> str:
        """The label of a part of it: its own lines where the passage shows each of its lines, else the passage's."""
        lines = _LINES.fullmatch(self.place)
        if not lines:
            return self.label
        first, last = int(lines[1]), int(lines[2] or lines[1])
        if self.text.count("\n") != last - first:
            return self.label
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
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
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
            label = passage.label_of(sentence.start, sentence.start + len(sentence.text))
            quote = Quote(sentence.text, passage.file, label, sentence.heading, number)
            held = found.get((passage.file, sentence.text))
            if held is None or len(label) < len(held.label):
                found[passage.file, sentence.text] = quote
    return list(found.values())


def _sentences(passage: Passage) -> list[Sentence]:
    """Sentences of prose; a row of a table is computed with, not quoted."""
    return [] if passage.place.startswith("r") else sentences_in(passage.text)
