"""Sentences as they stand in a text: cut out to the letter, and only those that can be read on their own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
