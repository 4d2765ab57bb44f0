"""Full-text search over passages: SQLite FTS5 (BM25, Robertson and Zaragoza 2009), then a second look at the best.

FTS5 holds stems, so that a question and a text meet whatever their endings. Its best `POOL` passages are ranked again
by how much of the question they speak of, by weight: a word that few passages have weighs more (inverse document
frequency), and a passage that has all words is worth more than one that has one of them ten times.
"""

import json
import math
import re
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nodes.language.words import DEGREES, LIGHT, STOP_WORDS, keywords, stem, stems, words
from nodes.tools.likeness import TextVectors
from nodes.tools.passages import Passage, place

WEIGHTS = (1.5, 2.0, 1.0)
"""Of a match in the file name, the headings, the text."""
POOL = 120
"""Passages of BM25 that are ranked again."""
TERMS = 64
DEEP = 3
"""The best passages that a question's cover is measured in."""
LIKELY = {"cover": 2.2, "fit": 1.7, "words": 2.1, "passages": -0.44, "unknown": -2.2, "row": -1.3, "always": -5.15}
"""How likely the best passages answer, as a logistic function.

It is one of the share of the query that one of them speaks of, of the score of the best, of the logarithms of the
number of words that were asked for (much in a long question is about something else) and of the number of passages
(where there are many, any word stands somewhere), of text alone where the best is one, of whether a word stands in no
passage, and of whether the best is a row. Fitted to 307 questions that texts answer and 79 that they do not, on 43
folders with up to 18,600 passages of text. At one half, one in 20 of the first is below, and four in five of the
others.
"""
ROWS_OF_A_TABLE = 2
"""Rows of one table among the best; more come after the texts."""
MEANING = 5.0
"""Weight of how near a passage is to the question in meaning, as a share of the nearest's, where it is known.

Of 458 questions on texts 329 to 332 have their answer among the first three with 4 to 7 of it.
"""
TOGETHER = 700
"""Characters up to which passages near each other in a file are shown as one, with what stands between them.

Up to two thirds of that, what follows in the same section is shown with a passage.
"""
WINDOW = 16
"""Words within which words of the question stand together."""
CREATE = "CREATE VIRTUAL TABLE passage USING fts5(file, trail, text, tokenize='unicode61 remove_diacritics 0')"
VOCABULARY = "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(passage, 'row')"
SELECT = "SELECT rowid, bm25(passage, ?, ?, ?) AS rank FROM passage WHERE passage MATCH ? ORDER BY rank, rowid LIMIT ?"
AMONG = SELECT.replace(
    "ORDER", "AND rowid IN (SELECT rowid FROM passage WHERE passage MATCH ? UNION SELECT value FROM json_each(?)) ORDER"
)
EVERYWHERE = 1.5
"""Weight of a word below which it stands nearly everywhere: in more than a fifth of the passages."""
INTRODUCES = 2.0
"""What the beginning of a text that introduces is worth, where it is asked what the thing is that all is about."""

