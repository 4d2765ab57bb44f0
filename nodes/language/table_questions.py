"""Figures from the tables of the sources: aggregate, group, filter and table are chosen by the words of the question.

Words meet column names (`life expectancy` and `lifeExp`) and cell values (`Gentoo` in the column `species`), which are
looked up in the table first. Where no column fits what is to be averaged, added up or ranked, nothing is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nodes.language.subjects import capital, joined
from nodes.language.words import keywords, stem

Row = dict[str, str]

FITS = 0.5
"""Share of the question's words that a table has to account for (with names, columns and cells)."""
SURE = 0.6
"""The same where rows are counted for a “most” that no column holds, or for a “how many” of what it does not name."""
LISTED = 12
"""Groups that are listed, and rows of a table that is ranked."""
RANKED = 5
"""The first rows of a ranking."""
MOST_TEXTS = 14
"""Columns whose cells are looked through."""
MEASURES = ("avg", "sum", "median", "max", "min", "summary")
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
    "rank": r"rank(?:ed|ing)?|sort(?:ed)?|order(?:ed)? by",
    "count": r"how many|number of|count",
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
ROWS = "people persons entries records rows cases items differ compare often common commonly frequent used".split()  # noqa: SIM905
"""Words for what the rows are, or for looking at them, that no table has to account for."""
STOP_CELLS = frozenset("a an the in on at of is are no yes all other none what which how many much year".split())  # noqa: SIM905
"""Cells that a question has for other reasons."""
UNITS = frozenset("g kg mm cm m km in ft lb lbs usd eur s ms pct percent".split())  # noqa: SIM905
"""Last words of column names that say what is measured in."""
NUMBERS = frozenset(("id", "key", "uuid", "index", "zip", "phone"))
"""Words in the names of columns whose numbers are names."""
SMALL = UNITS | {"of", "per", "at", "the", "a"}
TITLES = {"avg": "Average", "sum": "Total", "median": "Median", "max": "Highest", "min": "Lowest", "count": "Number of"}

