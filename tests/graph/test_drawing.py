"""The page on how it works draws the graph that there is."""

import re

import pytest

from graph.app import supervisor
from graph.cli import main
from tests.house.tracked import ROOT

DRAWING = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)


def drawn() -> list[str]:
    return DRAWING.findall((ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8"))


def test_the_page_draws_the_graph_as_baton_graph_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph"]) == 0
    printed = capsys.readouterr().out
    assert [drawing.strip() for drawing in drawn()] == [printed.strip()]
    assert printed.strip() == supervisor.get_graph().draw_mermaid().strip()


def test_the_drawing_from_within_shows_the_worker(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--xray"]) == 0
    printed = capsys.readouterr().out
    assert all(rf"execute\3a{node}" in printed for node in ("brief", "think", "act", "conclude"))
