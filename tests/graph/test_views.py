"""How a run stands is read from the database: by fields, and without the graph."""

import subprocess
import sys

import pytest

from state.run import Run, RunStatus, WaitsFor

PLACES: tuple[tuple[RunStatus, WaitsFor], ...] = (
    ("running", ""),
    ("waiting", "answers"),
    ("waiting", "resume"),
    ("paused", "resume"),
    ("paused", "process"),
    ("paused", "release"),
    ("handed_over", "release"),
    ("failed", "model"),
    ("paused", "team"),
    ("complete", ""),
    ("partial", ""),
    ("failed", ""),
    ("cancelled", ""),
)


def test_reading_how_a_run_stands_imports_no_node_and_compiles_no_graph() -> None:
    code = "import sys, graph.views; print([name for name in sys.modules if name.startswith(('nodes.', 'graph.'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "'graph.views'" in done.stdout
    for name in ("graph.builder", "graph.supervisor", "nodes.execute", "nodes.approve", "nodes.execution"):
        assert f"'{name}'" not in done.stdout


@pytest.mark.parametrize(("status", "waits_for"), PLACES)
def test_what_has_ended_has_no_hint_and_what_can_go_on_can_be_resumed(status: RunStatus, waits_for: WaitsFor) -> None:
    run = Run(thread_id="t", status=status, waits_for=waits_for, phase="executing", query="Q")

    assert run.has_ended == (waits_for == "" and status != "running")
    assert not (run.has_ended and run.hint)
    assert run.can_go_on == (waits_for in ("resume", "process", "model"))
    assert ("resume" in run.hint) == (run.can_go_on or (status, waits_for) == ("paused", "release"))
    assert Run.model_validate(run.model_dump(mode="json")) == run


@pytest.mark.parametrize(("status", "waits_for"), PLACES)
def test_who_lacks_its_agents_is_not_sent_to_resume_or_steer_it(status: RunStatus, waits_for: WaitsFor) -> None:
    known: WaitsFor = "team" if waits_for in ("resume", "process", "model") else waits_for
    run = Run(thread_id="t", status=status, waits_for=known, missing_agents=["bo"], phase="executing", query="Q")

    assert status == "running" or set(run.hint) <= {"answer"}
