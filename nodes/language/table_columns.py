"""Which columns of a table the words of a question mean: `life expectancy` and `lifeExp`, `home runs` and `hr`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from nodes.language.table_schema import WORD, Column, Table, content_of
from nodes.language.table_words import SENSE, is_made_of, likeness
from nodes.language.words import keywords, stem

_T = TypeVar("_T")
TOLD = 0.5
"""How surely a word means the one column of which it is told, beside one that a part of a name is called by."""
_CONTRAST = re.compile(r"[,;]?\s+(?:and )?not (?:just|only|merely) (?:(?:an?|the) )?\w+", re.IGNORECASE)
"""What something is more than: `a majority, not just a plurality`."""
_BOUND_AFTER = re.compile(
    r"\b(?P<value>\d[\d,.]*) (?:or|and) (?:(?P<most>less|fewer|lower|below|under|smaller|younger|shorter|earlier)"
    r"|more|above|over|\w+er)\b",
    re.IGNORECASE,
)


class Wording:
    """The words of a question, read with one table before them."""

    def __init__(self, question: str, table: Table) -> None:
        question = _CONTRAST.sub("", question)
        question = _BOUND_AFTER.sub(lambda one: f"at {'most' if one['most'] else 'least'} {one['value']}", question)
        self.question, self.table = question, table
        self.text = re.sub(r"\bat (?:least|most)\b|\bmost of\b", " ", question)
        self.written = WORD.findall(question)
        self.words = [word.lower() for word in self.written]
        self.proper = {word.lower() for word in self.written[1:] if word[:1].isupper()}
        self.content = content_of(question, table)
        self.beginnings = self._beginnings(self.content)
        """Parts of names that are made of the beginnings of words, each with all of them."""
        plain = [part for column in table.columns if not column.is_key or len(column.own) < 2 for part in column.own]
        self.exact = {word for word in self.content if any(likeness(part, word) == 1 for part in plain)}
        """Words that a column is called by as they stand: no other is meant by a part of them."""
        told = [table.told, *(column.told for column in table.columns)]
        self.told = Counter(key for one in told for key in keywords(one))
        """Words that are told of the table and its columns, by stem, and of how many."""

    def _beginnings(self, words: Sequence[str]) -> set[tuple[str, str]]:
        """`hr` and home runs, `lts` and long term support: each part with the words that it is short for."""
        pairs = [pair for pair in pairwise(self.words) if {*pair} <= {*words}]
        threes = [
            three for three in zip(self.words, self.words[1:], self.words[2:], strict=False) if {*three} <= {*words}
        ]
        return {
            (part, word)
            for part in {part for column in self.table.columns for part in column.own}
            for run in (*pairs, *threes)
            if (is_made_of(part, run) if len(run) == 2 else part == "".join(word[0] for word in run))
            for word in run
        }

    def link(self, part: str, word: str) -> float:
        """How surely a word means a part of a column's name, 0 to 1."""
        score = 0.9 if (part, word) in self.beginnings else likeness(part, word)
        if score < 0.9 and word in self.exact:
            return 0.0
        if score < 0.9 and stem(word) in SENSE:  # `how long` is no `lon`
            score = 0.0
        senses = [sense for sense in SENSE.get(stem(word), []) if len(part) > 2 or part == sense]
        return score or 0.6 * max((likeness(part, sense) for sense in senses), default=0.0)

    def tells(self, column: Column, word: str) -> float:
        """How surely a word means a column by what is told of it: the less, the more others it is told of."""
        meant = keywords(column.told).keys() & {stem(word), *SENSE.get(stem(word), [])}
        is_open = meant and word not in self.exact and not self.called(column, [word])
        return max(TOLD / self.told[key] for key in meant) if is_open else 0.0

    def is_meant(self, column: Column, words: Sequence[str]) -> bool:
        """Whether some of the words are in its name, or most of what is told of it is said."""
        said = {key for word in words for key in (stem(word), *SENSE.get(stem(word), []))}
        told = keywords(re.sub(r"\([^()]*\)", "", column.told)).keys()
        return bool(self.called(column, words)) or 2 * len(told & said) >= max(1, len(told))

    def called(self, column: Column, words: Sequence[str]) -> set[str]:
        """Which of these words mean its name."""
        return {word for word in words if any(self.link(part, word) for part in column.own)}

    def linked(self, column: Column, words: Sequence[str]) -> set[str]:
        """Which of these words mean the column."""
        return self.called(column, words) | {word for word in words if self.tells(column, word) > TOLD / 4}

    def fit(self, column: Column, words: Sequence[str]) -> float:
        """How well words name a column: the parts of its name that they mean, less those that they do not."""
        found = [max((self.link(part, word) for word in words), default=0.0) for part in column.own]
        told = [score for word in set(words) if word in self.content and (score := self.tells(column, word))]
        told += [0.2 * len(told) / len(keywords(column.told))] if told else []
        return sum(told) + (sum(found) - 0.2 * found.count(0.0) if any(found) else 0.0)

    def at(self, word: str) -> int:
        """Where a word first stands."""
        return self.words.index(word) if word in self.words else 0

    def between(self, some: set[str], others: set[str]) -> Iterator[set[str]]:
        """The words between two things wherever they follow each other; a comma counts as `and`."""
        places = sorted(self.at(word) for word in (*some, *others))
        for a, b in pairwise(places):
            if (self.words[a] in some) != (self.words[b] in some):
                comma = re.search(rf"\b{self.words[a]}\s*,\s*{self.words[b]}\b", self.question, re.IGNORECASE)
                yield {"and"} if comma else set(self.words[a + 1 : b])

    def stand_together(self, some: set[str], others: set[str]) -> bool:
        """Whether words are named as two of a kind: `men or women`, `of Acme and of Bolt`."""
        joints = {"or", "and", "vs", "versus", "than"}
        return any(joints & between for between in self.between(some, others))


def best_fit(fits: Sequence[tuple[float, _T]]) -> tuple[float, _T | None]:
    """The one that fits best, with its score; 0 and None of none."""
    return max(fits, key=lambda one: one[0], default=(0.0, None))
