"""Figures from the tables of the sources: aggregate, group, filter and table are chosen by the words of the question.

Words meet column names (`life expectancy` and `lifeExp`) and cell values (`Gentoo` in the column `species`), which are
looked up in the table first. Where no column fits what is to be averaged, added up or ranked, nothing is.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nodes.llm.offline.schema import Column, Row, Table, alike, different, is_named
from nodes.tools.words import keywords, stem

FITS = 0.5
"""Share of the question's words that a table has to account for (with names, columns and cells)."""
SURE = 0.6
"""The same where rows are counted for a “most” that no column holds."""
LISTED = 12
"""Groups that are listed."""
RANKED = 5
"""Rows of a ranking."""
FEW = 40
"""Different cells of a column, at most, for a part of one to name it."""
MEASURES = ("avg", "sum", "median", "max", "min", "change", "summary")
"""Aggregates of amounts."""
AGGREGATES = {
    "avg": r"average|mean|on average|typical(?:ly)?",
    "sum": r"total|sum|altogether|in all|overall|combined",
    "median": r"median",
    "share": r"share|percent(?:age)?|proportion|fraction",
    "max": r"highest|most|largest|biggest|greatest|maximum|max|top|longest|tallest|oldest|heaviest|fastest|richest|"
    r"latest|newest|hottest|warmest|best|most expensive|strongest|"
    r"(?:higher|larger|bigger|greater|longer|more)(?! than)",
    "min": r"lowest|least|smallest|fewest|minimum|min|shortest|youngest|lightest|slowest|poorest|earliest|coldest|"
    r"worst|cheapest|bottom|(?:lower|smaller|shorter|less|fewer|cheaper)(?! than)",
    "count": r"how many|number of|count",
    "change": r"gr[eo]wn?|growth|ris(?:e|en|ing)|rose|f[ae]ll(?:en)?|change[ds]?|develop(?:ed|ment)?|trend|over time",
    "summary": r"analy[sz]e|figures?|statistics|range|overview",
}
"""Words that ask for an aggregate, by its name in SQL."""
SENSES = {
    "mass weight": "heavy heaviest light lightest weigh weighs",
    "length": "long longest short shortest",
    "height elevation": "tall tallest high",
    "age": "old oldest young youngest aged",
    "width": "wide widest",
    "depth": "deep deepest",
    "price cost": "expensive cheap cheapest costs charge charges",
    "speed": "fast fastest slow slowest",
    "gdp income": "rich richest poor poorest",
    "population": "populous inhabitants people",
    "temperature": "hot hottest warm warmest cold coldest",
    "size area": "large largest big biggest small smallest",
}
"""What a column may be called that is asked for by another word."""
ROWS = frozenset("people persons entries records rows cases items differ compare".split())  # noqa: SIM905
"""Words for what the rows are, or for looking at them, that no table has to account for."""
STOP_CELLS = frozenset("a an the in on at of is are no yes all other none what which how many much year".split())  # noqa: SIM905
"""Cells that a question has for other reasons."""
TITLES = {
    "avg": "Average",
    "sum": "Total",
    "median": "Median",
    "max": "Highest",
    "min": "Lowest",
    "count": "Number of",
    "": "",
}