_NUMERIC = re.compile(r"^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC)")
_TIME = re.compile(r"^(?:year|date|month|quarter|day|week)$|^(?:DATE|TIMESTAMP)", re.IGNORECASE)
_LINE = re.compile(r"^(?P<file>.+?): ")
_TABLE = re.compile(r"\btable (?P<name>\"[^\"]+\"|\S+) \((?P<columns>(?:\"(?:[^\"]|\"\")*\"|\([^()]*\)|[^\"()])*)\)")
_COLUMN = re.compile(
    r"(?P<name>\"(?:[^\"]|\"\")+\"|[^,\"]+?) "
    r"(?P<kind>[A-Z][A-Z_0-9]*(?:\(\d+(?:, ?\d+)?\))?(?: WITH TIME ZONE)?(?:\[\])?)(?:, |$)"
)
_WORD = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z0-9])")
_ASKED = {name: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for name, pattern in AGGREGATES.items()}
_GROUP = re.compile(
    r"\b(?:by|per|for (?:each|every)|each|every|across|among)\s+(?:the\s+)?(?=(?P<what>\w+(?:\s\w+)?))", re.IGNORECASE
)
_WHICH = re.compile(
    r"\b(?:which|what|(?:rank|sort|order)(?: all| the| these| our)*)\s+(?P<what>\w+(?:\s\w+)?)", re.IGNORECASE
)
_HOW_MANY = re.compile(
    r"\b(?:how many|number of|count(?: of)?(?: the)?)\s+(?:different |distinct )?(?P<what>\w+(?:\s\w+)?)", re.IGNORECASE
)
_QUESTION = re.compile(r"\b(?:wh(?:at|y|en|ere|o|ose|ich)|how|does|did|is|are|was|were|can)\b|\?", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(?P<value>\d+(?:\.\d+)?)\s+(?P<column>[a-z]\w+)", re.IGNORECASE)
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
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_SENSE = {stem(word): wanted.split() for wanted, said in SENSES.items() for word in said.split()}
_SAID_BY_FORM = {stem(w) for p in (*ROWS, *AGGREGATES.values()) for w in re.findall(r"[a-z]{3,}", p)}


@dataclass(frozen=True, slots=True)
class Column:
    """A column and DuckDB's type of it."""

    name: str
    kind: str

    @property
    def sql(self) -> str:
        """The name, quoted for SQL."""
        return quoted(self.name)

    @property
    def said(self) -> str:
        """The name as one says it, with its unit in brackets."""
        name, _, last = self.name.strip("_ ").replace("_", " ").rpartition(" ")
        return f"{name} ({last})" if name and last.lower() in UNITS else f"{name} {last}".strip()

    @property
    def parts(self) -> list[str]:
        """The words of its name."""
        return [part.lower() for part in _PARTS.split(self.name) if part]

    @property
    def is_time(self) -> bool:
        """Whether it says when."""
        return any(_TIME.match(part) for part in (*self.parts, self.kind))

    @property
    def is_measure(self) -> bool:
        """Whether it holds amounts."""
        return bool(_NUMERIC.match(self.kind)) and not self.is_time and not self.is_number

    @property
    def is_number(self) -> bool:
        """Whether its cells are numbers that stand for names."""
        return bool(_NUMERIC.match(self.kind)) and bool(NUMBERS & set(self.parts))

    @property
    def is_text(self) -> bool:
        """Whether it holds words."""
        return self.kind.startswith(("VARCHAR", "TEXT", "ENUM"))

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words name it."""
        return {word for word in wanted if any(alike(part, word) for part in self.parts if part not in SMALL)}

    def fit(self, wanted: Sequence[str]) -> float:
        """How well these words name it: words of its name that are asked for, less those that are not."""
        own = [part for part in self.parts if part not in SMALL]
        said = [part for part in own if any(alike(part, word) for word in wanted)]
        return len(said) - 0.2 * (len(own) - len(said)) if said else 0.0

    def equals(self, value: str) -> str:
        """The condition in SQL; of a date, its year."""
        return f"year({self.sql}) = {value}" if _TIME.match(self.kind) else f"{self.sql} = {literal(value)}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the sources."""

    file: str
    name: str
    columns: tuple[Column, ...]

    @property
    def named(self) -> Column:
        """What it is called, and its file, as words to be met."""
        return Column(f"{self.file.rpartition('.')[0]} {self.name}", "")

    def match(self, wanted: Sequence[str]) -> set[str]:
        """Which of these words its file, its name or its columns speak of."""
        return set().union(*(column.match(wanted) for column in (self.named, *self.columns)))

    def label(self, different: dict[str, int]) -> Column | None:
        """The column that says what a row is about, given the number of different cells in each."""
        texts = [c for c in self.columns if c.is_text and different.get(c.name, 2) > 1]
        return max(texts, key=lambda c: different.get(c.name, 0), default=None)

    def probe(self, question: str) -> str:
        """SQL for the cells that the question names, and the number of different cells in each column.

        The number is written as a letter, its logarithm: no figure of an answer is to be cited as computed here.
        """
        texts = [column for column in self.columns if column.is_text][:MOST_TEXTS]
        said = [word.lower() for word in keywords(question).values()]
        is_flag = [column for column in self.columns if column.is_measure or column.kind == "BOOLEAN"]
        flags = [column for column in is_flag if column.match(said)][:MOST_TEXTS]
        flagged = " UNION ALL ".join(
            f"(SELECT {literal(c.name)} AS col, '1' AS cell, 'b' AS different, true AS whole FROM {quoted(self.name)} "
            f"HAVING min({c.sql}::DOUBLE) = 0 AND max({c.sql}::DOUBLE) = 1 AND count(DISTINCT {c.sql}) = 2)"
            for c in flags
        )
        if not texts:
            return flagged
        names, cells = ", ".join(literal(c.name) for c in texts), ", ".join(c.sql for c in texts)
        whole = literal(f" {' '.join(_WORD.findall(question.lower()))} ")
        return (
            f"WITH cells AS (SELECT DISTINCT unnest([{names}]) AS col, unnest([{cells}]) AS cell "
            f"FROM {quoted(self.name)}), keys AS (SELECT *, count(*) OVER (PARTITION BY col) AS different, "
            "' ' || trim(regexp_replace(lower(cell), '[^\\p{L}\\p{N}]+', ' ', 'g')) || ' ' AS key "
            "FROM cells WHERE cell IS NOT NULL) (SELECT col, cell, chr(97 + floor(log2(different))::INT) AS different, "
            f"contains({whole}, key) AS whole FROM keys WHERE length(key) > 2 AND "
            "(whole OR key IN (' yes ', ' true ')) "
            "ORDER BY whole DESC, length(cell) DESC, cell LIMIT 30) "
            "UNION ALL (SELECT col, NULL, chr(97 + floor(log2(count(*)))::INT), false FROM keys GROUP BY col)"
        ) + (f" UNION ALL {flagged}" if flagged else "")


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
    most: int = LISTED
    """Rows of the answer."""
    bounds: tuple[tuple[Column, str], ...] = ()
    """Amounts that a row has to be above or below: a column and `> 10`."""
    fit: float = 0.0
    """Share of the question's words that this accounts for."""
    is_lowest_first: bool = False
    """Whether groups are ranked from the lowest: `the lowest average`."""

    @property
    def is_list(self) -> bool:
        """Whether it asks for what the table says of each: `licences` of a table of frameworks."""
        return not (self.aggregate or self.filters or self.bounds)

    @property
    def sql(self) -> str:
        """The question: a `name` and `value` a row, and `n` for the rows behind it, or columns by their names."""
        target = self.target.sql if self.target else ""
        name = self.group or self.label
        conditions = [column.equals(value) for column, value in self.filters]
        conditions += [f"{column.sql} {bound}" for column, bound in self.bounds]
        rows = f"count(*) FILTER (WHERE {' AND '.join(conditions)})"
        values = {
            "share": f"round(100.0 * {rows} / count(*), 2) AS value, {rows} AS n, count(*) AS whole",
            "summary": f"min({target}) AS minimum, max({target}) AS maximum, round(avg({target}), 2) AS average, "
            "count(*) AS n",
            "count": f"count({f'DISTINCT {target}' if target else '*'}) AS value",
            "": f"{target} AS value" if self.is_list else "",
        }
        shown = values.get(self.aggregate, f"round({self.aggregate}({target}), 2) AS value, count({target}) AS n")
        if not shown:
            times = [column for column in self.table.columns if column.name.lower() == "year"]
            asked_for = [column for column, _ in (*self.filters, *self.bounds)]
            wanted = [*asked_for, *times, *([self.target] if self.target else [])]
            shown = f"DISTINCT {', '.join(dict.fromkeys(column.sql for column in wanted))}"
        where = [] if self.aggregate == "share" else [*conditions, *([f"{name.sql} IS NOT NULL"] if name else [])]
        where += [f"{target} IS NOT NULL"] if self.is_list or self.label else []
        named = f"{name.sql} AS name, " if name and self.aggregate not in ("share", "summary") else ""
        parts = [f"SELECT {named}{shown} FROM {quoted(self.table.name)}"]
        parts += [f"WHERE {' AND '.join(where)}"] if where else []
        parts += ["GROUP BY 1"] if named and self.aggregate else []
        is_ranked = named and self.aggregate
        order = (
            f"2 {'ASC' if self.aggregate == 'min' or self.is_lowest_first else 'DESC'} NULLS LAST, 1"
            if is_ranked
            else "1"
        )
        parts.append(f"ORDER BY {order} LIMIT {self.most}")
        return " ".join(parts)

    def sentences(self, rows: list[Row]) -> list[str]:
        """What the answer says, a sentence a figure or list; the figures as the table gave them."""
        told = [row for row in rows if any(row.values())]
        try:
            return self._said(told) if told else []
        except KeyError:  # an answer of another shape says nothing
            return []

    def _said(self, rows: list[Row]) -> list[str]:
        conditions = " and ".join(f"{column.said} is {value}" for column, value in (*self.filters, *self.bounds))
        scope = f" in {self.table.name}" + (f" where {conditions}" if conditions else "")
        what = self.target.said if self.target else "rows"
        if self.aggregate == "share":
            return [f"Share of rows{scope}: {row['value']} % ({row['n']} of {shown(row['whole'])})." for row in rows]
        if not self.aggregate and (self.filters or self.bounds):
            return [f"In {self.table.name}: {_columns_of(row)}." for row in rows]
        counted = "different values of " if self.aggregate == "count" and self.target else ""
        by = f" by {self.group.said}" if self.group else ""
        title = capital(f"{TITLES.get(self.aggregate, '')} {counted}{what}".strip())
        return [f"{title}{by}{scope}: {joined([self._figure(row) for row in rows])}."]

    def _figure(self, row: Row) -> str:
        """`15 (2 rows)`, of a group `US 15 (2 rows)`, in a ranking `Dash (40)`."""
        n = row.get("n", "")
        value = shown(row["value"]) if "value" in row else _columns_of({k: v for k, v in row.items() if k != "n"})
        count = f" ({shown(n)} {'row' if n == '1' else 'rows'})" if n else ""
        if "name" not in row:
            return f"{value}{count}"
        name = f"“{row['name']}”" if "," in row["name"] else row["name"] or "none"
        return (
            f"{name}{':' * bool(re.fullmatch('[0-9.,-]+', name))} {value}{count}" if self.group else f"{name} ({value})"
        )


def asked(question: str, table: Table, cells: Sequence[Row]) -> Asked | None:
    """What the question asks of the table, given the cells that `Table.probe` found; None where it does not fit."""
    wanted = [word.lower() for word in keywords(question).values()]
    text = re.sub(r"\bat least\b|\bmost of\b", " ", question)
    own = "|".join(r"[\s_-]*".join(column.parts) for column in table.columns if len(column.parts) > 1)
    bare = re.sub(rf"\b(?:{own})\b", " ", text, flags=re.IGNORECASE) if own else text  # the `total bill` is no total
    forms = [name for name, pattern in _ASKED.items() if pattern.search(bare)]
    is_ranking = "rank" in forms
    aggregate = ("min" if "min" in forms else "max") if is_ranking else forms[0] if forms else ""
    counts = {row["col"]: different(row) for row in cells if row.get("col")}
    bounds = _bounds(question, table)
    filters = _filters(question, table, cells)
    filters = [one for one in filters if one[0] not in [column for column, _ in bounds]]
    filtered = {column.name for column, _ in filters}
    spoken = {word for _, cell in filters for word in wanted if word in _in(cell) or alike(cell.lower(), word)}
    spoken |= {word for column, _ in filters for word in column.match(wanted)}
    free = [word for word in wanted if word not in spoken]
    senses = [sense for word in free for sense in _SENSE.get(stem(word), [])]
    groups = [c for c in table.columns if c.name not in filtered]
    group = _named(_GROUP, text, [c for c in groups if not c.is_measure]) or _named(_GROUP, text, groups, least=1.0)
    group = None if is_ranking else group
    which = _named(_WHICH, text, [c for c in table.columns if not c.is_measure and not c.is_number])
    target = _target(table, free, senses, {column.name for column in (group, which) if column} | filtered)
    extreme = aggregate in ("max", "min")
    if (extreme or (senses and not aggregate)) and target and not target.is_measure:
        amount = _target(
            replace(table, columns=tuple(c for c in table.columns if c.is_measure)), free, senses, filtered
        )
        which, target = (which or target, amount) if amount else (which, target)
    target = target or (which if filters and not aggregate else None)
    is_amount = target is not None and target.is_measure
    if aggregate == "share" and target and is_amount and not target.match(list(table.named.match(free))):
        # the share is what the column holds, not one of rows
        aggregate = next((form for form in forms if form != "share"), "")
        extreme = aggregate in ("max", "min")
    if aggregate == "count" and target and (counted := _HOW_MANY.search(text)):
        if is_amount and any(alike(target.parts[-1], word) for word in counted["what"].lower().split()):
            aggregate = "" if filters else "sum"
        else:
            target = _named(_HOW_MANY, text, [c for c in groups if c.is_text and c != group])
    elif extreme and "avg" in forms:
        aggregate = "avg"
    elif extreme and not is_ranking and not is_amount and which:
        aggregate, group = "count", which
    if aggregate in ("avg", "sum", "median") and which and not group and {"max", "min", "rank"} & set(forms):
        group = which
    label = (which or table.label(counts)) if aggregate in ("max", "min") and not group else None
    most = LISTED if group or is_ranking or not aggregate else RANKED
    if bounds and not aggregate:
        label, target = None, which or table.label(counts)
    is_lowest = aggregate in ("avg", "sum", "median") and "min" in forms
    found = Asked(table, aggregate, target, group, label, tuple(filters), most, bounds, is_lowest_first=is_lowest)
    is_measured = is_amount or (target is not None and target.is_time and aggregate in ("max", "min"))
    if aggregate in MEASURES and not is_measured:
        return None
    if found.is_list:
        group = table.label({name: count for name, count in counts.items() if not target or name != target.name})
        is_told = group and target and target.is_text and group != target and counts.get(group.name, LISTED) <= LISTED
        of_rows = (table.named.match(wanted) | group.match(wanted)) if group else set()
        rest = [word for word in free if word not in of_rows]
        is_of_column = target and of_rows and rest and set(rest) == target.match(rest)
        is_named = is_told or (is_of_column and group and counts.get(group.name, LISTED + 1) <= LISTED)
        if not is_named or (_QUESTION.search(text) and not is_of_column):
            return None  # it asks for something else, of which a column happens to have a word
    elif aggregate in ("share", "") and not bounds and not (filters and (target or aggregate)):
        return None
    said = table.match(wanted) | spoken
    said |= {word for word in free if target and target.match(_SENSE.get(stem(word), []))}
    open_words = [word for word in wanted if word in said or stem(word) not in _SAID_BY_FORM]
    about = {word for word in wanted if stem(word) not in _SAID_BY_FORM}
    fit = len([word for word in open_words if word in said]) / max(1, len(open_words))
    counted = _HOW_MANY.search(text) if aggregate == "count" else None
    is_vague = counted and not said & set(counted["what"].lower().split()) and counted["what"].split()[0] not in ROWS
    needed = SURE if is_vague or (aggregate == "count" and which and group == which and not target) else FITS
    is_of_another = bool(about) and not about & said  # the cheapest of things that the table does not speak of
    is_of_another |= any(not said & names for names in _names(question) if names & set(open_words))
    return (
        None
        if fit < needed or is_of_another
        else replace(
            found,
            group=group,
            fit=round(fit, 2),
        )
    )


def best(found: Sequence[Asked | None]) -> Asked | None:
    """The reading that accounts for most of the question."""
    fitting = [one for one in found if one]
    return max(fitting, key=lambda one: (one.fit, one.target is not None, -len(one.table.columns)), default=None)


def tables_in(lines: Sequence[str]) -> list[Table]:
    """The tables named in the list of sources, in order."""
    found = []
    for line in lines:
        for match in _TABLE.finditer(line) if (file := _LINE.match(line)) else ():
            columns = [
                Column(one["name"].strip().strip('"').replace('""', '"'), one["kind"])
                for one in _COLUMN.finditer(match["columns"])
            ]
            found += [Table(file["file"], match["name"].strip('"'), tuple(columns))] if file and columns else []
    return found


def rows_in(answer: str) -> list[Row]:
    """The rows of the Markdown table in a query's answer; empty cells and NULLs as empty text."""
    lines = [line.strip()[1:-1] for line in answer.splitlines() if line.strip().startswith("|")]
    cells = [[cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    if len(cells) < 2 or not all(re.fullmatch(r":?-+:?", cell) for cell in cells[1]):
        return []
    cleaned = [["" if cell in ("NULL", "None", "nan") else cell for cell in row] for row in cells[2:]]
    return [dict(zip(cells[0], row, strict=True)) for row in cleaned if len(row) == len(cells[0])]


def alike(part: str, word: str) -> bool:
    """Whether a part of a name and a word mean the same.

    One stem, one short for the other (`pop`, `exp`), or the end of it (`state`, `outstate`).
    """
    one, two = stem(part), stem(word)
    short, long = sorted((one, two), key=len)
    is_short_for = long.startswith(short) and (len(short) >= 4 or (len(short) == 3 and short == part))
    return one == two or is_short_for or (len(word) >= 5 and part.endswith(word))


def different(row: Row) -> int:
    """About how many different cells the column of a row of `Table.probe` has: the power of two below."""
    return 1 << ord(row["different"]) - ord("a")


def is_flag(cell: str) -> bool:
    """Whether a cell says that what its column is called is so."""
    return cell.lower() in ("yes", "true", "1")


def quoted(name: str) -> str:
    """A name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


def shown(text: str) -> str:
    """A cell as one writes it: thousands of large numbers set apart, no digit changed."""
    if re.fullmatch(r"-?\d{5,}(?:\.\d+)?", text):
        whole, point, rest = text.partition(".")
        text = f"{int(whole):,}{point}{rest}"
    return text.removesuffix(".0") if re.fullmatch(r"[-\d,]+\.0", text) else text


def _filters(question: str, table: Table, cells: Sequence[Row]) -> list[tuple[Column, str]]:
    """The cells that the question names, one a column; numbers of a column; the year."""
    columns = {column.name: column for column in table.columns}
    words, found = _WORD.findall(question), dict[str, tuple[Column, str]]()
    lower = [word.lower() for word in words]
    hits = [(row["cell"], row["whole"].lower() == "true", row["col"]) for row in cells if row.get("cell")]
    for cell, is_whole, name in sorted(hits, key=lambda hit: -len(hit[0])):
        if (column := columns.get(name)) is None:
            continue
        is_word = cell.lower() in STOP_CELLS and (cell.islower() or cell not in words)
        is_named = is_whole and not is_word and (len(cell) >= 3 or cell in words)
        if is_named or (is_flag(cell) and column.match(lower)):
            found.setdefault(name, (column, cell))
    for match in _NUMBERED.finditer(question):
        fitting = [c for c in table.columns if c.is_measure and c.fit([match["column"].lower()]) > 0.5]
        found.update({c.name: (c, match["value"]) for c in fitting[:1]})
    year, time = _YEAR.search(question), next((c for c in table.columns if c.is_time and not c.is_text), None)
    if year and time:
        found.setdefault(time.name, (time, year[1]))
    return list(found.values())


def _bounds(question: str, table: Table) -> tuple[tuple[Column, str], ...]:
    """What a question says of amounts: `a price below 5`, `more than 3 seats`, `costs at least 10`."""
    found = []
    for match in _BOUND.finditer(question):
        sign = next(sign for sign, said in _SIGNS.items() if re.fullmatch(said, match["how"], re.IGNORECASE))
        near = [word.lower() for word in (*_WORD.findall(match["before"])[-3:], *_WORD.findall(match["after"])[:2])]
        near += [sense for word in near for sense in _SENSE.get(stem(word), [])]
        fits = [(column.fit(near), column) for column in table.columns if column.is_measure]
        score, column = max(fits, key=lambda one: one[0], default=(0.0, None))
        if column and score > 0.15:
            found.append((column, f"{sign} {match['value'].replace(',', '')}"))
    return tuple(found)


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
    runs: list[set[str]] = []
    for before, word in pairwise(_WORD.findall(question)):
        if any(letter.isupper() for letter in word):
            runs += [] if runs and before.lower() in runs[-1] else [set()]
            runs[-1].add(word.lower())
    return runs


def _columns_of(row: Row) -> str:
    return "; ".join(f"{Column(name, '').said} {shown(value)}" for name, value in row.items() if value)


def _in(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
