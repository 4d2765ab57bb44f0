"""The core does the main job by itself, and what needs an extra that is missing says so in one line."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT
from tests.nodes.tools import office

WITHOUT = """
import sys
from importlib.machinery import PathFinder
missing = set(sys.argv[1].split(","))
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in missing else super().find_spec(name, path, target)
sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""
BATON = "from graph.cli import main; sys.exit(main(sys.argv[2:]))"


def without(missing: set[str], code: str, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `code` where the modules `missing` are not installed."""
    command = [sys.executable, "-c", WITHOUT + code, ",".join(sorted(missing)), *words]
    environment = {"PYTHONPATH": str(ROOT), "COLUMNS": "200", **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_with(requirements: list[str]) -> set[str]:
    """The distributions that pip installs for these, with what they need in turn."""
    found: set[tuple[str, str]] = set()
    todo = [Requirement(text) for text in requirements]
    while todo:
        wanted = todo.pop()
        for extra in ("", *wanted.extras):
            if (normal(wanted.name), extra) in found:
                continue
            found.add((normal(wanted.name), extra))
            try:
                needs = map(Requirement, distribution(wanted.name).requires or [])
            except PackageNotFoundError:
                continue  # for another platform
            todo += [one for one in needs if one.marker is None or one.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def beyond_the_core() -> set[str]:
    """The modules of all that is installed here and is no part of the core."""
    core = installed_with(project()["dependencies"])
    owners = packages_distributions()
    mine = {"graph", "nodes", "state", "tests"}
    return {module for module, names in owners.items() if not {*map(normal, names)} & core} - mine


@pytest.mark.campaign
def test_a_word_file_without_its_extra_is_left_out_by_the_name_of_the_extra(tea: str) -> None:
    (Path(tea) / "a.docx").write_bytes(office.word())

    done = without({"docx"}, BATON, "run", "How long does tea take?", "--sources", tea)

    assert "a.docx: it is a Word file: these need the extra `office`: pip install 'baton[office]'" in done.stderr


def test_the_core_answers_a_question_without_any_extra(tea: str) -> None:
    missing = beyond_the_core()
    assert {"apprise", "langgraph_api", "starlette", "langchain_mcp_adapters", "pytest"} <= missing

    done = without(missing, BATON, "run", "How much caffeine is in green tea?", "--sources", tea)

    assert done.returncode == 0, done.stderr
    assert "30 mg" in Path(done.stdout.strip()).read_text(encoding="utf-8")


@pytest.mark.campaign
def test_messages_to_people_without_their_extra_are_refused_before_the_run_starts(tea: str) -> None:
    done = without({"apprise"}, BATON, "run", "Q", "--sources", tea, BATON_NOTIFY="json://127.0.0.1")

    assert (done.returncode, done.stdout) == (2, "")
    needed = "messages to people (BATON_NOTIFY) need the extra `notify`: pip install 'baton[notify]'"
    assert done.stderr == f"baton: {needed}\n"


@pytest.mark.campaign
def test_an_agent_with_mcp_tools_fails_by_the_name_of_the_extra(tmp_path: Path) -> None:
    team, plan = tmp_path / "team.yaml", tmp_path / "plan.yaml"
    team.write_text("agents:\n- {name: ada, role: generalist, mcp: {notes: {command: notes-server}}}\n")
    plan.write_text("tasks: [{id: a, description: Do a.}]\n")

    done = without({"langchain_mcp_adapters"}, BATON, "run", "Q", "--team", str(team), "--plan", str(plan), "--json")

    assert done.returncode == 1
    assert "tools of MCP servers need the extra `mcp`: pip install 'baton[mcp]'" in done.stderr.splitlines()[-1]


def test_what_a_server_loads_names_its_extra() -> None:
    done = without({"starlette"}, "import graph.server")

    needed = "served runs need the extra `server`: pip install 'baton[server]'"
    assert done.stderr.splitlines()[-1] == f"state.errors.ExtraMissing: {needed}"


def test_a_model_of_openai_is_imported_when_it_is_made_and_not_before() -> None:
    code = """
from nodes.llm.choose import make_models
models = make_models()
assert not {"openai", "langchain_openai"} & sys.modules.keys()
make_models(base_url="http://127.0.0.1:1/v1")
assert {"openai", "langchain_openai"} <= sys.modules.keys()
"""
    done = without(set(), code)

    assert (done.returncode, done.stderr) == (0, "")


def test_every_extra_is_part_of_the_development_set() -> None:
    extras = project()["optional-dependencies"]
    [own] = [Requirement(text) for text in extras["dev"] if text.startswith("baton[")]

    assert own.extras == extras.keys() - {"dev", "ray"}  # for its size
