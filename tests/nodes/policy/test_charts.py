"""What becomes a chart, what does not, and what is said about it."""

import datetime as dt
from typing import Any

import pytest

from nodes.policy.charts import alternative, as_csv, chart_of, vega_lite

PRICES = [("Acme", 20), ("Bolt", 1250.5), ("Cargo", 3)]


@pytest.mark.parametrize(
    ("columns", "rows", "kind"),
    [
        (["vendor", "price"], PRICES, "bar"),
        (["price", "vendor"], [row[::-1] for row in PRICES], "bar"),
        (["year", "sales"], [(2023, 5), (2021, 3), (2022, 4)], "line"),
        (["quarter", "sales"], [("2026-Q1", 5), ("2026-Q2", 3), ("2026-Q3", 4)], "line"),
        (["day", "sales"], [(dt.date(2026, 1, day), day) for day in (1, 2, 3)], "line"),
        (["vendor", "price"], PRICES[:2], None),
        (["vendor", "price"], [(str(n), n) for n in range(31)], None),
        (["vendor", "price"], [*PRICES, ("Acme", 4)], None),
        (["vendor", "price"], [*PRICES, ("Dunn", None)], None),
        (["vendor", "home"], [("a", "x"), ("b", "y"), ("c", "z")], None),
        (["id", "price"], [(1, 2), (2, 3), (3, 4)], None),
        (["vendor", "open"], [("a", True), ("b", False), ("c", True)], None),
        (["count"], [(1,), (2,), (3,)], None),
    ],
)
def test_a_ranking_is_bars_a_series_a_line_and_the_rest_nothing(
    columns: list[str], rows: list[tuple[Any, ...]], kind: str | None
) -> None:
    chart = chart_of(columns, rows)

    assert (chart.kind if chart else None) == kind


def test_a_series_is_in_the_order_of_time_and_a_ranking_in_its_own() -> None:
    series, ranking = chart_of(["year", "n"], [(2023, 5), (2021, 3), (2022, 4)]), chart_of(["vendor", "price"], PRICES)

    assert series
    assert [label for label, _ in series.points] == ["2021", "2022", "2023"]
    assert ranking
    assert [label for label, _ in ranking.points] == ["Acme", "Bolt", "Cargo"]


def test_its_words_and_its_figures_are_those_that_it_shows() -> None:
    chart = chart_of(["vendor", "unit_price"], [*PRICES, ('D, "x"', -2)])

    assert chart
    assert alternative(chart) == 'Bar chart of unit price by vendor: Acme 20, Bolt 1250.5, Cargo 3, D, "x" -2'
    assert as_csv(chart).splitlines()[-1] == '"D, ""x""",-2.0'
    assert [point["value"] for point in vega_lite(chart)["data"]["values"]] == [20.0, 1250.5, 3.0, -2.0]
