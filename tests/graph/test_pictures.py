"""Charts in reports, of figures that were computed from tables."""

from base64 import b64decode
from pathlib import Path

import pytest
from defusedxml import ElementTree

from graph import open_supervisor
from graph.pictures import pictures_of
from graph.web.views import in_full
from nodes.llm.scripted import ScriptedModel
from nodes.tools.files import digest
from nodes.tools.pictures import beside
from nodes.tools.sandbox import missing
from state.agent import AgentSpec
from state.record import Artifact
from state.replies import Review
from state.run import Run
from state.text import Json
from tests.runs import opened, plan

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
    [figure] = ElementTree.fromstring(run._repr_html_()).iter("figure")
    [shown, told] = figure
    assert (shown.attrib["alt"], told.text) == (words, words)
    assert b64decode(shown.attrib["src"].partition(",")[2]) == (charts / "1.svg").read_bytes()


def test_a_picture_stands_behind_the_paragraph_with_its_figures() -> None:
    text = "## Prices\n\n- Bolt 50, Dunn 10. [a.csv#table]\n\n> Quoted.\n[a.md#L1]"
    drawn = {"Bolt 50, Dunn 10.": "![one](1.svg)", "Dunn 10.": "![two](2.svg)", "Gone.": "![three](3.svg)"}
    assert [block[:5] for block in beside(text, drawn).split("\n\n")] == [
        "## Pr",
        "- Bol",
        "![one",
        "![two",
        "> Quo",
        "![thr",
    ]


async def test_a_single_figure_is_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(TABLE)
    policy: Json = {"oversight": "on_the_loop"}
    async with open_supervisor(tmp_path / "b.db", model="offline", policy=policy) as sup:
        run = await sup.start("What is the average price?", [tmp_path / "prices.csv"])

    assert "![" not in (run.report or "")
    assert not (tmp_path / "artifacts" / run.thread_id / "charts").exists()


PLOT = """
import csv
rows = list(csv.DictReader(open("/sources/prices.csv")))
bars = "".join(f"<rect y='{9 * n}' height='8' width='{r['price']}'/>" for n, r in enumerate(rows))
open("plot.svg", "w").write(f"<svg xmlns='http://www.w3.org/2000/svg'><title>Prices [all]</title>{bars}</svg>")
print("drew", len(rows), "bars")
"""


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize(("decision", "is_drawn"), [("approve", True), ("reject", False)])
async def test_a_plot_that_code_has_drawn_is_in_the_report_once_a_human_lets_it_run(
    decision: str, is_drawn: bool, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text(TABLE)
    draw = {"name": "python", "args": {"code": PLOT}}
    model = ScriptedModel({"You review": Review(verdicts=[]), "task id": [draw, *["The plot is in plot.svg."] * 3]})
    coder = AgentSpec(name="cody", role="coder", tools=["python"])
    async with opened(coder, model=model, db=tmp_path / "runs.db", on_reject="fail") as sup:
        asked = await sup.start("Plot it.", [tmp_path / "prices.csv"], plan=plan({"id": "a", "role": "coder"}))
        (question,) = asked.approvals
        before = asked.artifacts
        run = await sup.answer(asked.thread_id, {question.id: {"type": decision}}, by="ana")
        events = await sup.events(run.thread_id)
        view = await in_full(sup._runs, run)

    assert (question.action, question.risk, before) == ("python", "high", [])
    assert ("drew 4 bars" in str(events)) == is_drawn
    assert ("![Prices (all)](plot.svg)" in (run.report or "")) == is_drawn
    assert list(view["pictures"]) == (["plot.svg"] if is_drawn else [])  # type: ignore[arg-type]
    assert [one.name for one in run.artifacts] == (["plot.svg"] if is_drawn else [])


async def test_a_picture_that_was_changed_since_is_not_sent_along(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(b"one")
    made = Artifact(name="a.png", path=str(file), bytes=3, sha256=digest(b"one"), task_id="a")
    run = Run(thread_id="t", status="complete", phase="complete", query="Q", report="![A](a.png)", artifacts=[made])

    assert pictures_of(run) == {"a.png": "data:image/png;base64,b25l"}
    file.write_bytes(b"two")
    assert pictures_of(run) == {}
