"""Questions to a table in SQL, each with the sentences that its answer makes."""

from collections.abc import Callable
from dataclasses import dataclass

from nodes.llm.offline.tables import Column, Row, Table, number, shown
from nodes.llm.offline.words import joined


@dataclass(frozen=True, slots=True)
class Question:
    """SQL, and what to say about its rows."""

    sql: str
    sentences: Callable[[list[Row]], list[str]]


def ranking(table: Table, label: Column, measure: Column, lowest: bool) -> Question:
    """The five rows with the most (or least) of a measure."""
    order, word = ("ASC", "Lowest") if lowest else ("DESC", "Highest")
    sql = (
        f"SELECT {label.sql} AS name, {measure.sql} AS value FROM {table.sql} WHERE {measure.sql} IS NOT NULL "
        f"AND {label.sql} IS NOT NULL ORDER BY value {order}, name LIMIT 5"
    )

    def said(rows: list[Row]) -> list[str]:
        pairs = [f"{_named(row)} ({_value(row['value'])})" for row in rows]
        return [f"{word} {measure.words} in {table.name}: {joined(pairs)}."] if len(pairs) > 1 else []

    return Question(sql, said)


def grouping(table: Table, group: Column, measure: Column) -> Question:
    """A measure by group: added up where that means something, else the average."""
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
        return [f"{capital(word)} {measure.words} by {group.words}: {joined(pairs)}."] if len(pairs) > 1 else []

    return Question(sql, said)


def counting(table: Table, group: Column) -> Question:
    """How many rows each group has."""
    sql = f"SELECT {group.sql} AS name, count(*) AS n FROM {table.sql} GROUP BY name ORDER BY n DESC, name LIMIT 8"

    def said(rows: list[Row]) -> list[str]:
        pairs = [f"{_named(row)} ({row['n']})" for row in rows]
        return [f"Rows of {table.name} by {group.words}: {joined(pairs)}."] if pairs else []

    return Question(sql, said)


def change(table: Table, time: Column, measure: Column, by: Column | None) -> Question:
    """First to last value; of each thing apart where the table has a series for each, never added up across them."""
    what = f"{by.sql} AS name, " if by else ""
    sql = (
        f"SELECT {what}min({time.sql}) AS since, arg_min({measure.sql}, {time.sql}) AS first, "
        f"max({time.sql}) AS until, "
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
    what = f"{capital(measure.words)} of {row['name']}" if named else capital(measure.words)
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


def lookup(table: Table, label: Column, looked_up: list[str]) -> Question:
    """The rows whose name is one that was asked for."""
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


def capital(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]
