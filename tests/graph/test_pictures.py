"""Charts in reports, of figures that were computed from tables."""

from pathlib import Path

import pytest

from graph import open_supervisor
from state.text import Json

TABLE = "vendor,price\nAcme,20\nBolt,50\nCargo,35\nDunn,10\n"


async def test_a_ranking_is_drawn_beside_its_words_with_the_figures_behind_it(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    (tmp_path / "prices.csv").write_text(TABLE)
    policy: Json = {"oversight": "on_the_loop"}
    async with open_supervisor(tmp_path / "b.db", model="offline", policy=policy) as sup:
        run = await sup.start("Which vendors have the highest prices?", [tmp_path / "prices.csv"])

    charts = tmp_path / "artifacts" / run.thread_id / "charts"
    words = "Bar chart: Bolt 50, Cargo 35, Acme 20, Dunn 10"

    assert f"![{words}](charts/1.svg)" in (run.report or "")
    assert f'<svg role="img" aria-label="{words}" ' in (charts / "1.svg").read_text(encoding="utf-8")
    assert (charts / "1.csv").read_text().split()[1:] == ["Bolt,50.0", "Cargo,35.0", "Acme,20.0", "Dunn,10.0"]
    assert {artifact.name for artifact in run.artifacts} >= {"charts/1.svg", "charts/1.csv"}


async def test_a_single_figure_is_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(TABLE)
    policy: Json = {"oversight": "on_the_loop"}
    async with open_supervisor(tmp_path / "b.db", model="offline", policy=policy) as sup:
        run = await sup.start("What is the average price?", [tmp_path / "prices.csv"])

    assert "![" not in (run.report or "")
    assert not (tmp_path / "artifacts" / run.thread_id / "charts").exists()
