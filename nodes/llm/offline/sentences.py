"""Sentences as they stand in a text: cut out to the letter, and only those that can be read on their own.

Labelled passages in what tools returned, and sentences in them with the narrowest label that is sure.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

SHORTEST, LONGEST = 18, 520
"""Characters of a sentence worth quoting."""
FEWEST_WORDS = 4
LONGEST_WITH_SUBJECT = 360
"""Characters up to which a sentence that begins with a pronoun is cut out together with what it speaks of."""

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(?P<title>.+?)\s*#*\s*$")
_RULE = re.compile(r"^\s*(?:[-=*_~^]\s*){3,}$")
_TABLE = re.compile(r"^\s*\||\|.*\||\|\s*$")
_MARK = re.compile(r"^\s*(?:(?:[-*+•▪◦–]|\d{1,3}[.)]|[a-z]\))\s+(?:\[[ xX]\]\s+)?|>\s?)+")
_END = re.compile(r"[.!?…][\"'”’)\]*_`]*(?=\s+[\"'“‘(\[*_`]*[A-Z0-9À-ÖØ-Þ\u0370-\u04ff])|[。！？][」』）]?|\t+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|cf|etc|approx|no|fig|inc|ltd|corp|co|mr|mrs|ms|dr|prof|st|sec|ch|ca|u\.s|al)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"^(?:it|its|they|their|he|his|she|her|this|these|those|such)\b", re.IGNORECASE)
_CLOSED = re.compile(r"[.!?…。！？][\"'”’)\]*_`」』）]*$")
_CODE = re.compile(r"[{}<>]|;\s*$|:=|==|=>|->|\w\(\w*\)|^\s*(?:def|class|import|func|var|const|return)\s|[│├└─]|\\$")
_FURNITURE = re.compile(
    r"\b(?:all rights reserved|back to top|table of contents|click here|read more|subscribe|sign up|cookie|"
    r"log in|share this|skip to|terms of (?:use|service)|privacy policy|edit this page|was this page)\b|©|"
    r"^\w+\s*:\s*https?:|"
    r"^\W*(?:sources?|references?|bibliography|see also|further reading|credits?|image|figure \d+)\s*:",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"^\W*(?:\d+\W+)?(?:sources?|references?|bibliography|further reading|see also|links?|contents)\W*$", re.IGNORECASE
)
_SPAN_OF_CODE = re.compile(r"`[^`\n]*`|https?://\S+|\]\([^)\s]*\)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it stands in its text."""

    text: str
    start: int
    """Where it begins in the text, in characters."""
    heading: str = ""
    """The heading above it, if the text has one."""
    item: bool = False
    """Whether it is an item of a list."""


def sentences_in(text: str) -> list[Sentence]:
    """The sentences of `text` worth quoting, in order; headings, code, tables and page furniture are left out."""
    return [s for block in _blocks(text) for s in _cut(block) if is_quotable(s, at_start=not text[: s.start].strip())]


def is_quotable(sentence: Sentence, *, at_start: bool = False) -> bool:
    """Whether it is prose that says something by itself. `at_start`: it may be the second half of one."""
    text = sentence.text
    plain = _SPAN_OF_CODE.sub("code", text)
    letters = sum(ch.isalpha() or ch.isspace() for ch in plain)
    cjk = any("\u3040" <= ch <= "\u9fff" for ch in plain)
    long_enough = len(text) >= SHORTEST // 3 if cjk else len(text) >= SHORTEST and len(plain.split()) >= FEWEST_WORDS
    whole = sentence.item or bool(_CLOSED.search(text))
    half = at_start and text[:1].islower() and not sentence.item
    prose = letters >= 0.7 * len(plain) and not _CODE.search(plain) and not _FURNITURE.search(text)
    listed = bool(_REFERENCES.match(sentence.heading)) or text.count(";") > 2 or text.rstrip("*_ ").endswith(":")
    return long_enough and len(text) <= LONGEST and whole and prose and not half and not listed


@dataclass(slots=True)
class _Block:
    text: str
    start: int
    heading: str
    item: bool


def _blocks(text: str) -> Iterator[_Block]:
    """Paragraphs and list items, each with the heading above it."""
    heading, block, fenced, start = "", None, False, 0
    for line in text.splitlines(keepends=True):
        bare, begin = line.rstrip(), start
        start += len(line)
        fence, title, mark = _FENCE.match(bare), _HEADING.match(bare), _MARK.match(bare)
        if block and bare and _is_title(block, bare):
            heading, block = block.text.strip(), None
        breaks = bool(fence or title or mark or fenced or not bare or _RULE.match(bare) or _TABLE.search(bare))
        if breaks and block:
            heading = _ended(block, heading)
            yield replace_heading(block, heading)
            block = None
        fenced ^= bool(fence)
        heading = title["title"] if title and not fenced else heading
        if mark and not (fenced or fence or _RULE.match(bare)):
            block = _Block(line[mark.end() :], begin + mark.end(), heading, ">" not in mark.group())
        elif not breaks and block:
            block.text += line
        elif not breaks:
            block = _Block(line, begin, heading, item=False)
    if block:
        yield replace_heading(block, heading)


def replace_heading(block: _Block, heading: str) -> _Block:
    """The block below `heading`."""
    block.heading = heading
    return block


def _is_title(block: _Block, after: str) -> bool:
    """Whether the only line so far is the title of the text that follows right below it."""
    text = block.text.strip()
    lone = "\n" not in text and len(text) < 50 and len(text.split()) <= 7 and not block.item
    return lone and not _CLOSED.search(text) and after[:1].isupper() and len(after) > len(text)


def _ended(block: _Block, heading: str) -> str:
    """The heading from here on: a short line of its own, without an end, is one."""
    text = block.text.strip()
    lone = "\n" not in text and not block.item and len(text.split()) <= 9 and len(text) < 80
    return text.rstrip(":") if lone and not _CLOSED.search(text) and text[:1].isalnum() else heading


def _cut(block: _Block) -> Iterator[Sentence]:
    """The sentences of a block; an abbreviation ends none, and one about “it” begins where “it” is named."""
    begin = subject = 0
    ends = [m.end() for m in _END.finditer(block.text) if not _ABBREVIATION.search(block.text[begin : m.end()])]
    for end in [*ends, len(block.text)]:
        raw = block.text[begin:end]
        text = raw.strip()
        if text:
            start = begin + len(raw) - len(raw.lstrip())
            item = block.item and (begin == 0 or bool(_CLOSED.search(text)))
            if not _PRONOUN.match(text):
                subject = start
            elif len(whole := block.text[subject:end].strip()) <= LONGEST_WITH_SUBJECT:
                text, start = whole, subject
            yield Sentence(text, block.start + start, block.heading, item)
        begin = end


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
