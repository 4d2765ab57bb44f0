"""The examples run as they are, and things happen in the order that the documents they come from describe."""

import importlib.util
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from graph import open_supervisor
from graph.team_file import open_team
from state.event import Event
from tests.conftest import ROOT
from tests.servers import forks

EXAMPLES = ROOT / "examples"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / name / "run.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def order(events: list[Event]) -> list[tuple[str, str, Any]]:
    """What happened to tasks and delegations: kind, path, worker."""
    kinds = ("task_started", "delegation_started", "delegation_completed", "task_finished", "run_finished")
    return [(e.kind, " > ".join(e.path), e.data.get("worker")) for e in events if e.kind in kinds]


async def test_the_market_is_analysed_without_a_doubt_with_the_figures_of_its_table(tmp_path: Path) -> None:
    market = EXAMPLES / "market"
    async with open_supervisor(
        db=tmp_path / "baton.db", model="offline", policy={"oversight": "on_the_loop"}
    ) as supervisor:
        run = await supervisor.start((market / "question.txt").read_text(), sources=[str(market / "sources")])

    assert (run.status, run.warnings) == ("complete", [])
    report = run.report or ""
    assert "Highest github stars in frameworks: AutoGen (57,700), CrewAI (47,800), LangGraph (24,800)" in report
    assert "AutoGen: MIT; CrewAI: MIT; Deep Agents: MIT; Eino ADK: Apache-2.0; LangGraph: MIT" in report
    for found in ("57.3 % had agents in production", "39 USD per seat", "Agent2Agent", "#### Threats"):
        assert found in report
    assert "I found no passage" not in report


async def test_research_comes_back_before_writing_starts_and_the_supervisor_answers(tmp_path: Path) -> None:
    run, events = await example("research_and_writing").carry_out(tmp_path)

    assert order(events) == [
        ("task_started", "ReportSupervisor", None),
        ("delegation_started", "ReportSupervisor", "ResearchAgent"),
        ("delegation_completed", "ReportSupervisor", "ResearchAgent"),
        ("delegation_started", "ReportSupervisor", "WriterAgent"),
        ("delegation_completed", "ReportSupervisor", "WriterAgent"),
        ("task_finished", "ReportSupervisor", None),
        ("run_finished", "", None),
    ]
    assert run.status == "complete"
    assert "# The History of Large Language Models" in str(run.tasks[0].result)


async def test_the_lead_delegates_two_parts_at_once_and_then_a_third(tmp_path: Path) -> None:
    run, events = await example("lead_with_workers").carry_out(tmp_path)

    told = order(events)
    assert told[0] == ("task_started", "lead", None)
    assert sorted(told[1:5]) == [
        ("delegation_completed", "lead", "coder"),
        ("delegation_completed", "lead", "researcher"),
        ("delegation_started", "lead", "coder"),
        ("delegation_started", "lead", "researcher"),
    ]
    assert [kind for kind, *_ in told[1:3]] == ["delegation_started", "delegation_started"]
    assert told[5:] == [
        ("delegation_started", "lead", "analyst"),
        ("delegation_completed", "lead", "analyst"),
        ("task_finished", "lead", None),
        ("run_finished", "", None),
    ]
    assert run.tasks[0].tokens == run.usage.total_tokens > 0
    assert "40 %" in str(run.tasks[0].result)


@pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10")  # what its library still calls
async def test_a_page_that_speaks_ag_ui_starts_a_run_is_asked_approves_and_asks_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("The lighthouse was lit in 1887. It has 214 steps.\n", encoding="utf-8")
    app = example("ag_ui").app
    transport = httpx.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://page") as page:

        async def turn(messages: list[Any], text: str = "", **more: Any) -> tuple[list[Any], Any, set[str]]:
            """The thread's messages, how the turn ended, and the kinds of events."""
            messages = [*messages, *([{"id": text, "role": "user", "content": text}] if text else [])]
            body = {
                "threadId": "t",
                "runId": "r",
                "state": {},
                "tools": [],
                "context": [],
                "forwardedProps": {},
                **more,
            }
            said = await page.post("/", json={"messages": messages, **body})
            events = [json.loads(line[6:]) for line in said.text.splitlines() if line.startswith("data: ")]
            shown = [event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
            return shown[-1], events[-1], {event["type"] for event in events}

        request = "When was the lighthouse lit? Then publish a note about it."
        asking, waits, first = await turn([], request, state={"sources": ["notes.md"]})
        [question] = waits["outcome"]["interrupts"]
        yes = {"interruptId": question["id"], "status": "resolved", "payload": {"decisions": [{"type": "approve"}]}}
        reported, done, _ = await turn(asking, resume=[yes])
        more, _, _ = await turn(reported, "How many steps has it?")

    assert asking[-1]["content"].startswith("Publish ")
    assert [call["function"]["name"] for call in asking[-1]["toolCalls"]] == ["publish"]
    assert (done["type"], done.get("outcome")) == ("RUN_FINISHED", None)
    assert "1887" in reported[-1]["content"]
    assert "214 steps" in more[-1]["content"]
    assert first.isdisjoint({"RUN_ERROR", "TEXT_MESSAGE_CONTENT"})  # what agents think is not the assistant's answer


def test_the_leads_team_file_is_fine() -> None:
    team = open_team(EXAMPLES / "lead_with_workers" / "team.yaml")
    assert team.agent("lead").workers == ["researcher", "coder", "analyst"]
    assert team.agent("lead").escalate_to == "human"


def as_a_script(path: Path) -> None:
    """As `python PATH` does it."""
    sys.path[0], sys.argv = str(path.parent), [str(path)]
    runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("name", ["research_and_writing", "lead_with_workers"])
def test_it_runs_from_the_command_line(name: str, tmp_path: Path) -> None:
    done = forks.run(as_a_script, EXAMPLES / name / "run.py", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("task_started ")
    assert list(tmp_path.iterdir()) == []
