"""A request says with what it asks for in which shape it wants the answer: as a table, in three points, briefly."""

from pathlib import Path

import pytest

from tests.graph.cli.conftest import Baton, baton  # noqa: F401 - a fixture
from tests.journeys.talks import written

PRICES = ("| plan | price | seats | Where |", "| Team | 39 | 10 | [1] |")


@pytest.mark.parametrize(
    ("request_", "has", "lacks"),
    [
        ("List the plans and their prices as a table", ("| plan | Price in plans | Where |", "| Solo | 9 | [1] |"), ""),
        ("Make a table of the price and seats of each plan", PRICES, ""),
        ("What are the price and the seats of the Team plan? Give me a table.", PRICES, "Solo"),
        ("What does the Team plan cost and how many seats has it, in a table?", PRICES[:1], "Solo"),
        ("Which licence does LangGraph have? In one sentence, please.", ("LangGraph is licensed under MIT.",), "Chain"),
        ("Write a summary of the refund policy in two sentences", ("thirty days", "seven days"), "unverified"),
        ("Briefly, which licence does Eino have?", ("Apache 2.0",), "No passage speaks"),
        ("Who makes Eino, and who makes LangGraph? In two bullet points.", ("CloudWeGo makes Eino", "\n- "), "\n> "),
        ("Welche Lizenz hat Restate? Als Tabelle.", ("| What is said | Where |", "BUSL"), "Tabelle”"),
        ("Who invented the zip? Show it as a table.", ("I found no passage that answers this",), "| Where |"),
    ],
)
def test_the_answer_comes_in_the_shape_that_the_request_says(
    request_: str,
    has: tuple[str, ...],
    lacks: str,
    baton: Baton,  # noqa: F811
    tmp_path: Path,
) -> None:
    assert baton("run", request_, "--thread", "t", "--sources", str(written(tmp_path / "docs"))).code == 0
    report = str(baton("status", "t", "--json").lines[0]["report"]).partition("## How this was made")[0]
    assert [said for said in has if said not in report] == []
    assert not lacks or lacks not in report.partition("\n")[2]
