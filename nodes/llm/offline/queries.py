"""Which questions to ask of a table, in SQL, and how to put the answers into sentences."""

from collections.abc import Callable
from dataclasses import dataclass

from nodes.llm.offline.tables import Column, Row, Table, number, shown
from nodes.llm.offline.words import joined

MOST_MEASURES = 3
"""Numeric columns looked at."""
FEW = 12
"""A column of at most this many different words groups the rows; one of more names them."""


@dataclass(frozen=True, slots=True)
class Question:
    """SQL, and what to say about its rows."""

    sql: str
    sentences: Callable[[list[Row]], list[str]]


def profile(table: Table, wanted: list[str]) -> Question:
    """How many rows there are, how many different words in each text column, and the range of each measure."""
    parts = ["count(*) AS n"]
    parts += [f"count(DISTINCT {c.sql}) AS d{at}" for at, c in enumerate(table.columns) if c.is_text or c.is_time]
    for at, column in enumerate(table.columns):
        if column.is_measure:
            parts += [f"{f}({column.sql}) AS {f}{at}" for f in ("min", "max", "avg", "sum")]
    return Question(f"SELECT {', '.join(parts)} FROM {table.sql}", lambda rows: _profiled(table, rows, wanted))


def plain(table: Table) -> list[Question]:
    """The simplest questions, for a table whose profile failed."""
    return [Question(f"SELECT count(*) AS n FROM {table.sql}", lambda rows: _profiled(table, rows, []))]


def details(table: Table, counts: Row, wanted: list[str], lowest: bool, looked_up: list[str]) -> list[Question]:
    """The questions that the profile makes sensible: top rows, groups, change over time, rows that are named."""
    measures = [c for c in _measures(table, wanted) if not _holds_years(table, c, counts)][:MOST_MEASURES]
    label, group, time = _label(table, counts), _group(table, counts, wanted), _time(table, counts)
    found: list[Question] = []
    if label and measures and not _repeats(label, table, counts):
        found += [_ranking(table, label, measure, lowest) for measure in measures[:2]]
    if group and measures:
        found.append(_grouping(table, group, measures[0]))
    elif group:
        found.append(_counting(table, group))
    if time and measures:
        by = label if label and _repeats(label, table, counts) else None
        found.append(_change(table, time, measures[0], by))
    if looked_up and label:
        found.append(_lookup(table, label, looked_up))
    return found


def _measures(table: Table, wanted: list[str]) -> list[Column]:
    """Numeric columns, those that are asked for first."""
    columns = [column for column in table.columns if column.is_measure]
    return sorted(columns, key=lambda c: -_speaks_of(c, wanted))


def _speaks_of(column: Column, wanted: list[str]) -> int:
    return Table("", column.name, ()).relevance(wanted)


def _different(table: Table, column: Column, counts: Row) -> int:
    return int(number(counts.get(f"d{table.columns.index(column)}", "")) or 0)


def _label(table: Table, counts: Row) -> Column | None:
    """The column that says what a row is about."""
    texts = [c for c in table.columns if c.is_text and _different(table, c, counts) > 1]
    return max(texts, key=lambda c: (c.names_things, _different(table, c, counts)), default=None)


def _repeats(label: Column, table: Table, counts: Row) -> bool:
    """Whether the same thing has several rows, as in a series over time."""
    return _different(table, label, counts) < (number(counts.get("n", "")) or 0) * 0.9


def _holds_years(table: Table, column: Column, counts: Row) -> bool:
    """Whether a column that is not called so holds years."""
    at = table.columns.index(column)
    low, high = number(counts.get(f"min{at}", "")), number(counts.get(f"max{at}", ""))
    return low is not None and high is not None and low == int(low) and 1900 <= low <= high <= 2100


def _group(table: Table, counts: Row, wanted: list[str]) -> Column | None:
    """A text column that sorts the rows into a few groups, one that is asked for first."""
    rows = number(counts.get("n", "")) or 0
    texts = [c for c in table.columns if c.is_text and c.names_things > 0]
    fitting = [c for c in texts if 1 < _different(table, c, counts) <= min(FEW, rows * 0.6)]
    return max(fitting, key=lambda c: _speaks_of(c, wanted), default=None)


def _time(table: Table, counts: Row) -> Column | None:
    return next((c for c in table.columns if c.is_time and _different(table, c, counts) > 1), None)


def _profiled(table: Table, rows: list[Row], wanted: list[str]) -> list[str]:
    """The size of the table and the ranges of its numbers: of those that are asked for, where some are."""
    row = rows[0] if rows else {}
    count = number(row.get("n", ""))
    found = [f"The table {table.name} has {shown(count)} {'row' if count == 1 else 'rows'}."] if count else []
    asked = [column for column in _measures(table, wanted) if _speaks_of(column, wanted)]
    for at, column in enumerate(table.columns):
        if asked and column not in asked:
            continue
        low, high, mean, total = (number(row.get(f"{f}{at}", "")) for f in ("min", "max", "avg", "sum"))
        if low is None or high is None or mean is None or low == high:
            continue
        if _holds_years(table, column, row):
            found.append(f"{_capital(column.words)} in {table.name} ranges from {low:.0f} to {high:.0f}.")
            continue
        end = f" and totals {shown(total)}" if column.adds_up and total is not None else ""
        what = f"{_capital(column.words)} in {table.name}"
        found.append(f"{what} ranges from {shown(low)} to {shown(high)}, averages {shown(mean)}{end}.")
    return found


