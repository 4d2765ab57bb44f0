"""Agents whose code hangs in a thread, where nothing can end it: the command ends all the same."""

import json
from pathlib import Path

import pytest

from graph.cli import main
from tests.journeys.turns import thinned
from tests.servers import forks

HANGERS = """
import threading
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from nodes.llm.scripted import ScriptedModel
from typing_extensions import TypedDict

class Form(TypedDict, total=False):
    result: str

def forever(*given):
    threading.Event().wait()

def function(brief, desk):
    forever()

def node(state):
    forever()

@tool
def wait() -> str:
    "Wait."
    forever()

runnable = RunnableLambda(forever)
builder = StateGraph(Form)
builder.add_sequence([node]).add_edge(START, "node")
graph = builder.compile()
agent = create_agent(ScriptedModel({lambda _: True: {"name": "wait", "args": {}}}), [wait])
"""


@pytest.mark.parametrize("kind", thinned(["function", "runnable", "graph", "agent"], every=2))
def test_the_run_fails_in_a_line_and_the_process_ends(kind: str, tmp_path: Path) -> None:
    (tmp_path / "hangers.py").write_text(HANGERS)
    agents = [{"name": "ada", "role": "generalist", "run": f"hangers:{kind}", "limits": {"timeout_s": 0.2}}]
    (tmp_path / "team.yaml").write_text(json.dumps({"agents": agents}))
    (tmp_path / "plan.json").write_text(json.dumps({"tasks": [{"id": "a", "description": "Wait."}]}))
    words = ["run", "Q", "--plan", "plan.json", "--team", "team.yaml", "--db", "b.db", "--yes"]
    done = forks.run(main, words, cwd=tmp_path)

    assert done.returncode == 1
    assert "the last one: no result within 0.2 seconds" in done.stderr.splitlines()[-1]
