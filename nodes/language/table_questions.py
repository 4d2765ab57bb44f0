"""Figures from the tables of the sources: aggregate, group, filter and table are chosen by the words of the question.

Each word of a question is linked to an aggregate, to a column (`life expectancy` and `lifeExp`), to a cell of one
(`Gentoo`, `Sundays` and `Sun`), to a number, or to nothing. A reading holds if its links account for enough of the
words. Where no column fits what is to be averaged, added up or ranked, nothing is.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from nodes.language.table_answers import EMPTY, LISTED, Asked, best
from nodes.language.table_columns import TOLD, best_fit
from nodes.language.table_conditions import BOUND, NOT, Conditions
from nodes.language.table_schema import KEYS, MOST_TEXTS, WORD, Column, Row, Table
from nodes.language.table_words import (
    AGGREGATES,
    NUMBERS,
    OPPOSITE,
    ROWS,
    SAID_BY_FORM,
    SENSE,
    is_flag,
)
from nodes.language.words import LIGHT, stem

_HONORIFICS = frozenset(("dr", "mr", "mrs", "ms", "prof"))
"""Words before a name that are none of it."""
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
    """
    sales profit revenue amount quantity qty units turnover total net gross takings income expenses spending votes
    orders visits hours wins losses goals points runs laps miles tickets downloads donations borrowed sold missed raised
    attended served times
    """.split()  # noqa: SIM905
)
"""Words in the names of columns of which a group has the sum."""
_STATE = re.compile(r"\b(?:are|is|live|lives|has|have)\b", re.IGNORECASE)
"""How one asks for what is so at a time, and not for what comes together over a time."""
_WHOLE = re.compile(r"\b(?:whole|entire|altogether|in total|in all|overall|all together|combined)\b", re.IGNORECASE)
"""What is said of all rows together."""
_ONCE = re.compile(
    r"\b(?:in|on|at|over) (?:an?|one|any|the)? ?"
    r"(?:single \w+|(?:year|season|month|week|day|game|match|race|go|term)\b)",
    re.IGNORECASE,
)
"""What is said of the most in one row, not of all rows together: `in a single season`."""
QUANTITY = frozenset(("quantity", "qty", "units", "pieces"))
"""Words in the names of columns that say of how many things a row speaks."""
SHARES = frozenset("share percent pct percentage proportion fraction rate ratio".split())  # noqa: SIM905
"""Words in the names of columns that hold shares themselves."""
PEOPLE = frozenset(
    "author artist writer maker composer director owner member customer client teacher leader surname player".split()  # noqa: SIM905
)
"""What a column is called that says whose the rows are."""
LABELS = frozenset(("name", "title", "label", "model"))
"""What a column is called whose cells name the rows."""

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
_WITHOUT = re.compile(r"\b(?:before|without|excluding|net of|exclusive of|ex) (?P<what>\w+)", re.IGNORECASE)
"""What an amount is asked for without: `before VAT`."""
_OF_TIME = re.compile(r"\b(?:latest|newest|last|recent|earliest|oldest|first)\b", re.IGNORECASE)
"""What is said of the highest and the lowest of times."""
_WHEN = re.compile(r"(?:when|(?:on )?(?:what|which) (?:day|date))\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:how many|number of|count(?: of)?(?: the)?)\s+(?:different |distinct )?(?P<what>\w+(?:\s\w+)?)", re.IGNORECASE
)
_QUESTION = re.compile(r"\b(?:wh(?:at|y|en|ere|o|ose|ich)|how|does|did|is|are|was|were|can)\b|\?", re.IGNORECASE)
_OF_WHAT = re.compile(
    rf"\b(?:how much|{'|'.join(AGGREGATES[name] for name in ('avg', 'sum', 'median', 'max', 'min'))})\s+"
    r"(?=(?P<what>\w+(?:\s\w+)?))",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\bhow much\b", re.IGNORECASE)
_SPENT = re.compile(r"\b(?:spen[dt]s?|spending|br(?:ing|ought) in|made|make)\b", re.IGNORECASE)
"""What is said of sums."""
_PHRASE = re.compile(
    r"\b(?:(?:we|you|they) \w+(?= (?:an?|the|our)\b)|on|in|into|with|within|from|for|over|under|by|at|to|about|near|"
    r"through|via|during|do|does|did)\s+"
    r"(?:(?:an?|the|our|his|her|their|its|all|any|this|that|these|those)\s+)*(?=(?P<what>[^\W\d]\w*)(?:\s(?P<then>\w+))?)",
    re.IGNORECASE,
)
"""What says of which rows one speaks: `with a pond`, `does a beholder have`."""
FRAME = frozenset("study data table file list record records world total average order year years".split())  # noqa: SIM905
"""Words for where the rows stand, or how they are looked at."""
_SHARE_OF = re.compile(
    rf"\b(?:{AGGREGATES['share']}) of (?:(?:the|all|total|overall|our|its|their|entire) )*(?=(?P<what>\w+(?:\s\w+)?))",
    re.IGNORECASE,
)


def asked(question: str, table: Table, cells: Sequence[Row], unknown: Sequence[str] | None = None) -> Asked | None:
    """What the question asks of the table, given the cells that `Table.probe` found; None where it does not fit.

    `unknown`: words of it that no source speaks of, where that is known; others may be about what the table is of.
    """
    bare = replace(table, told="", columns=tuple(replace(column, told="") for column in table.columns))
    return best([_Reading(question, one, cells, unknown).asked() for one in dict.fromkeys((bare, table))])


class _Reading(Conditions):
    """One question, read with one table before it: what its words are linked to, and what it asks with that."""

    def __init__(self, question: str, table: Table, cells: Sequence[Row], unknown: Sequence[str] | None) -> None:
        super().__init__(question, table, cells)
        self.unknown = None if unknown is None else LIGHT.union(map(stem, unknown))
        self.forms = self._asked_for()
        filtered = [column for column, _ in self.filters]
        self.is_of_one_row = any(column.name in self.telling for column in filtered)
        several = (column for column, values in self.filters if len(values) > 1 and column not in self.held)
        self.compared = next(several, None)
        open_words = {*self.free} - {"others", "rest"} - {w for c in table.columns for w in self.linked(c, self.free)}
        is_open = any(stem(word) not in SAID_BY_FORM for word in open_words)
        if "than" in self.words and self.filters and not (is_open or self.compared or self.bounds):  # than the others
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
        people = [column for column in self.others if column.name in self.repeating and PEOPLE & {*column.own}]
        if re.match("whose\\b", self.text, re.IGNORECASE) and len(people) == 1:
            self.which = people[0]
        amount = None if self.which else self.named(_WHICH, measures, least=1.0)
        without = [match["what"].lower() for match in _WITHOUT.finditer(self.text)]
        self.without = [column for column in measures if self.called(column, without)]
        """Columns that an amount is asked for without."""
        taken = (self.group, self.which, amount, *self.without)
        is_by_amount = {"max", "min"} & {*self.forms} and not _OF_TIME.search(self.text)
        is_of_amount = bool(_HOW_MUCH.search(self.text) or {"avg", "sum", "median"} & {*self.forms})
        able = [one for one in self.others if not (one.is_time and is_by_amount) and not (one.is_key and is_of_amount)]
        target = self._target([one for one in able if one not in taken])
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

    def named(self, pattern: re.Pattern[str], columns: Sequence[Column], least: float = 0.1) -> Column | None:
        """The column that stands where the pattern expects one; `least`: how well the first word has to fit."""
        for match in pattern.finditer(self.text):
            said = match["what"].lower().replace("-", " ").split()
            by_all = sorted(columns, key=lambda c: (-self.fit(c, self.content), LABELS.isdisjoint(c.parts)))
            score, chosen = best_fit([(self.fit(column, said[:n]), column) for column in by_all for n in (1, 2)])
            if chosen and score >= least and (least < 1 or self.linked(chosen, said[:1])):
                return chosen
        return None

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
        is_turned = bool(self.target and meant & {*map(stem, self.target.own)})
        return "min" if is_least != is_turned else "max"

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
            called = {*target.parts, *map(str.lower, WORD.findall(target.told))}
            is_added = ADDED & called and SHARES.isdisjoint(target.parts)
            together = "sum" if is_spent or is_added else "avg"
            category = group or which
            if kind and (category or not extreme):
                return kind, target, category if extreme else group
            if kind and extreme:  # one of both is what the column is called: the average maximum temperature
                return (kind, target, group) if {"max", "min"} & {*target.own} else (kind, None, None)
            is_repeating = category and category == which and {category.name, category.of} & repeating
            is_sum = is_repeating and not _ONCE.search(self.text) and (together == "sum" or _WHOLE.search(self.text))
            if extreme and "rank" not in forms and category and (category == self.compared or is_sum):
                return "sum" if is_sum else together, target, category
            if extreme:
                return extreme, target, group
            if counted and (self.is_of_one_row or target.is_counted_in(counted["what"].lower().split())):
                return "" if self.is_of_one_row or self._is_at_some_time else "sum", target, group
            is_done = ADDED & {*target.parts} and target.own[-1].endswith("ed") and "count" in forms
            if is_done and self.called(target, self.free) and not self._is_at_some_time:
                return "sum", target, group  # how many of the appointments were missed
            is_of_many = any(column.name in self.repeating for column, _ in self.filters)
            if not self.is_of_one_row and "count" not in forms and (is_of_many or _HOW_MUCH.search(self.text)):
                return together, target, group
        is_of_time = target is not None and target.is_time
        if extreme and "rank" not in forms and not is_of_time and not is_amount:
            most = self.compared or which
            if most and re.search(r"\b(?:most|more|few\w*|less|least)\b", self.text):
                return "count", target if target != most else None, most
        things = next((column for column in self.others if QUANTITY & {*column.parts} and column.is_measure), None)
        if counted and things and not extreme and self.spoken & {*counted["what"].lower().split()}:
            return "sum", things, group  # how many bagels, of a table of orders
        if "count" in forms and not extreme:
            return "count", self.named(_HOW_MANY, [c for c in self.others if c.is_text], least=0.9), group
        rest = kind or extreme or "summary" * ("summary" in forms and self.words[0] not in ("where", "why"))
        return rest, target or which, group

    @property
    def _is_at_some_time(self) -> bool:
        """Whether rows tell how it is at one time after another, and it is not said at which."""
        limited = {name for column, _ in (*self.filters, *self.bounds) for name in (column.name, column.of)}
        times = [column for column in self.table.columns if column.is_time and column.name not in limited]
        return bool(times and self.filters and _STATE.search(self.text))

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
        score, chosen = best_fit(fits)
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
        return any(between and between <= small for between in self.between(some, others))

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
            *self.without,
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
        is_of_another |= any(one["value"].replace(",", "") not in amounts for one in BOUND.finditer(self.question))
        is_of_another |= any(re.fullmatch(r"\d{3,}", word) and word not in said | aside for word in open_words)
        is_of_another |= any(not self._is_flagged(match["what"].lower()) for match in NOT.finditer(self.question))
        behind = [match["what"].lower().split() for match in _OF_WHAT.finditer(self.text)]
        each = [one["what"].lower().split() for one in _EACH_OF.finditer(self.text)]
        behind += [words for words in each if not any(self.called(column, words) for column in self.table.columns)]
        of_else = [words for words in behind if words[0] in open_words and words[0] not in NUMBERS]
        of_else += [[word] for word in self._phrases() if word in open_words and word not in known | FRAME]
        is_of_another |= any(said.isdisjoint(words) for words in of_else)  # of something else than what is told
        is_limited = bool(found.filters or found.bounds or found.group)
        is_of_another |= found.aggregate == "count" and not is_limited and fit < 1  # what is left says which rows
        is_of_another |= is_implied and fit < IMPLIED
        is_of_another |= is_vague and then in ("does", "do", "did")  # something that a row may have, not the rows
        is_of_another |= found.aggregate in ("avg", "sum", "median") and not is_tied and fit <= FITS
        speaks = [word for word in open_words if word in said or self.unknown is None or stem(word) in self.unknown]
        held = len(said.intersection(speaks)) / max(1, len(speaks))
        return 0.0 if held < needed or is_of_another else fit

    def _phrases(self) -> list[str]:
        """What is said of the rows behind small words, and last: `with a pond`, `how many from Oslo passed`.

        What another source speaks of may say what the table is of: `in the school library`, of a table of a library.
        """
        columns, said, last = self.table.columns, list[str](), self.words[-1]
        for match in _PHRASE.finditer(_WHOLE.sub(" ", _ONCE.sub(" ", self.text))):
            word, then = match["what"].lower(), (match["then"] or match["what"]).lower()
            is_of_rows = bool(self.table.named.match([then]))
            is_spoken_of = self.unknown is not None and stem(word) not in self.unknown
            is_open = stem(word) not in LIGHT and not any(self.called(column, [word, then]) for column in columns)
            said += [word] if is_open and not (is_of_rows and is_spoken_of) else []
        is_done = last.endswith("ed") and last not in ("listed", "recorded", "included", "mentioned")
        return said + [last] * is_done

    def _is_of_name(self, word: str) -> bool:
        """Whether a word is made of what the table is called: `Mexican` of `mexico`."""
        return any(len(part) > BEGINS and word[:BEGINS] == part[:BEGINS] for part in self.table.named.own)

    def _is_flagged(self, word: str) -> bool:
        """Whether a word that is denied names a column that says so, or nothing that the table speaks of."""
        denied = [column for column, values in self.filters if not all(map(is_flag, values))]
        denied += [column for column, bound in self.bounds if bound == EMPTY]
        denied += [one for one in (self.target, self.which) if one and NOT.search(f"{one.said} {one.told}")]
        is_excluded = word in self.excluded or word not in self.content
        return is_excluded or any(self.linked(column, [word]) for column in denied)


def _names(question: str) -> list[set[str]]:
    """The proper names in a question, each with its words: runs of words with a capital, the first word aside."""
    runs: list[set[str]] = []
    for before, word in pairwise(WORD.findall(question)):
        if any(letter.isupper() for letter in word):
            runs += [] if runs and before.lower() in runs[-1] else [set()]
            runs[-1].add(word.lower())
    return [run - _HONORIFICS for run in runs]
