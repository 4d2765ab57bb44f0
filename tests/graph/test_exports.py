"""What `graph` exports: loaded on its first use, and known to type checkers all the same."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from typing import get_args

import pytest

import graph
from state.signal import Signal
from tests.house.tracked import ROOT, parsed


def for_type_checkers() -> dict[str, str]:
    """What `graph/__init__.py` imports for them: each name with its module."""
    tree = parsed(ROOT / "graph" / "__init__.py")
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: str(node.module)
        for node in imports
        for alias in node.names
        if str(node.module).startswith(("graph.", "nodes.", "state."))
    }


def test_each_exported_name_is_what_type_checkers_take_it_for() -> None:
    homes = for_type_checkers()

    assert sorted(homes) == sorted(graph.__all__) == sorted(graph._HOMES)
    for name, module in homes.items():
        assert getattr(graph, name) is getattr(import_module(module), name), name
    assert set(graph.__all__) <= set(dir(graph))


def test_every_signal_can_be_sent_from_python() -> None:
    assert {signal.__name__ for signal in get_args(get_args(Signal)[0])} - {*graph.__all__} == set()


def test_a_name_that_is_not_exported_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="module 'graph' has no attribute 'supervise'"):
        graph.supervise  # type: ignore[attr-defined] # noqa: B018


def test_importing_the_package_loads_none_of_what_it_exports() -> None:
    code = "import json, sys, graph.cli; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = json.loads(done.stdout)

    assert [
        name for name in names if name.partition(".")[0] in {"langgraph", "langchain_core", "openai", "nodes"}
    ] == []
    assert "graph.app" not in names
