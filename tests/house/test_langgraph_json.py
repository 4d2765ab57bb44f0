"""langgraph.json names what exists, in the forms that the server takes."""

import ast
import json
from pathlib import Path

import pytest

from graph.app import supervisor
from tests.house.tracked import ROOT, parsed

FILE = ROOT / "langgraph.json"


def test_it_serves_the_supervisor_by_its_dotted_name() -> None:
    config = json.loads(FILE.read_text(encoding="utf-8"))
    assert config["graphs"] == {"supervisor": "graph.app:supervisor"}
    assert supervisor.checkpointer is None  # the server brings its own, and exits over another


@pytest.mark.parametrize("kind", ["checkpointer", "store"])
def test_it_names_persistence_that_exists(kind: str) -> None:
    config = json.loads(FILE.read_text(encoding="utf-8"))
    path, _, name = config[kind]["path"].partition(":")
    assert name in names_defined_in(ROOT / path)


def names_defined_in(path: Path) -> set[str]:
    """Functions, classes and variables at the top of a module."""
    found = set()
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found
