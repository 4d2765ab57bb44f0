"""langgraph.json names what exists, in the forms that the server takes."""

import ast
import json
import re
from pathlib import Path

import pytest

from graph.access import OF_THIS_MACHINE, STUDIO
from graph.app import supervisor
from tests.house.tracked import ROOT, parsed

FILE = ROOT / "langgraph.json"


def test_it_serves_the_supervisor_by_its_dotted_name() -> None:
    config = json.loads(FILE.read_text(encoding="utf-8"))
    assert config["graphs"] == {"supervisor": "graph.app:supervisor"}
    assert supervisor.checkpointer is None  # the server brings its own, and exits over another


@pytest.mark.parametrize("kind", ["checkpointer", "store", "auth", "http"])
def test_it_names_what_exists(kind: str) -> None:
    config = json.loads(FILE.read_text(encoding="utf-8"))
    path, _, name = (config[kind].get("path") or config[kind]["app"]).partition(":")
    assert name in names_defined_in(ROOT / path)


def test_the_gate_stands_before_all_routes_and_the_pages_it_names_are_those_of_the_gate() -> None:
    http = json.loads(FILE.read_text(encoding="utf-8"))["http"]
    assert http["middleware_order"] == "middleware_first"
    assert http["cors"]["allow_origin_regex"].endswith(f"|{OF_THIS_MACHINE}")
    assert all(re.fullmatch(http["cors"]["allow_origin_regex"], origin) for origin in STUDIO)
    assert not re.fullmatch(http["cors"]["allow_origin_regex"], "https://evil.example")


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
