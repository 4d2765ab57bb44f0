"""Figures from the tables of the sources: aggregate, group, filter and table are chosen by the words of the question.

Each word of a question is linked to an aggregate, to a column (`life expectancy` and `lifeExp`), to a cell of one
(`Gentoo`, `Sundays` and `Sun`), to a number, or to nothing. A reading holds if its links account for enough of the
words. Where no column fits what is to be averaged, added up or ranked, nothing is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from nodes.language.table_answers import LISTED, Asked, Filter, best
from nodes.language.table_schema import FEW, KEYS, MONTHS, MOST_TEXTS, WORD, Column, Row, Table, content_of, different
from nodes.language.table_words import (
    AGGREGATES,
    NUMBERS,
    OPPOSITE,
    ROWS,
    SAID_BY_FORM,
    SENSE,
    STOP_CELLS,
    initials_in,
    is_answer,
    is_flag,
    is_made_of,
    likeness,
    meets,
)
from nodes.language.words import LIGHT, STOP_WORDS, keywords, stem

_T = TypeVar("_T")
FITS = 0.5
"""Share of the question's words that a reading has to account for."""
SURE = 0.6
"""The same where rows are counted that nothing in the table is called by."""
IMPLIED = 0.75
"""The same where an average or a sum is told that was not asked for by a word."""
BEGINS = 5
"""Letters of a name that what is made of it begins with."""
RANKED = 5
"""The first rows of a ranking."""
MEASURES = ("avg", "sum", "median", "max", "min", "summary")
"""Aggregates of amounts."""
ADDED = frozenset(
    "sales profit revenue amount quantity qty units turnover total expenses spending votes orders visits".split()  # noqa: SIM905
)
"""Words in the names of columns of which a group has the sum."""
SHARES = frozenset("share percent pct percentage proportion fraction rate ratio".split())  # noqa: SIM905
"""Words in the names of columns that hold shares themselves."""
TOLD = 0.5
"""How surely a word means the one column of which it is told, beside one that a part of a name is called by."""
LABELS = frozenset(("name", "title", "label", "model"))
"""What a column is called whose cells name the rows."""

SMALL_CELLS = frozenset(map(stem, STOP_CELLS | STOP_WORDS))
"""Stems of which no cell is known that has no others."""

_TOKEN = re.compile(r"[^\W_a-z]?[^\W\d_A-Z]+|[A-Z]+|\d+[a-z]{0,2}")
_ASKED = {name: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for name, pattern in AGGREGATES.items()}
_EACH = r"by|per|for (?:each|every)|each|every|across|among"
_GROUP = re.compile(rf"\b(?:{_EACH})\s+(?:the\s+)?(?=(?P<what>\w+(?:\s\w+)?))", re.IGNORECASE)
_EACH_OF = re.compile(r"\b(?:each|every)\s+(?P<what>\w+(?:\s\w+)?)", re.IGNORECASE)
_WHICH = re.compile(
    r"\b(?:which|what|best|worst|busiest|top(?: \d+)?|(?:rank|sort|order)(?: all| the| these| our)*)\s+"
    r"(?P<what>\w+(?:[\s-]\w+)?)",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"(?:who(?:m|se)?|(?:list|name|show|find|give)(?: me| us)? (?:all|every\w*|the people|the names))\b", re.IGNORECASE
)
"""How a question begins that asks for what the rows are called."""
_OF_TIME = re.compile(r"\b(?:latest|newest|last|recent|earliest|oldest|first)\b", re.IGNORECASE)
"""What is said of the highest and the lowest of times."""
_WHEN = re.compile(r"(?:when|(?:on )?(?:what|which) (?:day|date))\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:how many|number of|count(?: of)?(?: the)?)\s+(?:different |distinct )?(?P<what>\w+(?:\s\w+)?)", re.IGNORECASE
)
_QUESTION = re.compile(r"\b(?:wh(?:at|y|en|ere|o|ose|ich)|how|does|did|is|are|was|were|can)\b|\?", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:not|no|non|never|without|outside|except|excluding|other than|apart from|\w+n't)[\s-]+"
    r"(?:in |from |of )?(?:an? |any |the |\w+ed )?(?P<what>\w+)",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"[,;]?\s+(?:and )?not (?:just|only|merely) (?:(?:an?|the) )?\w+", re.IGNORECASE)