_ASKED = {name: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for name, pattern in AGGREGATES.items()}
_GROUP = re.compile(
    r"\b(?:by|per|for (?:each|every)|each|every|across|among)\s+(?:the\s+)?(?=(?P<what>\w+(?:\s\w+)?))", re.IGNORECASE
)
_WHICH = re.compile(r"\b(?:which|what)\s+(?P<what>\w+(?:\s\w+)?)", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:how many|number of|count(?: of)?(?: the)?)\s+(?:different |distinct )?(?P<what>\w+)", re.IGNORECASE
)
_QUESTION = re.compile(
    r"\b(?:what|how|why|when|where|who|whose|which|does|did|is|are|was|were|can)\b|\?", re.IGNORECASE
)
_NUMBERED = re.compile(r"\b(?P<value>\d+(?:\.\d+)?)\s+(?P<column>[a-z]\w+)", re.IGNORECASE)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_SENSE = {stem(word): wanted.split() for wanted, said in SENSES.items() for word in said.split()}
_SAID_BY_FORM = {stem(w) for p in (*ROWS, *AGGREGATES.values()) for w in re.findall(r"[a-z]{3,}", p)}
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks of one table."""

    table: Table
    aggregate: str
    target: Column | None
    """What is averaged, added up, ranked or shown."""
    group: Column | None
    """What the rows are grouped by."""
    label: Column | None
    """What the rows that are listed are called by."""
    filters: tuple[tuple[Column, str], ...]
    fit: float
    """Share of the question's words that this accounts for."""

    @property
    def scope(self) -> str:
        """The table and the condition in words."""
        said = " and ".join(f"{column.said} is {value}" for column, value in self.filters)
        return f" in {self.table.name}" + (f" where {said}" if said else "")

    @property
    def is_list(self) -> bool:
        """Whether it asks for what the table says of each: `licences` of a table of frameworks."""
        return not self.aggregate and not self.filters

    @property
    def time(self) -> Column | None:
        """The column that says when."""
        return next((column for column in self.table.columns if column.is_time), None)

    @property
    def sql(self) -> str:
        """The question."""
        target, time = (column.sql if column else "" for column in (self.target, self.time))
        name = self.group or self.label
        conditions = [column.equals(value) for column, value in self.filters]
        if self.aggregate == "share":
            value = f"count(*) FILTER (WHERE {' AND '.join(conditions)})"
            shares = f"round(100.0 * {value} / count(*), 2) AS value, {value} AS n, count(*) AS whole"
            return f"SELECT {shares} FROM {self.table.sql}"
        conditions += [f"{name.sql} IS NOT NULL"] if name else []
        rows = f"FROM {self.table.sql}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
        if self.aggregate == "summary":
            value = f"min({target}) AS minimum, max({target}) AS maximum, round(avg({target}), 2) AS average"
            return f"SELECT {value}, count(*) AS n {rows}"
        if self.aggregate == "change":
            first, last = f"arg_min({target}, {time})", f"arg_max({target}, {time})"
            value = f"min({time}) AS since, {first} AS first, max({time}) AS until, {last} AS last, "
            value += f"abs(round(100.0 * ({last} / nullif({first}, 0) - 1), 1)) AS percent"
        elif self.aggregate == "count":
            value = f"count(DISTINCT {target}) AS value" if target else "count(*) AS value"
        elif self.is_list and name:
            told = f"{rows} AND {target} IS NOT NULL ORDER BY 1 LIMIT {LISTED}"
            return f"SELECT {name.sql} AS name, {target} AS value {told}"
        elif self.aggregate:
            value = f"round({self.aggregate}({target}), 2) AS value, count({target}) AS n"
        else:
            return f"SELECT DISTINCT {', '.join(column.sql for column in self.shown)} {rows} LIMIT {RANKED}"
        single = f"HAVING count(*) = count(DISTINCT {time}) AND min({time}) < max({time})"
        if self.aggregate == "change":
            named, grouped = (f"{name.sql} AS name, ", " GROUP BY 1") if name else ("", "")
            return f"SELECT {named}{value} {rows}{grouped} {single} ORDER BY 1 LIMIT {LISTED}"
        if not name:
            return f"SELECT {value} {rows}"
        order = f"2 {'ASC' if self.aggregate == 'min' else 'DESC'} NULLS LAST, 1"
        most = LISTED if self.group else RANKED
        return f"SELECT {name.sql} AS name, {value} {rows} GROUP BY 1 ORDER BY {order} LIMIT {most}"

    @property
    def shown(self) -> list[Column]:
        """The columns of a row that is looked up: those of the condition, the year, what is asked for."""
        times = [column for column in self.table.columns if column.name.lower() == "year"]
        picked = [*(column for column, _ in self.filters), *times, *([self.target] if self.target else [])]
        return list(dict.fromkeys(picked))

    def sentences(self, rows: list[Row]) -> list[str]:
        """What the answer says, a sentence a figure or list; the figures as the table gave them."""
        try:
            return self._said([row for row in rows if any(row.values())])
        except (KeyError, ValueError):  # an answer of another shape says nothing
            return []

    def _said(self, rows: list[Row]) -> list[str]:
        what = self.target.said if self.target else "rows"
        if not rows:
            return []
        first = rows[0]
        if self.aggregate == "share":
            share = f"{first['value']} % ({shown(first['n'])} of {shown(first['whole'])})"
            return [f"Share of rows{self.scope}: {share}."]
        if self.aggregate == "summary":
            low, high, mean = (shown(first[key]) for key in ("minimum", "maximum", "average"))
            return [f"{capital(what)}{self.scope} ranges from {low} to {high}, averages {mean} ({_rows(first['n'])})."]
        if self.aggregate == "change":
            return [_changed(row, capital(what) + (f" of {row['name']}" if "name" in row else "")) for row in rows]
        if not self.aggregate and not self.is_list:
            cells = [
                "; ".join(f"{Column(k, '').said} {shown(value)}" for k, value in row.items() if value) for row in rows
            ]
            return [f"In {self.table.name}: {one}." for one in cells]
        if self.aggregate == "count" and self.target:
            what = f"different values of {what}"
        by = f" by {self.group.said}" if self.group else ""
        listed = joined(self._figure(row) for row in rows)
        return [f"{capital(f'{TITLES[self.aggregate]} {what}'.strip())}{by}{self.scope}: {listed}."]

    def _figure(self, row: Row) -> str:
        """`15 (2 rows)`, of a group `US 15 (2 rows)`, in a ranking `Dash (40)`."""
        value = shown(row["value"])
        if "name" not in row:
            return value + (f" ({_rows(row['n'])})" if "n" in row else "")
        name = f"“{row['name']}”" if "," in row["name"] else row["name"] or "none"
        if not self.group:
            return f"{name} ({value})"
        name += ":" if re.fullmatch(r"[\d.,-]+", name) else ""
        return f"{name} {value}" + (f" ({_rows(row['n'])})" if "n" in row else "")


