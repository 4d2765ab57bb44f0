"""Figures from the tables of the sources: aggregate, group, filter and table are chosen by the words of the question.

Words meet column names (`life expectancy` and `lifeExp`) and cell values (`Gentoo` in the column `species`), which are
looked up in the table first. Where no column fits what is to be averaged, added up or ranked, nothing is.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nodes.llm.offline.words import names
from nodes.tools.words import keywords, stem

Row = dict[str, str]

FITS = 0.5
"""Share of the question's words that a table has to account for (with names, columns and cells)."""
SURE = 0.6
"""The same where rows are counted for a “most” that no column holds."""
MOST_TEXTS = 14
"""Columns whose cells are looked through."""
LONGEST_LIST = 12
"""Groups that are listed."""
RANKED = 5
"""Rows of a ranking."""
NUMERIC = re.compile(r"^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC)")
TIME = re.compile(r"^(?:year|date|month|quarter|day|week)$|^(?:DATE|TIMESTAMP)", re.IGNORECASE)
NAMING = re.compile(r"name|vendor|company|product|framework|title|model|symbol|country|city", re.IGNORECASE)
AGGREGATES = {
    "avg": r"average|mean|on average|typical(?:ly)?",
    "sum": r"total|sum|altogether|in all|overall|combined",
    "median": r"median",
    "share": r"share|percent(?:age)?|proportion|fraction",
    "max": r"highest|most|largest|biggest|greatest|maximum|max|top|longest|tallest|oldest|heaviest|fastest|"
    "richest|latest|"
    r"newest|hottest|warmest|best|most expensive|strongest",
    "min": r"lowest|least|smallest|fewest|minimum|min|shortest|youngest|lightest|slowest|poorest|earliest|"
    "coldest|worst|"
    r"cheapest|bottom",
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
UNITS = frozenset("g kg mm cm m km in ft lb lbs usd eur s ms pct percent of per at the a".split())  # noqa: SIM905

_TABLE = re.compile(r"\btable (?P<name>\"[^\"]+\"|\S+) \(")
_FILE = re.compile(r"^(?P<file>.+?): ")
_COLUMN = re.compile(
    r"(?P<name>\"(?:[^\"]|\"\")+\"|[^,\"]+?) "
    r"(?P<kind>[A-Z][A-Z_0-9]*(?:\(\d+(?:, ?\d+)?\))?(?: WITH TIME ZONE)?(?:\[\])?)(?:, |$)"
)
_PARTS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z0-9])")
_ASKED = {name: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for name, pattern in AGGREGATES.items()}
_GROUP = re.compile(
    r"\b(?:by|per|for (?:each|every)|each|every|across|among)\s+(?:the\s+)?(?=(?P<what>\w+(?:\s\w+)?))", re.IGNORECASE
)
_WHICH = re.compile(r"\b(?:which|what)\s+(?P<what>\w+(?:\s\w+)?)", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:how many|number of|count(?: of)?(?: the)?)\s+(?:different |distinct )?(?P<what>\w+)", re.IGNORECASE
)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_SENSE = {stem(word): wanted.split() for wanted, said in SENSES.items() for word in said.split()}
_SAID_BY_FORM = frozenset(stem(w) for p in AGGREGATES.values() for w in re.findall(r"[a-z]{3,}", p))


