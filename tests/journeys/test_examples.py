"""The examples run as they are, and things happen in the order that the documents they come from describe."""

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

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