def asked(question: str, table: Table, cells: Sequence[Row]) -> Asked | None:
    """What the question asks of the table, given the cells that `Table.probe` found; None where it does not fit."""
    wanted = [word.lower() for word in keywords(question).values()]
    text = re.sub(r"\bat least\b|\bmost of\b", " ", question)
    forms = [name for name, pattern in _ASKED.items() if pattern.search(text)]
    aggregate = forms[0] if forms else ""
    filters = _filters(question, table, cells)
    spoken = {word for _, cell in filters for word in wanted if word in _in(cell) or alike(cell.lower(), word)}
    spoken |= {word for column, cell in filters if is_flag(cell) for word in column.match(wanted)}
    free = [word for word in wanted if word not in spoken]
    senses = [sense for word in free for sense in _SENSE.get(stem(word), [])]
    filtered = {column.name for column, _ in filters}
    groups = [c for c in table.columns if c.name not in filtered]
    group = _named(_GROUP, text, [c for c in groups if not c.is_measure]) or _named(_GROUP, text, groups, least=1.0)
    which = _named(_WHICH, text, [c for c in table.columns if c.is_text or c.is_time])
    target = _target(table, free, senses, {column.name for column in (group, which) if column} | filtered)
    amount = target is not None and target.is_measure
    if aggregate == "count" and target and (counted := _HOW_MANY.search(text)):
        if amount and target.match([counted["what"].lower()]):
            aggregate = "" if filters else "sum"
        else:
            others = [c for c in table.columns if c.is_text and c.name not in filtered and c != group]
            target = _named(_HOW_MANY, text, others)
    elif aggregate in ("max", "min") and "avg" in forms:
        aggregate = "avg"
    elif aggregate in ("max", "min") and not amount and which and which.is_text and (target or group or "most" in text):
        aggregate, group = "count", which
    if aggregate in ("avg", "sum", "median") and which and not group and {"max", "min"} & set(forms):
        group = which
    measured = target is not None and (target.is_measure or (target.is_time and aggregate in ("max", "min")))
    is_ranked = aggregate in ("max", "min", "change") and not group
    label = (which or table.label(_different(cells))) if is_ranked else None
    found = Asked(table, aggregate, target, group, label, tuple(filters), 0.0)
    if (aggregate in MEASURES and not measured) or (aggregate == "change" and not found.time):
        return None
    if not aggregate and not filters:
        counts = _different(cells)
        group = table.label({name: count for name, count in counts.items() if not target or name != target.name})
        if not group or not target or not target.is_text or group == target or counts.get(group.name, LISTED) > LISTED:
            return None
        if _QUESTION.search(text):  # it asks for something else, of which a column happens to have a word
            return None
    elif aggregate in ("share", "") and not (filters and (target or aggregate)):
        return None
    if aggregate == "count" and not (filters or group or target or is_named(table.name, free)):
        return None
    said = table.match(wanted) | spoken
    said |= {word for word in free if target and target.match(_SENSE.get(stem(word), []))}
    open_words = [word for word in wanted if word in said or stem(word) not in _SAID_BY_FORM]
    fit = len([word for word in open_words if word in said]) / max(1, len(open_words))
    needed = SURE if aggregate == "count" and which and group == which and not target else FITS
    if fit < needed or any(not said & names for names in _names(question) if names & set(open_words)):
        return None
    return Asked(table, aggregate, target, group, label, tuple(filters), round(fit, 2))


def best(found: Sequence[Asked | None]) -> Asked | None:
    """The reading that accounts for most of the question; of two the one with fewer conditions in parts of cells."""
    fitting = [one for one in found if one]
    return max(fitting, key=lambda one: (one.fit, one.target is not None, -len(one.table.columns)), default=None)


