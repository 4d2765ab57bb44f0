"""Which sentences matter: those that say most about what is asked, from several files, each thing once."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from nodes.llm.offline.sentences import Quote
from nodes.llm.offline.words import keywords, terms

NEAR = 85.0
"""Sentences this alike (0 to 100, rapidfuzz `token_set_ratio`) say the same."""
FILES_WANTED = 4
"""From so many files the best sentence is taken first, where they have something to say."""
CORE = 0.8
"""Weight from which on a word is what the task is about, not only what the request is about."""
WEAKEST = 0.4
"""Share of the best sentence's score below which a sentence adds nothing."""
ELSEWHERE = 0.3
"""The same for the best sentence of another file."""
NUMBERS = re.compile(
    r"\b(?:how (?:many|much|large|big|fast|often)|size|number|amount|revenue|price|pricing|cost|growth|rate|percent\w*|"
    r"share|average|mean|total|sum|count|statistics?|figures?|benchmarks?|market size|trend)\b",
    re.IGNORECASE,
)
"""Words that ask for figures."""

_DANGLING = re.compile(
    r"^(?:this|that|these|those|it|they|he|she|such|here|there|but|so|however|then|also|and|or)\b", re.IGNORECASE
)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|prompt|rule|previous|above|request)|"
    r"\b(?:as an ai|system prompt|you are now|dear (?:ai|model|assistant|agent))\b",
    re.IGNORECASE,
)
_FIRST_SENTENCE = re.compile(r"^.{30,}?[.!?](?=\s)", re.DOTALL)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Focus:
    """What is asked, as weighted stems."""

    weights: dict[str, float]
    core: frozenset[str]
    """Stems of the task itself: a sentence that has none of them is beside the point."""
    numbers: bool = False
    """Whether figures are asked for."""
    surface: dict[str, str] = field(default_factory=dict)
    """The words as they were written, by stem."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A quote and how much it says about what is asked."""

    quote: Quote
    score: float
    matched: frozenset[str]


def focus_on(weighted: Sequence[tuple[str, float]]) -> Focus:
    """A focus from texts and their weights, the most important first; a word counts with its highest weight."""
    weights: dict[str, float] = {}
    surface: dict[str, str] = {}
    for text, weight in weighted:
        for key, word in keywords(text).items():
            surface.setdefault(key, word)
            weights[key] = max(weight, weights.get(key, 0.0))
    heavy = max((weight for text, weight in weighted if keywords(text)), default=1.0)
    core = frozenset(key for key, weight in weights.items() if weight >= min(heavy, CORE))
    numbers = any(NUMBERS.search(text) for text, weight in weighted if weight >= 1)
    return Focus(weights, core, numbers, surface)


def scored(quotes: Sequence[Quote], focus: Focus) -> list[Scored]:
    """The quotes that are to the point, best first; ties in the order they came."""
    bags = [(set(terms(quote.text)), set(terms(quote.heading))) for quote in quotes]
    spread = Counter(key for body, head in bags for key in body | head)
    found = []
    for quote, (body, head) in zip(quotes, bags, strict=True):
        matched = frozenset((body | head) & focus.weights.keys())
        if is_to_the_point(matched, focus):
            parts = (
                (1.0 if key in body else 0.5) * focus.weights[key] * _rarity(spread[key], len(bags))
                for key in sorted(matched)
            )
            found.append(Scored(quote, sum(parts) * _quality(quote, focus), matched))
    return sorted(found, key=lambda item: -item.score)


def is_to_the_point(matched: frozenset[str], focus: Focus) -> bool:
    """Whether enough of what is asked is in it: a word of the task, and two words in all where there are two."""
    hits = len(matched & focus.core)
    return hits >= 1 and len(matched) >= min(2, len(focus.weights)) and len(matched) >= min(len(focus.core), 8) / 4


def central(quotes: Sequence[Quote]) -> list[Scored]:
    """The quotes that say what the others are about too, best first: for a request that names no subject."""
    bags = [set(terms(quote.text)) for quote in quotes]
    spread = Counter(key for body in bags for key in body)
    focus = Focus({}, frozenset())
    found = []
    for quote, body in zip(quotes, bags, strict=True):
        common = sum(math.log(spread[key]) for key in body if spread[key] > 1)
        found.append(Scored(quote, common / math.sqrt(len(body) + 1) * _quality(quote, focus), frozenset(body)))
    return sorted((item for item in found if item.score > 0), key=lambda item: -item.score)


def chosen(ranked: Sequence[Scored], limit: int) -> list[Scored]:
    """At most `limit`: first the best of each of `FILES_WANTED` files, then the best of the rest; none said twice."""
    picks: list[Scored] = []
    best = ranked[0].score if ranked else 0.0
    strong = [item for item in ranked if item.score >= WEAKEST * best]
    for item in ranked:
        if item.score < ELSEWHERE * best:
            break
        if len(picks) < min(FILES_WANTED, limit) and all(item.quote.file != other.quote.file for other in picks):
            _take(item, picks)
    for most in (limit // 3 + 1, limit):
        for item in strong:
            if len(picks) < limit and sum(item.quote.file == other.quote.file for other in picks) < most:
                _take(item, picks)
    return sorted(picks, key=lambda item: -item.score)


def says_the_same(one: str, other: str) -> bool:
    """Whether one of two sentences adds nothing to the other: the same words, and the same numbers."""
    if re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return False
    shorter, longer = sorted((len(one), len(other)))
    return shorter > longer * 0.5 and fuzz.token_set_ratio(one, other, processor=str.lower) >= NEAR


def overlaps(one: Quote, other: Quote) -> bool:
    """Whether one of two quotes is a part of the other, or both begin with the same sentence."""
    first, second = sorted((one.text, other.text), key=len)
    start = _FIRST_SENTENCE.match(first)
    return one.file == other.file and (first in second or (start is not None and second.startswith(start.group())))


def coverage(picks: Iterable[Scored], focus: Focus) -> float:
    """Share of the task's words that the picked sentences speak of, 0 to 1."""
    hit = frozenset().union(*(pick.matched for pick in picks)) & focus.core
    return len(hit) / len(focus.core) if focus.core else 0.0


def _take(item: Scored, picks: list[Scored]) -> None:
    """Pick it, unless that is said; of two that overlap the one that says more of what is asked."""
    if item in picks:
        return
    overlapping = next((n for n, other in enumerate(picks) if overlaps(item.quote, other.quote)), None)
    if overlapping is not None:
        picks[overlapping] = item if item.matched > picks[overlapping].matched else picks[overlapping]
    elif not any(says_the_same(item.quote.text, other.quote.text) for other in picks):
        picks.append(item)


def _rarity(count: int, total: int) -> float:
    """Inverse document frequency over the sentences at hand, kept above 0."""
    return math.log(1 + total / count)


def _quality(quote: Quote, focus: Focus) -> float:
    """How well it reads by itself, around 1."""
    text = quote.text
    factor = 1.0 if len(text) <= 280 else 280 / len(text)
    factor *= 0.6 if _DANGLING.match(text) else 1.0
    factor *= 0.5 if text.endswith("?") else 1.0
    factor *= 0.1 if _ORDERS.search(text) else 1.0
    factor *= 0.85 if '"' in text else 1.0
    factor *= 0.9 if "\n" in text else 1.0
    if _DIGIT.search(text):
        factor *= 1.35 if focus.numbers else 1.05
    return factor * (1 + 0.3 / (1 + quote.passage / 4))
