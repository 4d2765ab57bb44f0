"""What a question asks of a table, as SQL, and the answer in sentences with the figures as the table gave them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.language.subjects import capital, joined
from nodes.language.table_schema import Column, Row, Table, quoted

LISTED = 12
"""Groups that are listed, and rows of a table that is ranked."""
TITLES = {"avg": "Average", "sum": "Total", "median": "Median", "max": "Highest", "min": "Lowest", "count": "Number of"}
EMPTY = "IS NULL"
"""The bound of a column that is to have no cell."""
Filter = tuple[Column, tuple[str, ...]]
"""A column and the cells that it may have."""


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
    filters: tuple[Filter, ...]
    """Cells that the rows have. The share is one of rows with the last, among those with the others."""
    most: int = LISTED
    """Rows of the answer."""
    bounds: tuple[tuple[Column, str], ...] = ()
    """Amounts that a row has to be above or below: a column and `> 10`."""
    held: frozenset[Column] = frozenset()
    """Columns of which the filters name words of the cells, not cells."""
    fit: float = 0.0
    """Share of the question's words that this accounts for."""
    beside: tuple[Column, ...] = ()
    """What is shown beside the target: `the vendor and the licence of each`."""
    denied: frozenset[Column] = frozenset()
    """Columns of which the filters name what the cells are not."""
    is_lowest_first: bool = False
    """Whether groups are ranked from the lowest: `the lowest average`."""

    @property
    def is_list(self) -> bool:
        """Whether it asks for what the table says of each: `licences` of a table of frameworks."""
        return not (self.aggregate or self.filters or self.bounds)

    @property
    def _split(self) -> int:
        """How many of the filters say which rows are looked at."""
        return len(self.filters) - (self.aggregate == "share" and not self.bounds)

    @property
    def sql(self) -> str:
        """The question: a `name` and `value` a row, and `n` for the rows behind it, or columns by their names."""
        target = self.target.sql if self.target else ""
        name = self.group or self.label
        conditions = [f"({self._condition(column, values)})" for column, values in self.filters]
        limits = [column.within(bound) for column, bound in self.bounds]
        counted = [*conditions[self._split :], *limits] if self.aggregate == "share" else []
        whole = f"sum({target})" if target else "count(*)"
        part = f"{whole} FILTER (WHERE {' AND '.join(counted)})" if counted else whole
        whole = whole if counted else f"sum({whole}) OVER ()"
        values = {
            "share": f"round(100.0 * {part} / {whole}, 2) AS value, round({part}, 2) AS n, round({whole}, 2) AS whole",
            "summary": f"min({target}) AS minimum, max({target}) AS maximum, round(avg({target}), 2) AS average, "
            "count(*) AS n",
            "count": f"count({f'DISTINCT {target}' if target else '*'}) AS value",
            "": f"{target} AS value" if self.is_list and not self.beside else "",
        }
        is_real_average = self.aggregate == "avg" and self.target and self.target.is_real
        digits = f"if(abs(avg({target})) < 0.1, 6, if(abs(avg({target})) < 1, 4, 2))" if is_real_average else "2"
        is_date = self.target and self.target.is_date
        figure = f"{self.aggregate}({target})" if is_date else f"round({self.aggregate}({target}), {digits})"
        shown = values.get(self.aggregate, f"{figure} AS value, count({target}) AS n")
        if not shown:
            times = [column for column in self.table.columns if column.name.lower() == "year"]
            asked_for = [column for column, _ in (*self.filters, *self.bounds)]
            asked_for += [self.group] if self.group and self.is_list else times
            wanted = [*asked_for, *([self.target] if self.target else []), *self.beside]
            shown = f"DISTINCT {', '.join(dict.fromkeys(quoted(column.of or column.name) for column in wanted))}"
        where = conditions[: self._split] + [one for one in limits if one not in counted]
        where += [f"{name.sql} IS NOT NULL"] if name else []
        told = " OR ".join(f"{column.sql} IS NOT NULL" for column in (self.target, *self.beside) if column)
        where += [f"({told})" if self.beside else told] if target and (self.label or not self.aggregate) else []
        is_named = name and self.aggregate != "summary" and bool(self.aggregate or (self.is_list and not self.beside))
        parts = [f"SELECT {f'{name.sql} AS name, ' if name and is_named else ''}{shown} FROM {quoted(self.table.name)}"]
        parts += [f"WHERE {' AND '.join(where)}"] if where else []
        parts += ["GROUP BY 1"] if is_named and self.aggregate else []
        is_rising = self.aggregate == "min" or self.is_lowest_first
        order = f"2 {'ASC' if is_rising else 'DESC'} NULLS LAST, 1" if is_named and self.aggregate else "ALL"
        parts.append(f"ORDER BY {order} LIMIT {self.most}")
        return " ".join(parts)

    def _condition(self, column: Column, values: Sequence[str]) -> str:
        is_held = column in self.held
        cells = " AND ".join(map(column.holds, values)) if is_held else " OR ".join(map(column.equals, values))
        return f"NOT ({cells})" if column in self.denied else cells

    def sentences(self, rows: list[Row]) -> list[str]:
        """What the answer says, a sentence a figure or list; the figures as the table gave them."""
        empty = "n" if self.aggregate == "summary" else "value"
        told = [row for row in rows if any(row.values()) and row.get(empty) not in ("", "0" if empty == "n" else "")]
        try:
            return self._said(told) if told else []
        except KeyError:  # an answer of another shape says nothing
            return []

    def _said(self, rows: list[Row]) -> list[str]:
        said = []
        for column, values in self.filters:
            verb, joint = ("has", " ") if column in self.held else ("is", " or ")
            said.append(f"{column.said} {verb} {'not ' * (column in self.denied)}{joint.join(values)}")
        limits = [f"{column.said} is {_bound_said(bound)}" for column, bound in self.bounds]
        by = f" by {self.group.said}" if self.group else ""
        if self.aggregate == "share":
            counted, among = [*said[self._split :], *limits], said[: self._split]
            scope = f", of those where {' and '.join(among)}" if among else ""
            shares = [
                f"{row['name'] + ' ' if 'name' in row else ''}{row['value']} % "
                f"({shown(row['n'])} of {shown(row['whole'])})"
                for row in rows
            ]
            what = self.target.said if self.target else "rows"
            where = f" where {' and '.join(counted)}" if counted else ""
            return [f"Share of {what}{by} in {self.table.name}{where}{scope}: {joined(shares)}."]
        scope = f" in {self.table.name}" + (f" where {' and '.join([*said, *limits])}" if said or limits else "")
        what = self.target.said if self.target else "rows"
        if not self.aggregate and (self.filters or self.bounds or self.beside):
            of_many = self.held | self.denied
            known = {column.name for column, values in self.filters if len(values) == 1 and column not in of_many}
            lacked = {column.name for column, bound in self.bounds if bound == EMPTY}
            left = [name for name in rows[0] if name not in known | lacked]
            if (lacked or len(rows) > 1) and len(left) == 1:
                return [f"{capital(Column(left[0], '').said)}{scope}: {joined([shown(row[left[0]]) for row in rows])}."]
            bounded = [column.name for column, _ in self.bounds if column.name in left]
            named = [name for name in left if name not in bounded]
            if len(rows) > 1 and len(named) == len(bounded) == 1:
                each = [f"{shown(row[named[0]])} ({shown(row[bounded[0]])})" for row in rows]
                return [f"{capital(Column(named[0], '').said)}{scope}: {joined(each)}."]
            return [f"In {self.table.name}, {columns_of(row)}." for row in rows]
        counted_as = "different values of " if self.aggregate == "count" and self.target else ""
        title = TITLES.get(self.aggregate, "")
        title = capital(counted_as + what if what.startswith(title.lower()) else f"{title} {counted_as}{what}")
        figures = [self._figure(row) for row in rows]
        return [f"{title}{by}{scope}: {'; '.join(figures) if self._is_of_texts else joined(figures)}."]

    @property
    def _is_of_texts(self) -> bool:
        """Whether texts are listed: each behind its name and a colon."""
        return self.is_list and self.target is not None and self.target.is_text

    def _figure(self, row: Row) -> str:
        """`15 (2 rows)`, of a group `US 15 (2 rows)`, in a ranking `Dash (40)`."""
        n = row.get("n", "")
        value = shown(row["value"]) if "value" in row else columns_of({k: v for k, v in row.items() if k != "n"}, " ")
        count = f" ({shown(n)} {'row' if n == '1' else 'rows'})" if n else ""
        if "name" not in row:
            return f"{value}{count}"
        name = f"“{row['name']}”" if "," in row["name"] else row["name"] or "none"
        is_apart = self._is_of_texts or re.fullmatch("[0-9.,-]+", name)
        return f"{name}{':' * bool(is_apart)} {value}{count}" if self.group else f"{name} ({value})"


def best(found: Sequence[Asked | None]) -> Asked | None:
    """The reading that accounts for most of the question; of two the one with fewer conditions in parts of cells."""
    fitting = [one for one in found if one]
    return max(fitting, key=lambda one: (one.fit, one.target is not None, -len(one.table.columns)), default=None)


def _bound_said(bound: str) -> str:
    """`> 10`, or the sign and what another column is called; `empty`."""
    if bound == EMPTY:
        return "empty"
    sign, quote, name = bound.partition('"')
    return sign + Column(name.rstrip(quote), "").said if quote else bound


def shown(text: str) -> str:
    """A cell as one writes it: thousands of large numbers set apart, no digit changed."""
    if re.fullmatch(r"-?\d{5,}(?:\.\d+)?", text):
        whole, point, rest = text.partition(".")
        text = f"{int(whole):,}{point}{rest}"
    return text.removesuffix(".0") if re.fullmatch(r"[-\d,]+\.0", text) else text


def columns_of(row: Row, apart: str = ": ") -> str:
    """The cells of a row with the names of their columns: `town: Oslo; year: 2020`."""
    return "; ".join(f"{Column(name, '').said}{apart}{shown(value)}" for name, value in row.items() if value)