def is_flag(cell: str) -> bool:
    """Whether a cell says that what its column is called is so."""
    return cell.lower() in ("yes", "true")


def _filters(question: str, table: Table, cells: Sequence[Row]) -> list[tuple[Column, str]]:
    """The cells that the question names, one a column, whole cells before parts; numbers of a column; the year."""
    columns = {column.name: column for column in table.columns}
    words, found = _WORD.findall(question), dict[str, tuple[Column, str]]()
    used: set[str] = set()
    proper = {word.lower() for word in words[1:] if word[:1].isupper()}
    hits = [row for row in cells if row.get("cell") and row["col"] in columns]
    for row in sorted(hits, key=lambda row: (not _is_whole(row), -len(row["cell"]), different(row))):
        cell, column = row["cell"], columns[row["col"]]
        if is_flag(cell) and column.match([word.lower() for word in words]):
            found.setdefault(column.name, (column, cell))
            continue
        said = _in(cell) & {word.lower() for word in words}
        few = different(row) <= FEW and len(_in(cell)) <= 4 * len(said) and not re.search(r"\w\.\w|/", cell)
        named = len(cell) >= 3 or cell in words if _is_whole(row) else few and bool(said & proper)
        if column.name not in found and named and not (said and said <= used) and cell.lower() not in STOP_CELLS:
            found[column.name] = (column, cell)
            used |= said
    for match in _NUMBERED.finditer(question):
        fitting = [c for c in table.columns if c.is_measure and c.fit([match["column"].lower()]) > 0.5]
        found.update({c.name: (c, match["value"]) for c in fitting[:1]})
    year, time = _YEAR.search(question), next((c for c in table.columns if c.is_time and not c.is_text), None)
    if year and time:
        found.setdefault(time.name, (time, year[1]))
    return list(found.values())


def _target(table: Table, free: Sequence[str], senses: Sequence[str], exclude: set[str]) -> Column | None:
    """The column that the question asks for: the one that its words name best, numbers before texts."""
    fits = [
        (max(column.fit(free) + 0.1 * column.is_measure, column.fit(senses) - 0.3), column)
        for column in table.columns
        if column.name not in exclude
    ]
    score, chosen = max(fits, key=lambda item: item[0], default=(0.0, None))
    return chosen if score > 0.15 else None


def _named(pattern: re.Pattern[str], text: str, columns: Sequence[Column], least: float = 0.1) -> Column | None:
    """The column that stands where the pattern expects one; `least`: how well it has to fit."""
    for match in pattern.finditer(text):
        said = match["what"].lower().split()
        fits = [(column.fit(said[:n]), column) for column in columns for n in (1, 2)]
        score, chosen = max(fits, key=lambda item: item[0], default=(0.0, None))
        if score >= least:
            return chosen
    return None


def _names(question: str) -> list[set[str]]:
    """The proper names in a question, each with its words: runs of words with a capital, the first word aside."""
    words = _WORD.findall(question)
    runs: list[set[str]] = []
    for before, word in pairwise(words):
        if any(letter.isupper() for letter in word):
            if not (runs and before.lower() in runs[-1]):
                runs.append(set())
            runs[-1].add(word.lower())
    return runs


def _different(cells: Sequence[Row]) -> dict[str, int]:
    """The number of different cells, by column."""
    return {row["col"]: different(row) for row in cells if row.get("col")}


def _is_whole(row: Row) -> bool:
    return row["whole"].lower() == "true"


def _in(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _changed(row: Row, what: str) -> str:
    """First and last value, and by how much of the first it went up or down."""
    since, until, first, last = (row[key] for key in ("since", "until", "first", "last"))
    before, after = float(first or 0), float(last or 0)
    if before == after:
        return f"{what} stayed at {shown(first)} from {since} to {until}."
    verb, way = ("rose", "up") if after > before else ("fell", "down")
    percent = f", {way} {shown(row['percent'])} %" if before > 0 else ""
    return f"{what} {verb} from {shown(first)} in {since} to {shown(last)} in {until}{percent}."


def _rows(count: str) -> str:
    return f"{shown(count)} {'row' if count == '1' else 'rows'}"


def capital(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]


def shown(text: str) -> str:
    """A cell as one writes it: thousands of large numbers set apart, no digit changed."""
    if re.fullmatch(r"-?\d{5,}(?:\.\d+)?", text):
        whole, point, rest = text.partition(".")
        text = f"{int(whole):,}{point}{rest}"
    return text.removesuffix(".0") if re.fullmatch(r"[-\d,]+\.0", text) else text


def joined(items: Iterable[str]) -> str:
    """A list in words: `a, b and c`."""
    found = list(items)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
