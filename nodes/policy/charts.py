"""When figures are easier to look at than to read: a ranking or a series, as a chart with its words."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

FEWEST, MOST = 3, 30
"""Figures that are worth a chart, and that one can show."""
YEARS = range(1500, 2501)
MOMENT = re.compile(r"\d{4}(?:-\d{2}){0,2}|\d{4}-?[QH]\d", re.IGNORECASE)
"""A label that is a point in time: `2026`, `2026-03`, `2026-03-31`, `2026-Q1`."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
BLANK = ("name", "label", "value", "n", "count_star()")
"""Names of columns that say nothing of what is in them."""
WIDTH, HEIGHT = 480, 200


@dataclass(frozen=True, slots=True)
class Chart:
    """A ranking (bars) or a series (a line)."""

    kind: Literal["bar", "line"]
    label: str
    """What the labels are."""
    value: str
    """What the figures are."""
    points: tuple[tuple[str, float], ...]
    """In the order in which they are to be shown."""


def chart_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Chart | None:
    """The chart of a table; None where there are too few figures to compare, or too many, or nothing names them."""
    if not FEWEST <= len(rows) <= MOST:
        return None
    numbers = [at for at in range(len(columns)) if all(_is_number(row[at]) for row in rows)]
    labels = [at for at in range(len(columns)) if _are_labels(columns[at], [row[at] for row in rows])]
    found = next(((name, at) for name in labels for at in numbers if at != name), None)
    if found is None:
        return None
    name, at = found
    points = tuple((_shown(row[name]), float(row[at])) for row in rows)
    in_time = all(MOMENT.fullmatch(label) for label, _ in points)
    if in_time:
        points = tuple(sorted(points))
    return Chart("line" if in_time else "bar", columns[name], columns[at], points)


def alternative(chart: Chart) -> str:
    """What the chart shows, in words: for those who do not see it."""
    shown = ", ".join(f"{label} {_figure(value)}" for label, value in chart.points)
    kind = "Line chart" if chart.kind == "line" else "Bar chart"
    about = f" of {_plain(chart.value)} by {_plain(chart.label)}" if _plain(chart.value) and _plain(chart.label) else ""
    return f"{kind}{about}: {shown}"


def vega_lite(chart: Chart) -> dict[str, Any]:
    """The chart as Vega-Lite draws it; a line need not begin at zero, bars do."""
    names: dict[str, Any] = {
        "field": "label",
        "type": "ordinal",
        "sort": None,
        "title": _plain(chart.label),
        "axis": {"labelAngle": 0},
    }
    figures: dict[str, Any] = {"field": "value", "type": "quantitative", "title": _plain(chart.value)}
    values = [{"label": label, "value": value, "shown": _figure(value)} for label, value in chart.points]
    common: dict[str, Any] = {"$schema": SCHEMA, "width": WIDTH, "data": {"values": values}}
    if chart.kind == "line":
        y = {**figures, "scale": {"zero": False}}
        line = {"type": "line", "point": True}
        return {**common, "height": HEIGHT, "mark": line, "encoding": {"x": names, "y": y}}
    figure = {"mark": {"type": "text", "align": "left", "dx": 4}, "encoding": {"text": {"field": "shown"}}}
    return {**common, "layer": [{"mark": "bar"}, figure], "encoding": {"x": figures, "y": names}}


def as_csv(chart: Chart) -> str:
    """The figures behind it."""
    file = io.StringIO()
    csv.writer(file).writerows([[chart.label, chart.value], *chart.points])
    return file.getvalue()


def _are_labels(column: str, cells: Sequence[Any]) -> bool:
    """Whether cells can name figures: each another, words or moments; a number only where it is a year."""
    if any(cell is None for cell in cells) or len({_shown(cell) for cell in cells}) < len(cells):
        return False
    if all(isinstance(cell, str | date) for cell in cells):
        return all(0 < len(_shown(cell)) <= 60 for cell in cells)
    return "year" in column.lower() and all(isinstance(cell, int) and cell in YEARS for cell in cells)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float | Decimal) and not isinstance(cell, bool) and abs(float(cell)) < 1e15


def _shown(cell: Any) -> str:
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, date) else " ".join(str(cell).split())


def _figure(value: float) -> str:
    return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"


def _plain(column: str) -> str:
    """A column's name as words; empty for one that says nothing."""
    return "" if column.lower() in BLANK else " ".join(column.replace("_", " ").split())