"""What something is more than: `a majority, not just a plurality`."""
_SIGNS = {
    ">=": r"at least|no less than|not less than|from",
    "<=": r"at most|up to|no more than|not more than",
    ">": r"(?:more|greater|higher|larger|longer|heavier|older|bigger|taller|faster|dearer) than|over|above|exceeding",
    "<": r"(?:less|fewer|lower|smaller|shorter|lighter|younger|cheaper) than|under|below",
}
_BOUND = re.compile(
    rf"(?P<before>(?:[\w'-]+\s+){{0,4}})\b(?P<how>{'|'.join(_SIGNS.values())})\s+(?:[€$£]\s?)?"
    r"(?P<value>\d[\d,]*(?:\.\d+)?)(?P<after>(?:\s+[\w'-]+){0,2})",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(
    r"\b(?P<value>\d[\d,.]*) (?:or|and) (?:(?P<most>less|fewer|lower|below|under|smaller|younger|shorter|earlier)"
    r"|more|above|over|\w+er)\b",
    re.IGNORECASE,
)
_OF_WHAT = re.compile(
    rf"\b(?:how much|{'|'.join(AGGREGATES[name] for name in ('avg', 'sum', 'median', 'max', 'min'))})\s+"
    r"(?=(?P<what>\w+(?:\s\w+)?))",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\bhow much\b", re.IGNORECASE)
_SPENT = re.compile(r"\b(?:spen[dt]s?|spending|br(?:ing|ought) in|made|make)\b", re.IGNORECASE)
"""What is said of sums."""
_SHARE_OF = re.compile(
    rf"\b(?:{AGGREGATES['share']}) of (?:(?:the|all|total|overall|our|its|their|entire) )*(?=(?P<what>\w+(?:\s\w+)?))",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?P<iso>\d{4}[-/]\d\d[-/]\d\d)\b|"
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?(?P<month>{'|'.join(MONTHS)})\b"
    r"(?: (?P<then>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? (?:of |in )?(?P<year>\d{4})\b)?"
)
_TIME_SAID = rf"(?:\d{{4}}-\d\d-\d\d|(?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)}) (?:\d{{1,2}},? )?)?(?:1[5-9]|20)\d\d)\b"
_SINCE = {"since": ">=", "after": ">", "before": "<", "until": "<=", "till": "<=", "through": "<=", "up to": "<="}
_SPAN = re.compile(
    rf"\b(?:(?P<how>{'|'.join(_SINCE)}) (?:(?:the )?(?:start|beginning|end) of )?(?:the )?(?:year )?"
    rf"(?P<since>{_TIME_SAID})|"
    rf"(?:between (?P<least>{_TIME_SAID}) and|(?P<first>{_TIME_SAID})\s?(?:to|until|through|[-–]))\s?"
    rf"(?P<last>{_TIME_SAID})|(?P<decade>(?:1[5-9]|20)\d0)['’]?s\b)",
    re.IGNORECASE,
)
"""`since 1948`, `before May 2012`, `between 1990 and 1995`, `1990-1995`, `the 1980s`."""
_SHARE_OF_ALL = re.compile(rf"\b(?:{AGGREGATES['share']})\b(?! of)", re.IGNORECASE)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
Link = tuple[float, set[str], str, Column]
"""How surely words mean a cell of a column, 0 to 1 for each."""


def asked(question: str, table: Table, cells: Sequence[Row], unknown: Sequence[str] | None = None) -> Asked | None:
    """What the question asks of the table, given the cells that `Table.probe` found; None where it does not fit.

    `unknown`: words of it that no source speaks of, where that is known; others may be about what the table is of.
    """
    bare = replace(table, told="", columns=tuple(replace(column, told="") for column in table.columns))
    return best([_Reading(question, one, cells, unknown).asked() for one in dict.fromkeys((bare, table))])


class _Reading:
    """One question, read with one table before it: what its words are linked to, and what it asks with that."""

    def __init__(self, question: str, table: Table, cells: Sequence[Row], unknown: Sequence[str] | None) -> None:
        question = _CONTRAST.sub("", question)
        question = _BOUND_AFTER.sub(lambda one: f"at {'most' if one['most'] else 'least'} {one['value']}", question)
        self.question, self.table = question, table
        self.unknown = None if unknown is None else LIGHT.union(map(stem, unknown))
        self.text = re.sub(r"\bat (?:least|most)\b|\bmost of\b", " ", question)
        self.written = WORD.findall(question)
        self.words = [word.lower() for word in self.written]
        self.proper = {word.lower() for word in self.written[1:] if word[:1].isupper()}
        self.content = content_of(question, table)
        self.initials = initials_in(question)
        self.beginnings = self._beginnings(self.content)
        """Parts of names that are made of the beginnings of words, each with all of them."""
        self.exact = {
            word for word in self.content for c in table.columns if any(likeness(part, word) == 1 for part in c.own)
        }
        """Words that a column is called by as they stand: no other is meant by a part of them."""
        told = [table.told, *(column.told for column in table.columns)]
        self.told = Counter(key for one in told for key in keywords(one))
        """Words that are told of the table and its columns, by stem, and of how many."""
        self.cells = [row for row in cells if row.get("cell")]
        self.shared = Counter((row["col"], word) for row in self.cells for word in {*WORD.findall(row["cell"].lower())})
        """In how many of these cells of a column a word stands."""
        self.different = {row["col"]: different(row) for row in cells if row.get("col")}
        whole = {row["col"]: row["whole"].lower() == "true" for row in cells if row.get("col") and not row.get("cell")}
        dates = {column.name for column in table.columns if column.is_date}
        self.days = {name for name, tells in whole.items() if tells and name in dates}
        """Columns of dates that tell the rows apart."""
        self.telling = {name for name, tells in whole.items() if tells} - dates
        """Other columns whose cells do."""
        self.repeating = whole.keys() - self.telling - dates
        said_loud = {word.lower() for word in self.written if word.isupper() and len(word) > 1} & STOP_WORDS
        self.content += sorted(said_loud & {row["cell"].lower() for row in self.cells} - {*self.content})  # `in IT`
        self.forms = self._asked_for()
        self.bounds, within = self._spans()
        self.bounds += self._bounds(within)
        self.held: set[Column] = set()
        """Columns of which one word is part of several cells."""
        self.denied: set[Column] = set()
        """Columns that are not to have the cells that are named."""
        self.excluded: set[str] = set()
        """The words for those cells."""
        self.filters, self.spoken = self._filters([column for column, _ in self.bounds], within)
        self.free = [word for word in self.content if word not in self.spoken]
        self.beginnings = self._beginnings(self.free)
        filtered = [column for column, _ in self.filters]
        self.is_of_one_row = any(column.name in self.telling for column in filtered)
        several = (column for column, values in self.filters if len(values) > 1 and column not in self.held)
        self.compared = next(several, None)
        if "than" in self.words and self.filters and not (self.compared or self.bounds):  # than the others
            self.filters, self.compared = self.filters[:-1], self.filters[-1][0]
        texts = [column for column in table.columns if column.is_text][:MOST_TEXTS]
        empty = [column for column in texts if self.different and column.name not in self.different]
        self.others = [column for column in table.columns if column not in filtered and column not in empty]
        texts, measures = ([c for c in self.others if c.is_measure == which] for which in (False, True))
        groups = [column for column in texts if not self.linked(column, self.content) & self.spoken] + table.periods
        degrees = [word for word in self.content if stem(word) in SENSE]
        groups_of_amount = [one for one in measures if not (self.linked(one, degrees) or "among" in self.words)]
        called = [c for c in self.others if not c.is_measure and not KEYS & set(c.parts)] + table.periods
        self.which = self.named(_WHICH, called)
        is_ranked = self.which and {"max", "min"} & {*self.forms}  # the best month by revenue
        by = self.named(_GROUP, groups) or (None if is_ranked else self.named(_GROUP, groups_of_amount, least=1.0))
        self.group = None if "rank" in self.forms else by or self.compared
        is_when = any(column.is_time for column in filtered) and re.match("what\\b", self.text, re.IGNORECASE)
        days = [column for column in self.others if column.name in self.days]
        days = days or [column for column in self.others if column.is_time and {"max", "min"} & {*self.forms}]
        if not self.which and days and _WHEN.match(self.text):
            self.which = max(days, key=lambda column: self.fit(column, self.content))
        if not self.which and (is_when or _WHO.match(self.text)) and (label := self.label()) in self.others:
            self.which = label
        amount = None if self.which else self.named(_WHICH, measures, least=1.0)
        taken = (self.group, self.which, amount)
        is_by_amount = {"max", "min"} & {*self.forms} and not _OF_TIME.search(self.text)
        target = self._target([one for one in self.others if one not in taken and not (one.is_time and is_by_amount)])
        of_amount = self._target([column for column in measures if column not in taken])
        is_said = target and (
            self._is_asked_for(target)
            or self.linked(of_amount or target, self.words) <= self.linked(target, self.words)
        )
        if of_amount and not is_said:
            is_row = target and self.linked(target, self.words) <= table.named.match(self.words)
            self.which, target = self.which or (None if is_row else target), of_amount
        of_which = self.linked(self.which, self.words) if self.which else set()
        if target and target.is_text and self.linked(target, self.words) <= of_which:
            target = None
        if (
            not (target or amount)
            and len(measures) == 1
            and _HOW_MUCH.search(self.text)
            and table.named.match(self.free)
        ):
            target = measures[0]  # `how much electricity`, of a table of electricity
        self.target = target or amount
        self.which = self.which or (amount if amount != self.target else None)

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

    def named(self, pattern: re.Pattern[str], columns: Sequence[Column], least: float = 0.1) -> Column | None:
        """The column that stands where the pattern expects one; `least`: how well the first word has to fit."""
        for match in pattern.finditer(self.text):
            said = match["what"].lower().replace("-", " ").split()
            by_all = sorted(columns, key=lambda c: (-self.fit(c, self.content), LABELS.isdisjoint(c.parts)))
            score, chosen = _best([(self.fit(column, said[:n]), column) for column in by_all for n in (1, 2)])
            if chosen and score >= least and (least < 1 or self.linked(chosen, said[:1])):
                return chosen
        return None

    def asked(self) -> Asked | None:
        """What is asked, if the table has it."""
        table, bounds, filters = self.table, self.bounds, self.filters
        aggregate, target, group = self._computed()
        is_ranked = aggregate in ("max", "min")
        label = (self.which or self.label()) if is_ranked and not group else None
        if bounds and not aggregate:
            label, target = None, self.which or self.label()
        is_lowest = aggregate in ("avg", "sum", "median") and self._extreme() == "min"
        most = LISTED if group or "rank" in self.forms or not aggregate else RANKED
        found = Asked(table, aggregate, target, group, label, filters, most, bounds)
        found = replace(found, held=frozenset(self.held), denied=frozenset(self.denied), is_lowest_first=is_lowest)
        if aggregate in MEASURES:
            is_held = target is not None and (target.is_measure or target.is_time) and not target.is_text
        elif aggregate == "count":  # nobody counts the rows that have a name of their own
            is_named = filters or table.named.match(self.free)
            is_held = bool(target or bounds or group or (is_named and not self.is_of_one_row))
        elif found.is_list:
            found = replace(found, group=self.label(target), beside=self._beside(target))
            is_held = self._is_list_of(found)
        else:
            found = found if aggregate else replace(found, beside=self._beside(target))
            of_table = table.named.match(self.words)
            is_own = target and (target == self.which or not self.linked(target, self.words) <= of_table)
            is_held = bool(bounds or (filters and (is_own or aggregate)) or (aggregate == "share" and group))
        fit = self._fit(found) if is_held else 0.0
        return replace(found, fit=round(fit, 2)) if fit else None

    def _asked_for(self) -> list[str]:
        """The aggregates that are asked for; a column may be called by a word for one, as `total bill` and `rank`."""
        names = [r"[\s_-]*".join(map(re.escape, column.parts)) for column in self.table.columns if column.parts]
        several, one = ([name for name in names if ("*" in name) == wanted] for wanted in (True, False))
        called = "|".join([*several, rf"(?:{_EACH}|which)(?:\s\w+)?\s(?:{'|'.join(one)})"])
        bare = re.sub(rf"\b(?:{called})\b", " ", self.text, flags=re.IGNORECASE)
        return [name for name, pattern in _ASKED.items() if pattern.search(bare)]

    def _extreme(self) -> str:
        """Whether the most or the least is asked for: the biggest loss is the least profit."""
        ends = {"last", "first"} & {*self.words}
        if ends and self.target and self.target.is_date and self.called(self.target, [*{*self.free} - ends]):
            return "max" if "last" in ends else "min"
        is_least = "min" in self.forms and "max" not in self.forms
        if not is_least and not {"max", "rank"} & set(self.forms):
            return ""
        meant = {one for word in self.free for one in OPPOSITE.get(stem(word), [])}
        is_turned = self.target and meant & {*map(stem, self.target.own)}
        return "min" if is_least or is_turned else "max"

    def _computed(self) -> tuple[str, Column | None, Column | None]:
        """The aggregate, of which column, by which groups."""
        forms, target, which, group, extreme = self.forms, self.target, self.which, self.group, self._extreme()
        kind = next((form for form in ("avg", "sum", "median") if form in forms), "")
        counted = _HOW_MANY.search(self.text)
        is_amount = target is not None and target.is_measure
        repeating = self.repeating | {column.of for column in self.table.periods}
        is_bounded = any(column == target for column, _ in self.bounds)
        is_column = is_amount and target and not (is_bounded or target.match([*self.table.named.match(self.free)]))
        is_of_sum = is_column and target and SHARES.isdisjoint(target.parts) and self._stands_behind(_SHARE_OF, target)
        if "share" in forms and (is_of_sum or not is_column):  # else the column holds shares
            return "share", target if is_of_sum else None, group
        if is_amount and target:
            is_spent = _HOW_MUCH.search(self.text) and _SPENT.search(self.text)
            together = "sum" if is_spent or ADDED & set(target.parts) else "avg"
            category = group or which
            if kind and (category or not extreme):
                return kind, target, category if extreme else group
            if kind and extreme:  # one of both is what the column is called: the average maximum temperature
                return (kind, target, group) if {"max", "min"} & {*target.own} else (kind, None, None)
            is_sum = category == which and category and together == "sum" and {category.name, category.of} & repeating
            if extreme and "rank" not in forms and category and (category == self.compared or is_sum):
                return together, target, category
            if extreme:
                return extreme, target, group
            if counted and (self.is_of_one_row or target.is_counted_in(counted["what"].lower().split())):
                is_one = self.is_of_one_row or (self.filters and not self.telling and together == "avg")
                return "" if is_one else "sum", target, group
            is_of_many = any(column.name in self.repeating for column, _ in self.filters)
            if not self.is_of_one_row and "count" not in forms and (is_of_many or _HOW_MUCH.search(self.text)):
                return together, target, group
        is_of_time = target is not None and target.is_time
        if extreme and "rank" not in forms and not is_of_time and not is_amount:
            most = self.compared or which
            if most and re.search(r"\b(?:most|more|few\w*|less|least)\b", self.text):
                return "count", target if target != most else None, most
        if "count" in forms and not extreme:
            return "count", self.named(_HOW_MANY, [c for c in self.others if c.is_text], least=0.9), group
        rest = kind or extreme or "summary" * ("summary" in forms and self.words[0] not in ("where", "why"))
        return rest, target or which, group

    def label(self, but: Column | None = None) -> Column | None:
        """The column that says what a row is about: one whose cells tell the rows apart, best one called a name."""
        named = self.telling | self.days
        called = [c for c in self.table.columns if c.is_text or c.name in self.days or c.name.lower() in LABELS]
        called = [column for column in called if column != but]

        def rank(column: Column) -> tuple[bool, bool, bool, int]:
            is_telling = column.name in named or not column.is_text  # numbers in a column `name`
            is_meant = is_telling and not column.is_date and self.fit(column, self.content) >= 0.9
            return (
                is_telling,
                is_meant,
                is_telling and bool(LABELS & set(column.parts)),
                self.different.get(column.name, 0),
            )

        return max(called, key=rank, default=None)

    def _target(self, columns: Sequence[Column]) -> Column | None:
        """The column that the question asks for: the one that its words name best, numbers before texts."""
        by_form = [word for word in self.words if stem(word) in SAID_BY_FORM and word not in self.content]
        rows = self.table.named.match(self.words)  # `licences of the frameworks`, of a table of frameworks
        of_rows = [column for column in columns if column.is_text and self.linked(column, self.free) <= rows]
        fits = [
            (
                score
                + 0.1 * (column.is_measure + bool(self.linked(column, by_form)) - (column in of_rows))
                + 0.4 * self._is_asked_for(column),
                column,
            )
            for column in columns
            if (score := self.fit(column, self.free)) > 0.05
        ]
        score, chosen = _best(fits)
        return chosen if chosen and score > 0.15 and self.is_meant(chosen, self.free) else None

    def _beside(self, target: Column | None) -> tuple[Column, ...]:
        """The columns that are asked for side by side with the target: `the vendor, the licence and the price`."""
        said = self.called(target, self.free) if target else set()
        found: list[Column] = []
        for column in sorted(self.others, key=lambda one: one.is_measure) * 2 if said else ():
            words = self.called(column, self.free) - said
            is_new = column not in (target, *found) and words and self.is_meant(column, self.free)
            if is_new and words.isdisjoint(self.table.named.match(self.words)) and self._is_joined(words, said):
                found.append(column)
                said = said | words
        return tuple(found)

    def _is_joined(self, some: set[str], others: set[str]) -> bool:
        """Whether nothing but a comma or small words stands between two things."""
        small = {"and", "or", "the", "their", "its"}
        return any(between and between <= small for between in self._between(some, others))

    def _between(self, some: set[str], others: set[str]) -> Iterator[set[str]]:
        """The words between two things wherever they follow each other; a comma counts as `and`."""
        places = sorted(self._at(word) for word in (*some, *others))
        for a, b in pairwise(places):
            if (self.words[a] in some) != (self.words[b] in some):
                comma = re.search(rf"\b{self.words[a]}\s*,\s*{self.words[b]}\b", self.question, re.IGNORECASE)
                yield {"and"} if comma else set(self.words[a + 1 : b])

    def _is_asked_for(self, column: Column) -> bool:
        """Whether it holds amounts, and the words right behind an aggregate name it: `the highest mean wind speed`."""
        return (column.is_measure or column.is_time) and self._stands_behind(_OF_WHAT, column)

    def _stands_behind(self, pattern: re.Pattern[str], column: Column) -> bool:
        """Whether the words that a pattern expects name a column."""
        said = {word for match in pattern.finditer(self.text) for word in match["what"].lower().split()}
        return self.fit(column, [word for word in self.free if word in said]) > TOLD

    def _is_list_of(self, found: Asked) -> bool:
        """Whether the question does nothing but name what the table says of each."""
        target, group = found.target, found.group
        if not (target and group):
            return False
        of_rows = self.table.named.match(self.content) | group.match(self.content)
        rest = [word for word in self.free if word not in of_rows]
        said = {word for column in (target, *found.beside) for word in self.linked(column, rest)}
        is_of_column = bool(of_rows and rest) and set(rest) == said
        is_short = self.different.get(group.name, LISTED) <= LISTED and (target.is_text or is_of_column)
        return is_short and (is_of_column or not _QUESTION.search(self.text))

    def _fit(self, found: Asked) -> float:
        """The share of the question's words that a reading accounts for; 0 where that is too little."""
        said = self.spoken | self.table.named.match(self.content)
        used = [
            found.group,
            found.target,
            *found.beside,
            self.which,
            *(column for column, _ in (*found.filters, *found.bounds)),
        ]
        said |= {word for column in used if column for word in self.linked(column, self.content)}
        label = self.label() if found.aggregate in ("avg", "sum", "median", "count") else None
        said |= self.called(label, self.content) if label else set()  # the total of all districts
        amounts = {bound.split()[1] for _, bound in found.bounds} | self.spoken
        said |= {word for word in self.content if word.replace(",", "") in amounts}
        open_words = [word for word in self.content if word in said or stem(word) not in SAID_BY_FORM]
        aside = {word for word in open_words if stem(word) in self.told}
        about = {word for word in self.content if stem(word) not in SAID_BY_FORM}
        fit = len([word for word in open_words if word in said]) / max(1, len(open_words))
        counted = _HOW_MANY.search(self.text) if found.aggregate == "count" else None
        what, _, then = counted["what"].lower().partition(" ") if counted else ("", "", "")
        is_vague = bool(counted) and what not in ROWS and not said & {what, then}
        of_target = self.linked(found.target, self.content) if found.target else set()
        is_tied = bool(found.group or (self.spoken | self.table.named.match(self.content)) - of_target)
        is_implied = found.aggregate in ("avg", "sum") and not (self.forms or _HOW_MUCH.search(self.text))
        is_counted_by = found.aggregate == "count" and self.which and found.group == self.which
        needed = SURE if is_vague or is_counted_by else FITS
        is_of_another = bool(about) and not about & said  # the cheapest of things that the table does not speak of
        known = said | aside | {word for word in open_words if self._is_of_name(word)}
        is_of_another |= any(not names & known for names in _names(self.question) if names & {*open_words})
        is_of_another |= any(one["value"].replace(",", "") not in amounts for one in _BOUND.finditer(self.question))
        is_of_another |= any(re.fullmatch(r"\d{3,}", word) and word not in said | aside for word in open_words)
        is_of_another |= any(not self._is_flagged(match["what"].lower()) for match in _NOT.finditer(self.question))
        behind = [match["what"].lower().split() for match in _OF_WHAT.finditer(self.text)]
        each = [one["what"].lower().split() for one in _EACH_OF.finditer(self.text)]
        behind += [words for words in each if not any(self.called(column, words) for column in self.table.columns)]
        of_else = [words for words in behind if words[0] in open_words and words[0] not in NUMBERS]
        is_of_another |= any(said.isdisjoint(words) for words in of_else)  # the mean, or each, of something else
        is_limited = bool(found.filters or found.bounds or found.group)
        is_of_another |= found.aggregate == "count" and not is_limited and fit < 1  # what is left says which rows
        is_of_another |= is_implied and fit < IMPLIED
        is_of_another |= is_vague and then in ("does", "do", "did")  # something that a row may have, not the rows
        is_of_another |= found.aggregate in ("avg", "sum", "median") and not is_tied and fit <= FITS
        speaks = [word for word in open_words if word in said or self.unknown is None or stem(word) in self.unknown]
        held = len(said.intersection(speaks)) / max(1, len(speaks))
        return 0.0 if held < needed or is_of_another else fit

    def _is_of_name(self, word: str) -> bool:
        """Whether a word is made of what the table is called: `Mexican` of `mexico`."""
        return any(len(part) > BEGINS and word[:BEGINS] == part[:BEGINS] for part in self.table.named.own)

    def _is_flagged(self, word: str) -> bool:
        """Whether a word that is denied names a column that says so, or nothing that the table speaks of."""
        denied = [column for column, values in self.filters if not all(map(is_flag, values))]
        denied += [one for one in (self.target, self.which) if one and _NOT.search(f"{one.said} {one.told}")]
        is_excluded = word in self.excluded or word not in self.content
        return is_excluded or any(self.linked(column, [word]) for column in denied)

    def _filters(self, but: Sequence[Column], within: set[str]) -> tuple[tuple[Filter, ...], set[str]]:
        """The cells that the question names, in its order, and its words for them; those that say `within` when aside.

        Cells of one column that are named side by side are compared: `in 1950 or 2000`.
        """
        links = [*self._cells(), *self._coded(), *self._numbers(), *self._times()]
        found: dict[Column, list[str]] = {}
        words: dict[Column, set[str]] = {}
        links = [one for one in links if one[3] not in but and one[1].isdisjoint(within)]
        scores: dict[Column, float] = {}
        for score, said, cell, column in sorted(links, key=lambda one: (-one[0], one[3].name not in self.telling)):
            is_new = column not in found or self._stand_together(words[column], said)
            if is_new and cell not in found.get(column, []) and not said <= set().union(*words.values()):
                found.setdefault(column, []).append(cell)
                words.setdefault(column, set()).update(said)
                scores.setdefault(column, score)
            elif (
                column in found
                and column.is_text
                and said == words[column]
                and (score == scores[column] or not any({*WORD.findall(one.lower())} <= said for one in found[column]))
            ):
                found[column] = [part for part in WORD.findall(cell) if any(meets(part.lower(), one) for one in said)]
                self.held.add(column)
        said = {match["what"].lower() for match in _NOT.finditer(self.question)}
        self.denied = {one for one, cells in found.items() if said & words[one] and not any(map(is_answer, cells))}
        self.excluded = said.intersection(word for one in self.denied for word in words[one])
        order = sorted(found, key=lambda column: max(self._at(word) for word in words[column]))
        if _SHARE_OF_ALL.search(self.text):
            order = order[1:] + order[:1]
        spoken = within.union(*words.values(), *(self.linked(column, self.content) for column in found))
        return tuple((column, tuple(found[column])) for column in order), spoken

    def _cells(self) -> Iterator[Link]:
        """The cells of the probe that are named."""
        columns = {column.name: column for column in self.table.columns}
        for row in self.cells:
            if column := columns.get(row["col"]):
                is_so = is_answer(row["cell"]) and different(row) < 4  # yes, no and unknown
                named = self._flag(column, is_flag(row["cell"])) if is_so else self._cell(column, row)
                if named:
                    yield (*named, row["cell"], column)

    def _cell(self, column: Column, row: Row) -> tuple[float, set[str]] | None:
        """How surely the question names a cell, and by which words."""
        cell, is_few = row["cell"], different(row) <= FEW
        is_whole = row["whole"].lower() == "true" and {*WORD.findall(cell.lower())} <= {*self.words}
        if not is_whole and cell.lower() in column.codes:
            return self._meant(column, cell)
        if cell in self.initials and is_few:
            return 0.9 * len(self.initials[cell]), self.initials[cell]
        tokens = [token.lower() for token in (WORD if is_whole else _TOKEN).findall(cell)]
        own = set(map(stem, tokens))
        free = [w for w in self.content if stem(w) in own or not (w in self.exact or stem(w) in SAID_BY_FORM)]
        links = {token: _best([(meets(token, word), word) for word in free]) for token in tokens}
        if is_whole:
            links = {token: (1.0, token) for token in tokens}
        said = {word for score, word in links.values() if score and word}
        rest = [token for token, (score, _) in links.items() if not score and token not in STOP_CELLS]
        is_name = not is_few and len(tokens) < 2 and cell[:1].isupper() and self.question[:1].isupper()
        if is_name and said.isdisjoint({word.lower() for word in self.written if not word.islower()}):
            return None
        is_common = own <= SMALL_CELLS or stem(cell) in SAID_BY_FORM
        if said <= self.exact or cell.isdigit() or (is_common and cell not in self.written):
            return None
        if rest:
            apart = said - self.exact  # a word that a column is called by means that, not a part of a cell
            begins = {word for token, (_, word) in links.items() if token in tokens[: len(apart)]}
            is_proper = bool(apart & self.proper)
            is_name = is_proper or 1 < len(apart) == len(begins & apart)
            is_named = is_few and len(tokens) <= 4 * len(apart) and is_name
            # of a column of many names, a proper word of several means all that have it
            is_named |= is_proper and not is_few and all(self.shared[column.name, word] > 1 for word in said)
        elif len(cell) < 3 and cell not in self.written:
            is_named = len(cell) == 1 and bool({"sex", "gender"} & {*column.parts} or self.linked(column, self.content))
        else:
            is_named = is_few or min(score for score, _ in links.values()) > 0.8
        score = sum(max(one for one, word in links.values() if word == each) for each in said) - 0.3 * len(rest)
        return (score, said) if is_named else None

    def _flag(self, column: Column, is_so: bool) -> tuple[float, set[str]] | None:
        """The same of a cell that says that what the column is called is so, or is not."""
        opposite = {word for word in self.content if {*map(stem, column.own)} & {*OPPOSITE.get(stem(word), [])}}
        said = opposite | self.linked(column, self.content)
        denied = {match["what"].lower() for match in _NOT.finditer(self.question)}
        score = max(self.fit(column, list(said)), float(bool(opposite)))
        is_named = opposite or (score > 0.3 and self.is_meant(column, self.content))
        return (score, said) if is_named and is_so == (bool(opposite) == bool(said & denied)) else None

    def _meant(self, column: Column, code: str) -> tuple[float, set[str]] | None:
        """The same of a cell by what is told that it means, where that is all said or a word of it is of no other."""
        keys = {word: {stem(word), *SENSE.get(stem(word), [])} for word in self.words}
        codes = column.codes
        means = codes[code.lower()]
        found = [key for key in means if any(key in meant for meant in keys.values())]
        said = {word for word in self.content if keys.get(word, set()).intersection(found)}
        own = [key for key in found if sum(key in other for other in codes.values()) == 1]
        is_meant = any(keys[word].intersection(own) for word in said) or (said and len(found) == len(means))
        return (len(found) - 0.3 * (len(means) - len(found)), said) if is_meant else None

    def _coded(self) -> Iterator[Link]:
        """Numbers by what is told that they mean."""
        for column in self.table.columns:
            for code in column.codes if column.is_measure else ():
                if code.isdigit() and (named := self._meant(column, code)):
                    yield (*named, code, column)

    def _numbers(self) -> Iterator[Link]:
        """Numbers beside the name of a column: `8 cylinders`, `the third class`, with both words."""
        kept = {(row["col"], row["cell"]) for row in self.cells}
        words = [word for word in self.words if word not in ("of", "is", "was")]
        for at, (first, second) in enumerate(pairwise(words), start=1):
            for word, near in ((first, [second]), (second, words[max(0, at - 2) : at])):
                value = "" if word in self.exact else word if word.isdigit() else NUMBERS.get(word, "").rstrip("dhnrst")
                able = [column for column in self.table.columns if column.is_measure or (column.name, value) in kept]
                score, column = _best([(self.fit(column, near), column) for column in able if value])
                if column and self.fit(column, near[-1:]) > 0.5:
                    yield score, {word, near[-1]}, value, column

    def _times(self) -> Iterator[Link]:
        """Years, months and days, by columns that say when."""
        times = [column for column in self.table.columns if column.is_time and not column.is_text]
        time = max(times, key=lambda column: self.fit(column, self.content), default=None)
        yield from ((0.5, {year}, year, time) for year in _YEAR.findall(self.question) if time)
        dates = [column for column in times if column.is_date]
        date = max(dates, key=lambda column: self.fit(column, self.content), default=None)
        month = next((column for column in times if "month" in column.parts and not column.is_date), None)
        said = [match for match in _DATE.finditer(self.question) if match.end() > len("May")]  # `May I …?`
        for match in said:
            words = {word.lower() for word in WORD.findall(match.group())}
            at = MONTHS.index(match["month"]) + 1 if match["month"] else 0
            day = match["day"] or match["then"]
            if date and (match["iso"] or (day and match["year"])):
                yield (
                    0.7,
                    words,
                    (match["iso"] or "").replace("/", "-") or f"{match['year']}-{at:02}-{int(day):02}",
                    date,
                )
            elif date and not day:
                yield 0.6, words, f"{match['month']} {match['year'] or ''}".strip(), date
            elif month and at and not date:
                yield 0.6, {match["month"].lower()}, str(at), month

    def _at(self, word: str) -> int:
        return self.words.index(word) if word in self.words else 0

    def _bounds(self, within: set[str]) -> tuple[tuple[Column, str], ...]:
        """What a question says of amounts: `a price below 5`, `more than 3 seats`, `costs at least 10`."""
        found = []
        for match in _BOUND.finditer(self.question):
            if match["value"] in within:
                continue
            sign = next(sign for sign, said in _SIGNS.items() if re.fullmatch(said, match["how"], re.IGNORECASE))
            near = [*WORD.findall(match["before"])[-3:], *WORD.findall(match["after"])[:2], *match["how"].split()]
            fits = [
                (self.fit(column, [word.lower() for word in near]), column)
                for column in self.table.columns
                if column.is_measure
            ]
            score, column = _best(fits)
            if column and score > 0.15:
                found.append((column, f"{sign} {match['value'].replace(',', '')}"))
        return tuple(found)

    def _spans(self) -> tuple[tuple[tuple[Column, str], ...], set[str]]:
        """What a question says of spans of time, as bounds, and its words for them."""
        times = [one for one in self.table.columns if one.is_date or ("year" in one.parts and not one.is_text)]
        time = max(times, key=lambda column: self.fit(column, self.content), default=None)
        found, said = list[tuple[Column, str]](), set[str]()
        for match in _SPAN.finditer(self.question):
            since, decade = match["since"], match["decade"]
            ends = [(_SINCE[match["how"].lower()], since)] if since else []
            ends += [(">=", decade), ("<=", f"{decade[:3]}9")] if decade else []
            ends += [(">=", match["least"] or match["first"]), ("<=", match["last"])] if match["last"] else []
            for sign, one in ends:
                column, value = _part_of(time, one) if time else (None, "")
                if column:
                    found.append((column, f"{sign} {value}"))
                    said.update(word.lower() for word in WORD.findall(match.group()))
        return tuple(found), said

    def _stand_together(self, some: set[str], others: set[str]) -> bool:
        """Whether words are named as two of a kind: `men or women`, `of Acme and of Bolt`."""
        joints = {"or", "and", "vs", "versus", "than"}
        return any(joints & between for between in self._between(some, others))


def _best(fits: Sequence[tuple[float, _T]]) -> tuple[float, _T | None]:
    return max(fits, key=lambda one: one[0], default=(0.0, None))


def _part_of(time: Column, said: str) -> tuple[Column | None, str]:
    """What of a column is compared with a time as it is said, and that time as it is written there."""
    year = re.search(r"\d{4}", said)
    month = next((number for number, name in enumerate(MONTHS, start=1) if name.lower() in said.lower()), 0)
    day = re.search(r"\b\d{1,2}\b", said)
    if not year or not time.is_date:
        return (None if month or "-" in said else time), said
    if "-" in said:
        return time, said
    if not month:
        return Column("year", "VARCHAR", of=time.name), said
    if not day:
        return Column("month", "VARCHAR", of=time.name), f"{year.group()}-{month:02}"
    return time, f"{year.group()}-{month:02}-{int(day.group()):02}"


def _names(question: str) -> list[set[str]]:
    """The proper names in a question, each with its words: runs of words with a capital, the first word aside."""
    runs: list[set[str]] = []
    for before, word in pairwise(WORD.findall(question)):
        if any(letter.isupper() for letter in word):
            runs += [] if runs and before.lower() in runs[-1] else [set()]
            runs[-1].add(word.lower())
    return runs