_LOGS = re.compile(r"change|release|news|histor|announce|deprecat|upgrad|todo|index\.|toc\.|contents", re.IGNORECASE)
_LOGGED = re.compile(r"\d\.\d|\b(?:chang|releas|new|histor|version|since|deprecat|upgrad|introduc)", re.IGNORECASE)
_INTRODUCES = re.compile(
    r"(?:readme|index|intro|about|overview|welcome|what|faq|guide|manual|home|start)[^/]*$", re.IGNORECASE
)
"""Texts that begin with what a thing is."""
_DEFINED = re.compile(
    r"^\W*what (?:is|are|does|do)(?: meant by)? (?:an? |the )?(?P<what>[\w .-]{2,40}?)"
    r"(?: mean| (?:good |used )?for| about)?\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search came to."""

    passages: list[Passage]
    """Best first."""
    unknown: list[str]
    """Words of the query that stand in no passage, as written."""
    likely: float
    """How likely it is that the best passages answer the query, 0 to 1."""
    second: float = 0.0
    """How well the second passage fits, as a share of the first."""


class Index:
    """The searchable passages of some documents. May be used from any thread."""

    def __init__(self, passages: Iterable[Passage], vectors: Callable[[], TextVectors | None] = lambda: None) -> None:
        """With `vectors`, what says it in other words comes nearer to the top; asked for at the first search."""
        self._passages = list(passages)
        self._texts = sum(not one.place.startswith("r") for one in self._passages)
        files = [one.file for one in self._passages]
        self._beginnings = {
            n for n, file in enumerate(files) if (n < 2 or files[n - 2] != file) and _INTRODUCES.search(file)
        }
        """The first two passages of each text that introduces."""
        self._vectors = vectors
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._connection.execute(CREATE)
        self._connection.execute(VOCABULARY)
        self._stems = [
            tuple(" ".join(stems(part)) for part in (one.file, one.trail, one.text)) for one in self._passages
        ]
        self._connection.executemany("INSERT INTO passage VALUES (?, ?, ?)", self._stems)
        self._connection.commit()

    def search(self, query: str, limit: int, chars: int = TOGETHER) -> Hits:
        """The best passages that have any of the query's words, at most `limit`. Any punctuation is harmless.

        With what stands around it a passage may have up to `chars` characters.
        """
        wanted = self._wanted(query)
        if not wanted or limit < 1:
            return Hits([], [], 0.0)
        weights = self._weights(wanted)
        match = " OR ".join(f'"{key}"' for key in wanted)
        with self._lock:
            rows = self._connection.execute(SELECT, (*WEIGHTS, match, max(POOL, limit))).fetchall()
        if defined := _DEFINED.match(query):
            rows = list(dict(rows + self._definitions(defined["what"], match, weights)).items())
        unknown = [wanted[key] for key in wanted if self._count(key) == 0]
        if not rows:
            return Hits([], unknown, 0.0)
        top = max(-rank for _, rank in rows)
        relevance = {row - 1: -rank / top for row, rank in rows}
        scores = {at: self._score(at, relevance, query, weights) for at in relevance}
        near = self._nearest(list(relevance), query)
        ranked = self._ranked({at: score + MEANING * near[at] for at, score in scores.items()})
        spans = self._spans(ranked, limit, chars)
        found = [replace(_joined(self._passages[span.start : span.stop]), score=score) for span, score in spans]
        second = found[1].score / found[0].score if len(found) > 1 else 0.0
        likely = self._likely(ranked, max(scores.values()), weights, is_known=not unknown)
        return Hits(found, unknown, likely, max(0.0, second))

    def _definitions(self, what: str, match: str, weights: dict[str, float]) -> list[tuple[int, float]]:
        """Passages that may say what a thing is, by BM25: those with `X is`, and introductions to what all is about."""
        name = _name_of(what)
        said = " OR ".join(f'"{name} {verb}"' for verb in ("is", "are", "mean", "provid", "allow", "let", "offer"))
        begin = json.dumps([at + 1 for at in self._beginnings] if _is_everywhere(weights) else [])
        with self._lock:
            return self._connection.execute(AMONG, (*WEIGHTS, match, said, begin, POOL)).fetchall() if name else []

    def _spans(self, ranked: Sequence[tuple[int, float]], limit: int, chars: int) -> list[tuple[range, float]]:
        """The best passages, at most `limit`, each with what belongs to it: what follows, and others near it."""
        spans: list[tuple[range, float]] = []
        taken = 0
        for at, score in ranked:
            if taken == limit + limit // 2:
                break
            if any(at in span for span, _ in spans):
                continue
            taken += 1
            own = self._span(at, 2 * chars // 3)
            wholes = [range(min(one.start, own.start), max(one.stop, own.stop)) for one, _ in spans]
            place = next(
                (n for n, whole in enumerate(wholes) if len(whole) <= limit and self._is_one(whole, chars)), None
            )
            if place is None:
                spans.append((own, score))
            else:
                spans[place] = (wholes[place], spans[place][1])
        within = [any(set(span) <= set(other) for other, _ in spans[:n]) for n, (span, _) in enumerate(spans)]
        return [span for span, is_within in zip(spans, within, strict=True) if not is_within][:limit]

    def _span(self, at: int, most: int) -> range:
        """A passage and what follows in its section, up to `most` characters."""
        trail, end = self._passages[at].trail, at + 1
        while trail and end < len(self._passages) and self._passages[end].trail == trail:
            if not self._is_one(range(at, end + 1), most):
                break
            end += 1
        return range(at, end)

    def _is_one(self, span: range, most: int) -> bool:
        """Whether passages follow each other in a file of lines, and have no more than `most` characters."""
        passages = self._passages[span.start : span.stop]
        return (
            all(one.file == passages[0].file and one.place.startswith("L") for one in passages)
            and sum(len(one.text) for one in passages) <= most
            and all(_lines(one)[1] < _lines(then)[0] for one, then in pairwise(passages))  # no pieces of one long line
        )

    def _wanted(self, query: str) -> dict[str, str]:
        """The words to look for by stem, those that say little only where they stand; an unknown name by its parts."""
        found = keywords(query) or {stem(word): word for word in words(query)}
        found = {key: word for key, word in found.items() if key not in DEGREES | LIGHT or self._count(key)} or found
        parts: dict[str, str] = {}
        for key, word in list(found.items())[:TERMS]:
            inner = stems(word)[1:] if self._count(key) == 0 else []
            parts.update(dict.fromkeys(inner, word) or {key: word})
        return parts

    def _count(self, key: str) -> int:
        """How many passages have a stem."""
        with self._lock:
            row = self._connection.execute("SELECT doc FROM vocabulary WHERE term = ?", (key,)).fetchone()
        return int(row[0]) if row else 0

    def _weights(self, wanted: Iterable[str]) -> dict[str, float]:
        """Inverse document frequency, as BM25 has it, kept above 0; half of it for words that say little anywhere."""
        total = len(self._passages)
        rarity = {
            key: math.log(1 + (total - n + 0.5) / (n + 0.5)) for key in wanted for n in (max(1, self._count(key)),)
        }
        return {key: weight * (0.5 if key in LIGHT else 1.0) for key, weight in rarity.items()}

    def _ranked(self, scores: dict[int, float]) -> list[tuple[int, float]]:
        """The passages, best first, rows of one table and those that say the same not in a row."""
        first: list[tuple[int, float]] = []
        later: list[tuple[int, float]] = []
        rows, seen = Counter[str](), set[str]()
        for at, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
            passage, said = self._passages[at], self._stems[at][2]
            is_row = passage.place.startswith("r")
            rows[passage.file] += is_row
            again = said in seen or (is_row and rows[passage.file] > ROWS_OF_A_TABLE)
            seen.add(said)
            (later if again else first).append((at, score))
        return first + later

    def _score(self, at: int, relevance: dict[int, float], query: str, weights: dict[str, float]) -> float:
        """BM25 and the share of the question's weight in it; more for what the question's form asks for.

        By 424 questions on 33 folders of texts; a third more or less of any weight changes at most 6 of them.
        """
        passage = self._passages[at]
        file, trail, text = self._stems[at]
        head, body = set(trail.split()) | set(file.split()), set(text.split())
        titled, share = _share(weights, head), _share(weights, head | body)
        own = stems(passage.heading)
        named = sum(key in weights for key in own) / max(1, len(own))
        beside = [near for near in (at - 1, at + 1) if near in relevance and self._passages[near].file == passage.file]
        around = max((relevance[near] for near in beside), default=0.0)
        stands = [(n, word) for n, word in enumerate(text.split()) if word in weights]
        score = 1.5 * relevance[at] + 0.5 * around + share + titled + 0.5 * named
        score += _densest(stands, weights) + 0.5 * _nearness(stands, weights)
        if _LOGS.search(passage.file) and not _LOGGED.search(query):
            score -= 0.4
        if defined := _DEFINED.match(query):
            score += 0.8 * _defines(passage, defined["what"])
            score += INTRODUCES * (at in self._beginnings and _is_everywhere(weights))
        return score

    def _nearest(self, pool: Sequence[int], query: str) -> dict[int, float]:
        """How near each passage is to the query in meaning, as a share of the nearest; 0 where that is not known."""
        vectors = self._vectors() if len(pool) > 1 else None
        if vectors is None:
            return dict.fromkeys(pool, 0.0)
        passages = [self._passages[at] for at in pool]
        found = vectors.nearness(query, [f"{one.trail or one.file}\n{one.text}" for one in passages])
        top = max(*found, 0.01)
        return {at: max(0.0, near) / top for at, near in zip(pool, found, strict=True)}

    def _likely(
        self, ranked: Sequence[tuple[int, float]], fit: float, weights: dict[str, float], *, is_known: bool
    ) -> float:
        """How likely the best passages answer, by their words: those that stand apart answer nothing."""
        have = [weights.keys() & " ".join(self._stems[at]).split() for at, _ in ranked[:DEEP]]
        cover = max(sum(weights[key] for key in keys) for keys in have) / sum(weights.values())
        is_row = self._passages[ranked[0][0]].place.startswith("r")
        seen = {
            "cover": cover,
            "fit": fit,
            "words": math.log(1 + len(weights)),
            "passages": math.log(len(self._passages) if is_row else self._texts),
            "unknown": float(not is_known),
            "row": float(is_row),
            "always": 1.0,
        }
        return round(1 / (1 + math.exp(-sum(weight * seen[name] for name, weight in LIKELY.items()))), 3)


def _is_everywhere(weights: dict[str, float]) -> bool:
    """Whether what is asked about is what nearly all passages are about."""
    return len(weights) <= 2 and min(weights.values()) < EVERYWHERE


def _share(weights: dict[str, float], have: set[str]) -> float:
    """The share of the question's weight that a text speaks of."""
    return sum(weight for key, weight in weights.items() if key in have) / sum(weights.values())


def _densest(stands: Sequence[tuple[int, str]], weights: dict[str, float]) -> float:
    """The share of the question's weight that stands within `WINDOW` words of a text, where most of it does."""
    windows = ({word for at, word in stands[n:] if at - first < WINDOW} for n, (first, _) in enumerate(stands))
    return max((sum(weights[word] for word in window) for window in windows), default=0.0) / sum(weights.values())


def _nearness(stands: Sequence[tuple[int, str]], weights: dict[str, float]) -> float:
    """Share of neighbouring words of the question that stand near each other (in four words) in a text."""
    pairs = list(pairwise(weights))
    places: dict[str, list[int]] = {}
    for at, word in stands:
        places.setdefault(word, []).append(at)
    near = [any(abs(a - b) <= 4 for a in places.get(one, ()) for b in places.get(other, ())) for one, other in pairs]
    return sum(near) / max(1, len(near))


def _lines(passage: Passage) -> tuple[int, int]:
    """First and last line of a passage of lines."""
    first, _, last = passage.place.partition("-")
    return int(first[1:]), int((last or first)[1:])


def _joined(passages: Sequence[Passage]) -> Passage:
    """Passages that follow each other, as one, with the blank lines between them."""
    whole = passages[0]
    for one in passages[1:]:
        (start, end), (again, last) = _lines(whole), _lines(one)
        whole = replace(whole, place=place("L", start, last), text=whole.text + "\n" * (again - end) + one.text)
    return whole


def _name_of(what: str) -> str:
    """The stems of what a thing is called."""
    return " ".join(stem(word) for word in words(what) if word.lower() not in STOP_WORDS)


def _defines(passage: Passage, what: str) -> bool:
    """Whether the passage says what a thing is: below a heading of that name, or in a sentence that begins with it."""
    name = _name_of(what)
    titled = " ".join(stems(passage.heading)) == name
    return titled or bool(
        re.search(
            rf"(?:^|[.\n] *|\*\*|[`\"“]|\b(?:an?|the) ){re.escape(what)}\W{{0,4}} (?:is|are|means?)\b",
            passage.text,
            re.IGNORECASE,
        )
    )
