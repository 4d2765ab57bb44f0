"""Which questions the shape of a table makes sensible."""

from nodes.llm.offline.questions import Question, capital, change, counting, grouping, lookup, ranking
from nodes.llm.offline.tables import Column, Row, Table, number, shown

MOST_MEASURES = 3
"""Numeric columns looked at."""
FEW = 12
"""A column of at most this many different words groups the rows; one of more names them."""


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
        found += [ranking(table, label, measure, lowest) for measure in measures[:2]]
    if group and measures:
        found.append(grouping(table, group, measures[0]))
    elif group:
        found.append(counting(table, group))
    if time and measures:
        by = label if label and _repeats(label, table, counts) else None
        found.append(change(table, time, measures[0], by))
    if looked_up and label:
        found.append(lookup(table, label, looked_up))
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
            found.append(f"{capital(column.words)} in {table.name} ranges from {low:.0f} to {high:.0f}.")
            continue
        end = f" and totals {shown(total)}" if column.adds_up and total is not None else ""
        what = f"{capital(column.words)} in {table.name}"
        found.append(f"{what} ranges from {shown(low)} to {shown(high)}, averages {shown(mean)}{end}.")
    return found
