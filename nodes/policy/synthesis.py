"""Putting results together (chapter 15.9, t7): deduplicate, filter, keep every source."""

import re
from collections.abc import Iterable, Sequence

from rapidfuzz import fuzz

from state.citation import Citation, Claim
from state.outcome import Outcome

NEAR = 88.0
"""Claims this alike (0 to 100, rapidfuzz `token_sort_ratio`) say the same, unless their numbers differ."""
SHORTEST = 12
"""Characters under which a line is a heading or a filler, not a claim."""

_EMPTY = re.compile(r"^\W*(n/?a|none|no (results?|findings?|information)( found)?|todo|unknown)\W*$", re.IGNORECASE)
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


def deduplicate(claims: Iterable[Claim]) -> list[Claim]:
    """Each statement once; of near duplicates the first stays and takes over the others' citations."""
    kept: list[Claim] = []
    exact: dict[str, int] = {}
    for claim in claims:
        key = " ".join(claim.text.lower().split())
        place = exact.get(key)
        if place is None:
            place = next((n for n, other in enumerate(kept) if says_the_same(claim.text, other.text)), None)
        if place is None:
            exact[key] = len(kept)
            kept.append(claim)
        else:
            kept[place] = kept[place].model_copy(update={"citations": _union(kept[place].citations, claim.citations)})
    return kept


def says_the_same(one: str, other: str) -> bool:
    """Whether two statements are near duplicates: almost the same words, and the same numbers."""
    if _NUMBER.findall(one) != _NUMBER.findall(other):
        return False
    return fuzz.token_sort_ratio(one, other, processor=str.lower) >= NEAR


def _union(mine: Sequence[Citation], theirs: Sequence[Citation]) -> list[Citation]:
    """All places, each once; of two citations of one place, one with a quote."""
    found: dict[str, Citation] = {}
    for citation in [*mine, *theirs]:
        if citation.label not in found or not found[citation.label].quote:
            found[citation.label] = citation
    return list(found.values())
