"""Two scripts of a user, one after the other on one file: the first is killed, and nothing is done twice."""

import runpy
import sys
from pathlib import Path

from tests.servers import forks

SCRIPT = """
import os, sys
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore
from langgraph.types import Command

from graph import AgentSpec, build_supervisor


def note(text):
    with Path("notes.txt").open("a") as file:
        print(text, file=file)


def send(to):
    note(f"sent to {to}")
    return "sent"


async def works(brief, desk):
    note(f"start {brief.task.id}")
    if brief.task.id == "c":
        return (await desk.ask("launch")).type
    if brief.task.id == "b":
        sent = await desk.once("send", send, {"to": "ana"})
        if sys.argv[1] == "first":
            os._exit(9)
        return sent.status
    return "done"


plan = {"tasks": [
    {"id": "a", "description": "First."},
    {"id": "b", "description": "Second.", "depends_on": ["a"]},
    {"id": "c", "description": "Third.", "depends_on": ["b"]},
]}
given = {"query": "Q", "plan": plan} if sys.argv[1] == "first" else None

with SqliteSaver.from_conn_string("runs.db") as saver, SqliteStore.from_conn_string("runs.db") as store:
    store.setup()
    team = [AgentSpec(name="ada", role="generalist", run=works)]
    graph = build_supervisor(
        team=team, policy={"oversight": "on_the_loop"}, model="offline", checkpointer=saver, store=store
    )
    config = {"configurable": {"thread_id": "t"}}
    out = graph.invoke(given, config)
    note(f"stands at {graph.get_state(config).next}")
    out = graph.invoke(Command(resume="yes"), config)
    note(f"{out['phase']}: {[task['outcome']['result'] for task in out['tasks']]}")
"""


def script(part: str) -> None:
    """Run it as a process does that is started with it."""
    sys.argv = ["script.py", part]
    runpy.run_path("script.py", run_name="__main__")


def test_a_script_that_invokes_the_graph_is_killed_and_a_second_one_does_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    codes = [forks.run(script, part).returncode for part in ("first", "second")]
    notes = (tmp_path / "notes.txt").read_text(encoding="utf-8").splitlines()

    assert codes == [9, 0]
    assert notes == [
        "start a",
        "start b",
        "sent to ana",
        "start b",  # it was in flight: its side effect is not done again
        "start c",
        "stands at ('approve',)",
        "start c",
        "complete: ['done', 'done', 'approve']",
    ]
