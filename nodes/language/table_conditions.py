"""Which rows a question speaks of: the cells, numbers, times and amounts that it names."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from nodes.language.table_answers import EMPTY, Filter
from nodes.language.table_columns import Wording, best_fit
from nodes.language.table_schema import FEW, MONTHS, WORD, Column, Row, Table, different
from nodes.language.table_words import (
    AGGREGATES,
    NUMBERS,
    OPPOSITE,
    SAID_BY_FORM,
    SENSE,
    STOP_CELLS,
    initials_in,
    is_answer,
    is_flag,
    meets,
)
from nodes.language.words import STOP_WORDS, stem

SMALL_CELLS = frozenset(map(stem, STOP_CELLS | STOP_WORDS))
"""Stems of which no cell is known that has no others."""

SURELY = 0.8
"""How surely a word has to mean a column of which it says that its cells are empty."""
LEAST = 0.15
"""How well words have to fit a column of which they say that it is above or below."""
_TOKEN = re.compile(r"[^\W_a-z]?[^\W\d_A-Z]+|[A-Z]+|\d+[a-z]{0,2}")
NOT = re.compile(
    r"\b(?:not|no|non|never|without|outside|except|excluding|other than|apart from|\w+n't)[\s-]+"
    r"(?:(?:yet|been|be|being|have|got) )*(?:in |from |of )?(?:an? |any |the |\w+ed (?=\w))?(?P<what>\w+)",
    re.IGNORECASE,
)
_LACKS = re.compile(
    rf"{NOT.pattern}|\b(?:missing|lacking|lacks?) (?:an? |the |their |its )?(?P<lacked>\w+)|"
    r"\bun(?P<undone>\w+(?:ed|id|ad|(?<!me)nt|wn|ne|ld|lt|en))\b",
    re.IGNORECASE,
)
"""`no phone number`, `not been paid`, `unpaid`."""
_SIGNS = {
    ">=": r"at least|no less than|not less than|from",
    "<=": r"at most|up to|no more than|not more than",
    ">": r"(?:more|greater|higher|larger|longer|heavier|older|bigger|taller|faster|dearer) than|over|above|exceeding",
    "<": r"(?:less|fewer|lower|smaller|shorter|lighter|younger|cheaper) than|under|below",
}
BOUND = re.compile(
    rf"(?P<before>(?:[\w'-]+\s+){{0,4}})\b(?P<how>{'|'.join(_SIGNS.values())})\s+(?:[€$£]\s?)?"
    r"(?P<value>\d[\d,]*(?:\.\d+)?)(?P<after>(?:\s+[\w'-]+){0,2})",
    re.IGNORECASE,
)
_LATER, _EARLIER = "after|later than", "before|earlier than"
_COMPARED = re.compile(
    rf"(?P<before>(?:[\w'-]+\s+){{0,8}})\b(?!from|up to)(?P<how>{'|'.join(_SIGNS.values())}|{_LATER}|{_EARLIER})\s+"
    r"(?P<after>(?!\d)[\w'-]+(?:\s+[\w'-]+){0,5})",
    re.IGNORECASE,
)
"""`in stock below the minimum`, `paid after they were due`: one column of a row beside another."""
_MORE_THAN = re.compile(r"\b(more|fewer|less|higher|lower|larger|smaller) ((?:\w+ ){1,2})than\b", re.IGNORECASE)
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
_MONTHS = re.compile(
    rf"\b(?P<first>{'|'.join(MONTHS)})(?: (?:to|until|through|and)|\s?[-–]) ?(?P<last>{'|'.join(MONTHS)})\b(?! \d)"
)
"""`from January to April`, `between March and May`, of any year."""
_SHARE_OF_ALL = re.compile(rf"\b(?:{AGGREGATES['share']})\b(?! of)", re.IGNORECASE)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b(?![-–/]\d\d\b)")
Link = tuple[float, set[str], str, Column]
"""How surely words mean a cell of a column, 0 to 1 for each."""


class Conditions(Wording):
    """What a question asks that rows are like, given the cells that `Table.probe` found."""

    def __init__(self, question: str, table: Table, cells: Sequence[Row]) -> None:
        super().__init__(question, table)
        self.initials = initials_in(question)
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
        self.bounds, within = self._spans()
        self.bounds += self._bounds(within)
        lacked, words = self._lacked()
        self.bounds, within = self.bounds + lacked, within | words
        if not self.bounds:
            self.bounds, within = self._comparison()
        self.held: set[Column] = set()
        """Columns of which one word is part of several cells."""
        self.denied: set[Column] = set()
        """Columns that are not to have the cells that are named."""
        self.excluded: set[str] = set()
        """The words for those cells."""
        self.filters, self.spoken = self._filters([column for column, _ in self.bounds], within)
        self.free = [word for word in self.content if word not in self.spoken]
        self.beginnings = self._beginnings(self.free)

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
            is_new = column not in found or self.stand_together(words[column], said)
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
        said = {match["what"].lower() for match in NOT.finditer(self.question)}
        self.denied = {one for one, cells in found.items() if said & words[one] and not any(map(is_answer, cells))}
        self.excluded = said.intersection(word for one in self.denied for word in words[one])
        order = sorted(found, key=lambda column: max(self.at(word) for word in words[column]))
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
        links = {token: best_fit([(meets(token, word), word) for word in free]) for token in tokens}
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
            ends = ({links[token][1] for token in part} for part in (tokens[: len(apart)], tokens[-len(apart) :]))
            is_proper = bool(apart & self.proper)
            is_name = is_proper or (len(apart) > 1 and any(apart <= end for end in ends))
            is_named = is_few and len(tokens) <= 4 * len(apart) and is_name
            # of a column of many names, a proper word of several means all that have it
            is_named |= is_proper and not is_few and all(self.shared[column.name, word] > 1 for word in said)
        elif len(cell) < 3 and cell not in self.written:
            is_named = len(cell) == 1 and bool({"sex", "gender"} & {*column.parts} or self.linked(column, self.content))
        else:
            is_named = is_few or min(score for score, _ in links.values()) > 0.8
        score = sum(max(one for one, word in links.values() if word == each) for each in said) - 0.3 * len(rest)
        score += 0.5 * is_whole
        return (score, said) if is_named else None

    def _flag(self, column: Column, is_so: bool) -> tuple[float, set[str]] | None:
        """The same of a cell that says that what the column is called is so, or is not."""
        opposite = {word for word in self.content if {*map(stem, column.own)} & {*OPPOSITE.get(stem(word), [])}}
        said = opposite | self.linked(column, self.content)
        denied = {match["what"].lower() for match in NOT.finditer(self.question)}
        score = max(self.fit(column, list(said)), float(bool(opposite)))
        is_named = opposite or (score > 0.3 and self.is_meant(column, self.content) and self._is_told_apart(column))
        return (score, said) if is_named and is_so == (bool(opposite) == bool(said & denied)) else None

    def _is_told_apart(self, column: Column) -> bool:
        """Whether it is told, most of its name is said, or half of that by words that call no other column."""
        said = [part for part in column.own if any(self.link(part, word) for word in self.words)]
        others = {part for other in self.table.columns if other != column for part in other.own}
        is_told = any(self.tells(column, word) for word in self.content)
        return is_told or len(column.own) < 2 * len(said) + (not others.intersection(said))

    def _meant(self, column: Column, code: str) -> tuple[float, set[str]] | None:
        """The same of a cell by what is told that it means, where that is all said or a word of it is of no other."""
        keys = {word: {stem(word), *SENSE.get(stem(word), [])} for word in self.words}
        codes = column.codes
        means = codes[code.lower()]
        found = [key for key in means if any(key in meant for meant in keys.values())]
        said = {word for word in self.content if keys.get(word, set()).intersection(found)}
        said -= self.table.named.match(self.content)
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
                score, column = best_fit([(self.fit(column, near), column) for column in able if value])
                if column and self.fit(column, near[-1:]) > 0.5:
                    yield score, {word, near[-1]}, value, column

    def _times(self) -> Iterator[Link]:
        """Years, months and days, by columns that say when."""
        times = [column for column in self.table.columns if column.is_time and not column.is_text]
        time = max(times, key=lambda column: self.fit(column, self.content), default=None)
        yield from ((0.5, {year}, year, time) for year in _YEAR.findall(self.question) if time)
        dates = [column for column in times if column.is_date]
        date = max(dates, key=lambda column: self.fit(column, self.content), default=None)
        month = self._month()
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
            elif month and at and not (date or day):
                yield 0.6, {match["month"].lower()}, str(at), month
                if month.of and match["year"] and not self.table.named.match([match["year"]]):
                    yield 0.6, {match["year"]}, match["year"], replace(month, name="calendar year", kind="VARCHAR")

    def _month(self) -> Column | None:
        """What says which month of a year it is."""
        times = [one for one in self.table.columns if one.is_date or "month" in one.parts]
        time = max(times, key=lambda one: (one.is_date, self.fit(one, self.content)), default=None)
        return Column("calendar month", "BIGINT", of=time.name) if time and (time.is_date or time.is_text) else time

    def _bounds(self, within: set[str]) -> tuple[tuple[Column, str], ...]:
        """What a question says of amounts: `a price below 5`, `more than 3 seats`, `costs at least 10`."""
        found = []
        for match in BOUND.finditer(self.question):
            if match["value"] in within:
                continue
            sign = _sign_of(match["how"])
            near = [*WORD.findall(match["before"])[-3:], *WORD.findall(match["after"])[:2], *match["how"].split()]
            fits = [
                (self.fit(column, [word.lower() for word in near]), column)
                for column in self.table.columns
                if column.is_measure
            ]
            score, column = best_fit(fits)
            if column and score > LEAST:
                found.append((column, f"{sign} {match['value'].replace(',', '')}"))
        return tuple(found)

    def _lacked(self) -> tuple[tuple[tuple[Column, str], ...], set[str]]:
        """What a question says that rows do not have, where that is no cell, as a bound, and its words for it."""
        answered = {row["col"] for row in self.cells if is_answer(row["cell"])}
        known = {word for row in self.cells for word in WORD.findall(row["cell"].lower())}
        able = [one for one in self.table.columns if (one.is_text or one.is_date) and one.name not in answered]
        for match in _LACKS.finditer(self.question):
            what = next(filter(None, match.groups())).lower()
            score, column = best_fit([(max(self.link(part, what) for part in one.own), one) for one in able if one.own])
            if column and score >= SURELY and what not in known | self.table.named.match([what]):
                own = {what, f"un{what}"}.intersection(self.content)
                return ((column, EMPTY),), own | self.called(column, self.content)
        return (), set()

    def _comparison(self) -> tuple[tuple[tuple[Column, str], ...], set[str]]:
        """What a question says of two amounts or days of a row, as a bound, and its words for it.

        An amount that is not named is the one that is measured in the same: `below the minimum`, of kilograms. What it
        is compared with is taken out of the text, so that nothing else is read there.
        """
        amounts = [column for column in self.table.columns if column.is_measure]
        dates = [column for column in self.table.columns if column.is_date]
        text = _MORE_THAN.sub(r"\2\1 than", self.text)
        for match in _COMPARED.finditer(text):
            how = match["how"].lower()
            is_of_days = how in f"{_LATER}|{_EARLIER}".split("|")
            before, after = (WORD.findall(match[side].lower()) for side in ("before", "after"))
            able = dates if is_of_days else amounts
            score, right = best_fit([(self.fit(column, after), column) for column in able])
            near, left = best_fit([(self.fit(column, before), column) for column in able if column != right])
            alike = [
                one
                for one in able
                if "per" not in one.parts and right and one != right and {*one.parts} & {*right.parts}
            ]
            left = left if near > LEAST else alike[0] if len(alike) == 1 else None
            if left and right and score > LEAST:
                said = self.linked(left, before) | self.linked(right, after)
                self.text = text.replace(match["after"], " ")
                return ((left, f"{_sign_of(how)} {right.sql}"),), said.intersection(self.content)
        return (), set()

    def _spans(self) -> tuple[tuple[tuple[Column, str], ...], set[str]]:
        """What a question says of spans of time, as bounds, and its words for them."""
        times = [one for one in self.table.columns if one.is_date or ("year" in one.parts and not one.is_text)]
        time = max(times, key=lambda column: self.fit(column, self.content), default=None)
        found, said = list[tuple[Column, str]](), set[str]()
        month = self._month()
        for match in _MONTHS.finditer(self.question) if month else ():
            first, last = (MONTHS.index(match[end]) + 1 for end in ("first", "last"))
            is_in_order = first < last and (
                " and " not in match.group() or "between" in self.words or last == first + 1
            )
            found += [(month, f">= {first}"), (month, f"<= {last}")] if month and is_in_order else []
            said.update(word.lower() for word in match.groups() if is_in_order)
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


def _sign_of(said: str) -> str:
    """`>=` of `at least`."""
    signs = {**_SIGNS, ">": f"{_SIGNS['>']}|{_LATER}", "<": f"{_SIGNS['<']}|{_EARLIER}"}
    return next(sign for sign, pattern in signs.items() if re.fullmatch(pattern, said, re.IGNORECASE))


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