def _ranking(table: Table, label: Column, measure: Column, lowest: bool) -> Question:
    order, word = ("ASC", "Lowest") if lowest else ("DESC", "Highest")
    sql = (
        f"SELECT {label.sql} AS name, {measure.sql} AS value FROM {table.sql} WHERE {measure.sql} IS NOT NULL "
        f"AND {label.sql} IS NOT NULL ORDER BY value {order}, name LIMIT 5"
    )

    def said(rows: list[Row]) -> list[str]:
        pairs = [f"{_named(row)} ({_value(row['value'])})" for row in rows]
        return [f"{word} {measure.words} in {table.name}: {joined(pairs)}."] if len(pairs) > 1 else []

    return Question(sql, said)


def _grouping(table: Table, group: Column, measure: Column) -> Question:
    function, word = ("sum", "total") if measure.adds_up else ("avg", "average")
    sql = (
        f"SELECT {group.sql} AS name, count(*) AS n, {function}({measure.sql}) AS value FROM {table.sql} "
        f"WHERE {group.sql} IS NOT NULL GROUP BY name ORDER BY value DESC NULLS LAST, name LIMIT 8"
    )

    def said(rows: list[Row]) -> list[str]:
        pairs = [
            f"{_named(row)} {_value(row['value'])} ({row['n']} {'row' if row['n'] == '1' else 'rows'})"
            for row in rows
            if row["value"]
        ]
        return [f"{_capital(word)} {measure.words} by {group.words}: {joined(pairs)}."] if len(pairs) > 1 else []

    return Question(sql, said)


def _counting(table: Table, group: Column) -> Question:
    sql = f"SELECT {group.sql} AS name, count(*) AS n FROM {table.sql} GROUP BY name ORDER BY n DESC, name LIMIT 8"

    def said(rows: list[Row]) -> list[str]:
        pairs = [f"{_named(row)} ({row['n']})" for row in rows]
        return [f"Rows of {table.name} by {group.words}: {joined(pairs)}."] if pairs else []

    return Question(sql, said)


def _change(table: Table, time: Column, measure: Column, by: Column | None) -> Question:
    """First to last value; of each thing apart where the table has a series for each, never added up across them."""
    what = f"{by.sql} AS name, " if by else ""
    sql = (
        f"SELECT {what}min({time.sql}) AS since, arg_min({measure.sql}, {time.sql}) AS first, max({time.sql}) AS until, "
        f"arg_max({measure.sql}, {time.sql}) AS last, count(DISTINCT {time.sql}) = count(*) AS series FROM {table.sql} "
        f"WHERE {measure.sql} IS NOT NULL AND {time.sql} IS NOT NULL"
        + (
            " GROUP BY name HAVING since < until ORDER BY last / nullif(first, 0) DESC NULLS LAST, name LIMIT 6"
            if by
            else ""
        )
    )
    return Question(sql, lambda rows: [s for row in rows if (s := _changed(row, measure, by is not None))])


def _changed(row: Row, measure: Column, named: bool) -> str:
    first, last = number(row.get("first", "")), number(row.get("last", ""))
    if first is None or last is None or row.get("since") == row.get("until") or row.get("series", "").lower() != "true":
        return ""
    since, until = number(row["since"]), number(row["until"])
    what = f"{_capital(measure.words)} of {row['name']}" if named else _capital(measure.words)
    if first == last:
        return f"{what} stayed at {shown(first)} from {row['since']} to {row['until']}."
    verb = "rose" if last > first else "fell"
    percent = (
        f", {'up' if last > first else 'down'} {shown(abs(round(100 * (last / first - 1), 1)))} %" if first > 0 else ""
    )
    years = until - since if since and until and 1900 <= since < until <= 2200 else 0
    yearly = (
        f" ({shown(round(100 * ((last / first) ** (1 / years) - 1), 1))} % a year)"
        if years > 1 and first > 0 < last
        else ""
    )
    return f"{what} {verb} from {shown(first)} in {row['since']} to {shown(last)} in {row['until']}{percent}{yearly}."


def _lookup(table: Table, label: Column, looked_up: list[str]) -> Question:
    tests = " OR ".join(f"{label.sql} ILIKE '%{name.replace(chr(39), chr(39) * 2)}%'" for name in looked_up[:4])
    shown_columns = [c for c in table.columns if not (c.is_text and c.names_things < 0)][:8]
    picked = ", ".join(c.sql for c in shown_columns)

    def said(rows: list[Row]) -> list[str]:
        return [_row_said(row, label, table) for row in rows]

    return Question(f"SELECT {picked} FROM {table.sql} WHERE {tests} ORDER BY {label.sql} LIMIT 4", said)


def _row_said(row: Row, label: Column, table: Table) -> str:
    rest = [f"{Column(key, '').words} {_value(value)}" for key, value in row.items() if key != label.name and value]
    return f"{row.get(label.name, '')} in {table.name}: {'; '.join(rest)}."


def _named(row: Row) -> str:
    """What a row is called; in quotation marks where a list would not show where it ends."""
    name = row["name"] or "none"
    return f"“{name}”" if "," in name else name


def _value(text: str) -> str:
    value = number(text)
    return shown(value) if value is not None and not (text.isdigit() and len(text) == 4) else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
