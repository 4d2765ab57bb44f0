"""`baton export`: a run as one file."""

import json
from pathlib import Path

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.policy.timeline import Timeline
from tests.graph.cli.conftest import Baton
from tests.runs import agent, plan

EVIL = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)>"


def ran(query: str) -> None:
    with Supervisor.open("baton.db", [agent()], {}, ScriptedModel([]), clock=HeldClock()) as sup:
        assert sup.start(query, thread_id="t", plan=plan("a", "b <- a")).status == "complete"


def test_a_run_is_exported_as_what_the_page_shows_and_as_its_report(baton: Baton) -> None:
    ran("Q")

    view, report = json.loads(baton("export", "t", "--json").out), baton("export", "t", "--md")

    assert [event["seq"] for event in view["events"]] == list(range(1, len(view["events"]) + 1))
    assert Timeline.model_validate(view["timeline"]).tasks.keys() == {"a", "b"}
    assert (view["run"]["thread_id"], view["audit"]["broken"]) == ("t", "")
    assert report.out.strip() == view["run"]["report"].strip()


def test_the_page_of_a_run_has_all_of_it_in_it_and_no_text_of_it_is_markup(baton: Baton) -> None:
    ran(EVIL)

    said = baton("export", "t", "--html", "--out", "t.html")
    page = Path("t.html").read_text(encoding="utf-8")
    data = page.partition('<script type="application/json" id="run">')[2].partition("</script>")[0]

    assert (said.code, said.out) == (0, "")
    assert json.loads(data)["run"]["query"] == EVIL
    assert page.count("<script") == 2
    assert "<img" not in page.partition('id="run">')[0]
    assert "default-src 'none'; script-src 'sha256-" in page


def test_one_form_at_a_time(baton: Baton) -> None:
    ran("Q")

    said = baton("export", "t", "--html", "--md")

    assert (said.code, said.err) == (2, "baton: give one of --html, --json and --md\n")