@dataclass(frozen=True, slots=True)
class Column:
    """A column and DuckDB's type of it."""

    name: str
    kind: str

    @property
    def sql(self) -> str:
        """The name, quoted for SQL."""
        return '"' + self.name.replace('"', '""') + '"'

    @property
    def said(self) -> str:
        """The name as one says it."""
        return self.name.replace("_", " ").strip()

    @property
    def parts(self) -> list[str]:
        """The words of its name."""
        return [part.lower() for part in _PARTS.split(self.name) if part]

    @property
    def is_time(self) -> bool:
        """Whether it says when."""
        return any(TIME.match(part) for part in self.parts) or bool(TIME.match(self.kind))

    @property
    def is_measure(self) -> bool:
        """Whether it holds amounts."""
        return bool(NUMERIC.match(self.kind)) and not self.is_time

    @property
    def is_text(self) -> bool:
        """Whether it holds words."""
        return self.kind.startswith(("VARCHAR", "TEXT", "ENUM"))

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words name it."""
        return {word for word in wanted if any(_alike(part, word) for part in self.parts if part not in UNITS)}

    def fit(self, wanted: Sequence[str]) -> float:
        """How well these words name it: words of its name that are asked for, less those that are not."""
        own = [part for part in self.parts if part not in UNITS]
        said = [part for part in own if any(_alike(part, word) for word in wanted)]
        return len(said) - 0.2 * (len(own) - len(said)) if said else 0.0


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the sources."""

    file: str
    name: str
    columns: tuple[Column, ...]

    @property
    def label(self) -> str:
        """What a figure computed from it is cited as."""
        return f"[{self.file}#table]"

    @property
    def sql(self) -> str:
        """The name, quoted for SQL."""
        return '"' + self.name.replace('"', '""') + '"'

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words its file, its name or its columns speak of."""
        own = Column(f"{self.file.rpartition('.')[0]} {self.name}", "")
        return set().union(own.match(wanted), *(column.match(wanted) for column in self.columns))

    def probe(self, question: str) -> str:
        """SQL for the cells that the question names, and the number of different cells in each column."""
        texts = [column for column in self.columns if column.is_text][:MOST_TEXTS]
        if not texts:
            return ""
        names, cells = ", ".join(_literal(c.name) for c in texts), ", ".join(c.sql for c in texts)
        single = ", ".join(_literal(word) for word in _singles(question)) or "''"
        return (
            f"WITH said AS (SELECT {_literal(f' {chr(32).join(_in_order(question))} ')} AS whole_text, "
            f"[{single}] AS single), "
            f"cells AS (SELECT DISTINCT * FROM (SELECT unnest([{names}]) AS col, unnest([{cells}]) AS cell FROM "
            f"{self.sql}) "
            "WHERE cell IS NOT NULL), "
            "keys AS (SELECT *, ' ' || trim(regexp_replace(lower(cell), '[^\\p{L}\\p{N}]+', ' ', 'g')) || ' ' AS key, "
            "count(*) OVER (PARTITION BY col) AS different FROM cells) "
            "(SELECT col, cell, different, contains(whole_text, key) AS whole FROM keys, said WHERE "
            "length(key) > 2 AND "
            "(contains(whole_text, key) OR list_has_any(string_split(key, ' '), single)) "
            "ORDER BY whole DESC, length(cell) DESC, cell LIMIT 30) "
            "UNION ALL (SELECT col, NULL, count(*), false FROM cells GROUP BY col)"
        )


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
    def where(self) -> str:
        """The condition in SQL."""
        return " AND ".join(_condition(column, value) for column, value in self.filters) or "true"

    @property
    def scope(self) -> str:
        """The condition in words."""
        return "".join(
            f"{' and' if n else ' where'} {column.said} is {value}" for n, (column, value) in enumerate(self.filters)
        )

    @property
    def sql(self) -> str:
        """The question."""
        order = "ASC" if self.aggregate == "min" else "DESC"
        source = f"FROM {self.table.sql}" + (f" WHERE {self.where}" if self.filters else "")
        listed = f"GROUP BY 1 HAVING name IS NOT NULL ORDER BY value {order} NULLS LAST, name LIMIT {LONGEST_LIST}"
        if self.aggregate == "share":
            counted = f"count(*) FILTER (WHERE {self.where})"
            shares = f"SELECT round(100.0 * {counted} / count(*), 2) AS value, {counted} AS n, count(*) AS of_all"
            return f"{shares} FROM {self.table.sql}"
        if self.target and self.aggregate == "change":
            time = next(column.sql for column in self.table.columns if column.is_time)
            value = f"{self.target.sql}, {time}"
            ends = f"min({time}) AS since, arg_min({value}) AS first, max({time}) AS until, arg_max({value}) AS last"
            name = self.group or self.label
            named, by = (f"{name.sql} AS name, ", " GROUP BY 1") if name else ("", "")
            single = f"HAVING count(*) = count(DISTINCT {time}) AND since < until"
            return f"SELECT * FROM (SELECT {named}{ends} {source}{by} {single}) ORDER BY 1 LIMIT {LONGEST_LIST}"
        if self.target and self.aggregate == "summary":
            parts = [f"round({f}({self.target.sql}), 2) AS {f}imum" for f in ("min", "max")]
            return f"SELECT {', '.join(parts)}, round(avg({self.target.sql}), 2) AS average, count(*) AS n {source}"
        different = f"count(DISTINCT {self.target.sql})" if self.target else "count(*)"
        if self.group and (self.target is None or self.aggregate in ("count", "")):
            return _named_apart(f"SELECT {self.group.sql} AS name, {different} AS value {source}", listed)
        if self.group and self.target:
            value = f"count({self.target.sql}) AS n, round({self.aggregate}({self.target.sql}), 2) AS value"
            return _named_apart(f"SELECT {self.group.sql} AS name, {value} {source}", listed)
        if self.aggregate == "count":
            return f"SELECT {different} AS value {source}"
        if self.target and self.aggregate in ("max", "min") and self.label:
            value = f"{self.aggregate}({self.target.sql}) AS value"
            ranked = listed.replace(f"LIMIT {LONGEST_LIST}", f"LIMIT {RANKED}")
            return _named_apart(f"SELECT {self.label.sql} AS name, {value} {source}", ranked)
        if self.target and self.aggregate:
            return (
                f"SELECT round({self.aggregate}({self.target.sql}), 2) AS value, count({self.target.sql}) AS n {source}"
            )
        return f"SELECT DISTINCT {', '.join(column.sql for column in self.shown)} {source} LIMIT 5"

    @property
    def shown(self) -> list[Column]:
        """The columns of a row that is looked up: those of the condition, the year, what is asked for."""
        times = [column for column in self.table.columns if column.is_time and column.name.lower() == "year"]
        picked = [*(column for column, _ in self.filters), *times, *([self.target] if self.target else [])]
        return list(dict.fromkeys(picked))

    def sentences(self, rows: list[Row]) -> list[str]:
        """What the answer says, a sentence a figure or list; the figures as the table gave them."""
        if not rows or not any(value for row in rows for value in row.values()):
            return []
        try:
            return self._said(rows)
        except (KeyError, ValueError):  # an answer of another shape says nothing
            return []

    def _said(self, rows: list[Row]) -> list[str]:
        what = self.target.said if self.target else "rows"
        where = f"{self.scope} in {self.table.name}"
        first = rows[0]
        if self.aggregate == "share":
            return [f"Share of rows{where}: {first['value']} % ({shown(first['n'])} of {shown(first['of_all'])})."]
        if self.aggregate == "summary":
            low, high, mean, n = (shown(first[key]) for key in ("minimum", "maximum", "average", "n"))
            return [f"{capital(what)}{where} ranges from {low} to {high}, averages {mean} ({n} rows)."]
        if self.aggregate == "change":
            return [
                _changed(row, f"{capital(what)}{f' of {named}' if (named := row.get('name')) else ''}") for row in rows
            ]
        if "name" in first:
            counted = f" ({{n}} {'rows' if 'n' in first else ''})"
            listed = joined(
                f"{_quoted(row['name'])} {shown(row['value'])}" + (counted.format(n=row["n"]) if "n" in row else "")
                for row in rows
            )
            if self.group:
                return [f"{_TITLES.get(self.aggregate, 'Number of')} {what} by {self.group.said}{where}: {listed}."]
            ranked = joined(f"{_quoted(row['name'])} ({shown(row['value'])})" for row in rows)
            return [f"{_TITLES[self.aggregate]} {what}{where}: {ranked}."]
        if self.aggregate == "count":
            different = f"different values of {what}" if self.target else "rows"
            return [f"Number of {different}{where}: {shown(first['value'])}."]
        if self.aggregate:
            return [f"{_TITLES[self.aggregate]} {what}{where}: {shown(first['value'])} ({shown(first['n'])} rows)."]
        return [
            f"In {self.table.name}: {'; '.join(f'{_said(k)} {shown(v)}' for k, v in row.items() if v)}." for row in rows
        ]


def _changed(row: Row, what: str) -> str:
    """First and last value, and by how much of the first it went up or down; rounded to a tenth of a percent."""
    since, until, first, last = (row[key] for key in ("since", "until", "first", "last"))
    before, after = float(first or 0), float(last or 0)
    if before == after:
        return f"{what} stayed at {shown(first)} from {since} to {until}."
    verb = "rose" if after > before else "fell"
    percent = (
        f", {'up' if after > before else 'down'} {abs(round(100 * (after / before - 1), 1)):g} %" if before > 0 else ""
    )
    return f"{what} {verb} from {shown(first)} in {since} to {shown(last)} in {until}{percent}."


def capital(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]


_TITLES = {
    "avg": "Average",
    "sum": "Total",
    "median": "Median",
    "max": "Highest",
    "min": "Lowest",
    "count": "Number of",
}


def asked(question: str, table: Table, cells: Sequence[Row]) -> Asked | None:
    """What the question asks of the table, given the cells that `Table.probe` found; None where it does not fit."""
    wanted = [word.lower() for word in keywords(question).values()]
    text = re.sub(r"\bat least\b|\bmost of\b", " ", question)
    aggregates = [name for name, pattern in _ASKED.items() if pattern.search(text)]
    aggregate = aggregates[0] if aggregates else ""
    columns = {column.name: column for column in table.columns}
    different = {row["col"]: int(row["different"] or 0) for row in cells if row.get("col")}
    filters = _filters(question, columns, cells)
    said_by_cells = {
        word for _, value in filters for word in wanted if _alike(value.lower(), word) or word in _in(value)
    }
    free = [word for word in wanted if word not in said_by_cells]
    senses = [sense for word in free for sense in _SENSE.get(stem(word), [])]
    filtered = {column.name for column, _ in filters}
    group = _named(_GROUP, text, [c for c in table.columns if not c.is_measure and c.name not in filtered])
    which = _named(_WHICH, text, [c for c in table.columns if c.is_text])
    target = _target(table, free, senses, exclude={group.name if group else "", which.name if which else "", *filtered})
    counted = _HOW_MANY.search(text)
    if aggregate == "count" and target and counted:
        noun = _named(_HOW_MANY, text, [c for c in table.columns if c.is_text and c.name not in filtered])
        amount = target.is_measure and bool(target.match([counted["what"].lower()]))
        if amount and filters:
            aggregate = ""
        elif amount:
            aggregate = "sum"
        else:
            target = noun
    if aggregate in ("max", "min") and not target and which and (group or "most" in text.lower()):
        aggregate, group = "count", which
    if aggregate in ("max", "min") and "avg" in aggregates:
        aggregate = "avg"
    if aggregate in ("avg", "sum", "median") and which and not group and {"max", "min"} & set(aggregates):
        group = which
    label = None if group else which or _label(table, different)
    measured = target is not None and (target.is_measure or (target.is_time and aggregate in ("max", "min")))
    if aggregate in ("avg", "sum", "median", "max", "min", "change", "summary") and not measured:
        return None
    if aggregate == "change" and not any(column.is_time for column in table.columns):
        return None
    if aggregate == "share" and not filters:
        return None
    if not aggregate and not (filters and target):
        return None
    named = table.match(free) | said_by_cells
    named |= {word for word in free if target and _SENSE.get(stem(word)) and target.match(_SENSE[stem(word)])}
    open_words = [word for word in wanted if stem(word) not in _SAID_BY_FORM or word in named]
    fit = len([word for word in open_words if word in named]) / len(open_words) if open_words else 0.0
    if aggregate == "count" and not filters and not group and not target and not Column(table.name, "").match(free):
        return None
    unsaid = {word.lower() for word in names(question)} & set(open_words) - named
    if unsaid or fit < (SURE if aggregate == "count" and group and group == which else FITS):
        return None
    return Asked(table, aggregate, target, group, label, tuple(filters), round(fit, 2))


def best(found: Sequence[Asked | None]) -> Asked | None:
    """The reading that accounts for most of the question; of two the one with fewer conditions in parts of cells."""
    fitting = [one for one in found if one]
    return max(fitting, key=lambda one: (one.fit, one.target is not None, -len(one.table.columns)), default=None)


def _filters(question: str, columns: dict[str, Column], cells: Sequence[Row]) -> list[tuple[Column, str]]:
    """The cells that the question names, one a column; whole cells before parts of them; and the year."""
    found: dict[str, tuple[Column, str]] = {}
    used: set[str] = set()
    hits = [row for row in cells if row.get("cell") and row["col"] in columns]
    for row in sorted(
        hits, key=lambda row: (row["whole"].lower() != "true", -len(row["cell"]), int(row["different"] or 0))
    ):
        word, whole = row["cell"].lower(), row["whole"].lower() == "true"
        said = _in(row["cell"]) & set(re.findall(r"[^\W_]+", question.lower()))
        named = any(w[:1].isupper() and w.lower() in said for w in re.findall(r"[^\W_]+", question)[1:])
        few = int(row["different"] or 0) <= 40 and len(_in(row["cell"])) <= 4 * len(said)
        few = few and not re.search(r"\w\.\w|/", row["cell"])
        if row["col"] in found or (said and said <= used) or (word in STOP_CELLS) or not (whole or (named and few)):
            continue
        if whole and len(word) < 3 and not re.search(rf"\b{re.escape(row['cell'])}\b", question):
            continue
        found[row["col"]] = (columns[row["col"]], row["cell"])
        used |= said
    year = _YEAR.search(question)
    time = next((c for c in columns.values() if c.is_time), None)
    if year and time and time.name not in found and (NUMERIC.match(time.kind) or TIME.match(time.kind)):
        found[time.name] = (time, year[1])
    return list(found.values())


STOP_CELLS = frozenset("a an the in on at of is are no yes all other none what which how many much year".split())  # noqa: SIM905
"""Cells that a question has for other reasons."""


def _target(table: Table, free: Sequence[str], senses: Sequence[str], exclude: set[str]) -> Column | None:
    """The column that the question asks for: the one that its words name best, numbers before texts."""
    fits = [
        (max(column.fit(free) + 0.1 * column.is_measure, column.fit(senses) - 0.3), column)
        for column in table.columns
        if column.name not in exclude
    ]
    score, chosen = max(fits, key=lambda item: item[0], default=(0.0, None))
    return chosen if score > 0.15 else None


def _named(pattern: re.Pattern[str], text: str, columns: Sequence[Column]) -> Column | None:
    """The column that stands where the pattern expects one."""
    for match in pattern.finditer(text):
        said = match["what"].lower().split()
        fits = [(column.fit(said[:n]), column) for column in columns for n in (1, 2)]
        score, chosen = max(fits, key=lambda item: item[0], default=(0.0, None))
        if score > 0:
            return chosen
    return None


def _label(table: Table, different: dict[str, int]) -> Column | None:
    """The column that says what a row is about."""
    texts = [c for c in table.columns if c.is_text and different.get(c.name, 2) > 1]
    return max(texts, key=lambda c: (bool(NAMING.search(c.name)), different.get(c.name, 0)), default=None)


def _named_apart(select: str, rest: str) -> str:
    """The list, best first; in a query of its own, so that a column called `name` or `value` is not meant."""
    grouping, order = rest.split(" HAVING ")
    where, by = order.split(" ORDER BY ")
    return f"SELECT * FROM ({select} {grouping}) WHERE {where} ORDER BY {by}"


def _condition(column: Column, value: str) -> str:
    if column.is_time and not column.is_text:
        return f"year({column.sql}) = {value}" if TIME.match(column.kind) else f"{column.sql} = {value}"
    return f"{column.sql} = {_literal(value)}"


def _alike(part: str, word: str) -> bool:
    """Whether a part of a name and a word mean the same: one stem, or one short for the other (`pop`, `exp`)."""
    if stem(part) == stem(word):
        return True
    short, long = sorted((part, word), key=len)
    return len(short) >= 3 and long.startswith(short) and (len(short) >= 4 or short == part)


def _said(column: str) -> str:
    return Column(column, "").said


def _in_order(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _in(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _singles(question: str) -> list[str]:
    """The words of the question, and without a plural s."""
    said = [word.lower() for word in keywords(question).values() if len(word) > 2]
    return list(dict.fromkeys(form for word in said for form in (word, word.removesuffix("s"))))[:24]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def tables_in(lines: Sequence[str]) -> list[Table]:
    """The tables named in the list of sources, in order."""
    found = []
    for line in lines:
        file = _FILE.match(line)
        for match in _TABLE.finditer(line):
            if file:
                columns = _columns(_bracketed(line[match.end() :]))
                found.append(Table(file["file"], match["name"].strip('"'), columns))
    return [table for table in found if table.columns]


def rows_in(answer: str) -> list[Row]:
    """The rows of the Markdown table in a query's answer; empty cells and NULLs as empty text."""
    lines = [line.strip() for line in answer.splitlines() if line.strip().startswith("|")]
    if len(lines) < 2:
        return []
    header, rule, *body = (_cells(line) for line in lines)
    if not all(re.fullmatch(r":?-+:?", cell) for cell in rule):
        return []
    return [dict(zip(header, cells, strict=False)) for cells in body if len(cells) == len(header)]


def shown(text: str) -> str:
    """A cell as one writes it: thousands of large numbers set apart, no digit changed."""
    if re.fullmatch(r"-?\d{5,}(?:\.\d+)?", text):
        whole, point, rest = text.partition(".")
        text = f"{int(whole):,}{point}{rest}"
    return text.removesuffix(".0")


def joined(items: Iterable[str]) -> str:
    """A list in words: `a, b and c`."""
    found = list(items)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _quoted(name: str) -> str:
    return f"“{name}”" if "," in name else name or "none"


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(m["name"].strip().strip('"').replace('""', '"'), m["kind"]) for m in _COLUMN.finditer(text))


def _bracketed(text: str) -> str:
    """What stands before the bracket that closes the one already open; brackets in quoted names do not count."""
    depth, inside = 1, False
    for place, character in enumerate(text):
        inside ^= character == '"'
        depth += 0 if inside else (character == "(") - (character == ")")
        if depth == 0:
            return text[:place]
    return text


def _cells(line: str) -> list[str]:
    cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
    return ["" if cell in ("NULL", "None", "nan") else cell for cell in cells]
