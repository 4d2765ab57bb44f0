"""Results are deduplicated and filtered (row M10): claims, and texts that are put one after the other."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from math import log

from rapidfuzz import fuzz, process

from state.citation import LABEL, Citation, Claim, without_labels
from state.record import Outcome

NEAR = 88.0
"""Claims this alike (0 to 100, rapidfuzz `token_sort_ratio`) say the same, unless their numbers differ."""
SHORTEST = 12
"""Characters under which a line is a heading or a filler, not a claim."""

LONG = 40
"""Characters from which on two blocks in almost the same words are one; a shorter one may be said of two things."""
SAID_ABOVE = "The passages above say it."

_EMPTY = re.compile(r"^\W*(n/?a|none|no (results?|findings?|information)( found)?|todo|unknown)\W*$", re.IGNORECASE)
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*\n?|\Z)", re.MULTILINE | re.DOTALL)
_POINTS = re.compile(r"(\n{2,}(?=\*\*|>|#|- |\w)|\n(?=- ))")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def claims_of(outcomes: Iterable[Outcome]) -> list[Claim]:
    """The claims of all outcomes that were delivered, filtered and deduplicated, in order."""
    return deduplicate(
        claim for outcome in outcomes if outcome.status == "done" for claim in outcome.claims if is_worth_keeping(claim)
    )


def is_worth_keeping(claim: Claim) -> bool:
    """Whether it says anything: not empty, not a heading, not an excuse."""
    text = claim.text.strip()
    return len(text) >= SHORTEST and not _EMPTY.match(text) and not text.startswith("#")


def without_repeats(texts: Sequence[str]) -> list[str]:
    """The texts without what was said before, whose first place takes over the labels; nothing that says nothing.

    Headings and fenced code stay. Of two quotations of one place the first stays. A section left empty says so.
    """
    said, places, passages = Said(), list[list[str]](), set[str]()
    kept: list[list[list[str]]] = []
    for text in texts:
        kept.append([])
        all_blocks, left = blocks(text.strip()), ""
        for gap, block in all_blocks:
            labels = [match.group() for match in LABEL.finditer(block)]
            words = " ".join(without_labels(block).split())
            entry = [max(gap, left, key=len), block]
            if block.startswith(("#", "```", "~~~")):
                kept[-1].append(entry)
            elif labels and block.startswith((">", "**")):
                kept[-1] += [] if str(labels) in passages else [entry]
                passages.add(str(labels))
            elif len(words) >= LONG and (place := said.find(words)) is not None:
                places[place][1] += "".join(f" {label}" for label in labels if label not in places[place][1])
            elif not _EMPTY.match(words):
                kept[-1].append(entry)
                if len(words) >= LONG:
                    said.add(words)
                    places.append(entry)
            left = "" if kept[-1] and kept[-1][-1] is entry else entry[0]
        if len(kept[-1]) < len(all_blocks) and all(block.startswith("#") for _, block in kept[-1]):
            kept[-1].append(["\n\n", SAID_ABOVE])
    return [found for entries in kept if (found := "".join(part for entry in entries for part in entry).strip())]


def blocks(text: str) -> list[tuple[str, str]]:
    """Headings, list items, paragraphs and quotations with their label, each with the gap before it.

    A bold line goes with the quotation below it; fenced code is one block.
    """
    found: list[tuple[str, str]] = []
    end = 0
    for fence in [*_FENCED.finditer(text), None]:
        pieces = _POINTS.split(text[end : fence.start() if fence else len(text)])
        for gap, block in zip(["", *pieces[1::2]], pieces[::2], strict=True):
            if found and found[-1][1].startswith("**") and "\n" not in found[-1][1] and block.startswith(">"):
                found[-1] = (found[-1][0], f"{found[-1][1]}{gap}{block}")
            elif block:
                found.append((gap, block))
        if fence:
            found.append(("", fence.group()))
            end = fence.end()
    return found


def deduplicate(claims: Iterable[Claim]) -> list[Claim]:
    """Each statement once; of near duplicates the first stays and takes over the others' citations."""
    kept: list[Claim] = []
    known = Said()
    places: dict[str, int] = {}
    for claim in claims:
        key = " ".join(claim.text.lower().split())
        if key not in places:
            same = known.find(claim.text)
            places[key] = len(kept) if same is None else same
        place = places[key]
        if place == len(kept):
            known.add(claim.text)
            kept.append(claim)
        else:
            kept[place] = kept[place].model_copy(update={"citations": _union(kept[place].citations, claim.citations)})
    return kept


class Said:
    """Statements that were made, and whether another one says the same: almost the same words, and the same numbers.

    Only those with the same numbers and of about the same length are compared: at a similarity of s the shorter of two
    has at least s / (2 - s) times as many characters as the longer (rapidfuzz `ratio` counts insertions and deletions).
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._blocks: defaultdict[tuple[str, int], dict[int, str]] = defaultdict(dict)
        """By numbers and scale of length: each statement's place and its words in order."""
        self._count = 0
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One statement more."""
        numbers, scale, words = _measured(text)
        self._blocks[numbers, scale][self._count] = words
        self._count += 1

    def find(self, text: str) -> int | None:
        """The place of the first statement that says the same, from 0; None if none does."""
        numbers, scale, words = _measured(text)
        found: list[int] = []
        for near in (scale - 1, scale, scale + 1):
            if not (block := self._blocks.get((numbers, near))):
                continue
            alike = process.extract_iter(words, block, scorer=fuzz.ratio, score_cutoff=NEAR)
            found += [place for _, _, place in islice(alike, 1)]
        return min(found, default=None)


_SCALE = log((200 - NEAR) / NEAR)
"""Lengths that differ by this factor's logarithm at most may be alike."""


def _measured(text: str) -> tuple[str, int, str]:
    words = " ".join(sorted(text.lower().split()))
    return " ".join(_NUMBER.findall(text)), int(log(len(words) + 1) / _SCALE), words


def _union(mine: Sequence[Citation], theirs: Sequence[Citation]) -> list[Citation]:
    """All places, each once; of two citations of one place, one with a quote."""
    found: dict[str, Citation] = {}
    for citation in [*mine, *theirs]:
        if citation.label not in found or not found[citation.label].quote:
            found[citation.label] = citation
    return list(found.values())
