"""The table of commands: what each says of itself, what the shell is told, and what is imported for it."""

import ast
import inspect
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence, Set
from importlib import import_module
from typing import get_args

import pytest

from graph.cli.main import ABOUT, COMMANDS, function_of, load, main
from graph.web.verbs import VERBS
from state.signal import Signal
from tests.graph.cli.conftest import Baton
from tests.house.tracked import modules, parsed, shown


def commands_written() -> set[tuple[str, str]]:
    """Every public function below `graph.cli` that takes `--json`, as commands do and nothing else does."""
    found = set()
    for path in modules():
        if not shown(path).startswith("graph/cli/"):
            continue
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                marks = [argument.annotation for argument in [*node.args.args, *node.args.kwonlyargs]]
                if any(isinstance(mark, ast.Name) and mark.id == "AsJson" for mark in marks):
                    found.add((shown(path).removesuffix(".py").replace("/", "."), node.name))
    return found


def examples() -> list[tuple[str, str]]:
    """Each line below `Examples:` in the help of a command."""
    found = []
    for name, module in COMMANDS.items():
        about = inspect.getdoc(getattr(import_module(module), function_of(name))) or ""
        found += [(name, line.strip()) for line in about.partition("\n\nExamples:\n")[2].splitlines()]
    return found


def test_every_command_that_is_written_is_in_the_table_and_no_other() -> None:
    assert commands_written() == {(module, function_of(name)) for name, module in COMMANDS.items()}


@pytest.mark.parametrize("names", [COMMANDS.keys(), VERBS.keys()], ids=["command", "verb over HTTP"])
def test_every_signal_has_its_command_and_its_verb(names: Set[str]) -> None:
    kinds = {signal.model_fields["kind"].default for signal in get_args(get_args(Signal)[0])}
    answered = {"decide": "answer"}
    assert {answered.get(kind, kind.replace("_", "-")) for kind in kinds} - names == set()


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_the_overview_says_what_each_command_does(baton: Baton, words: list[str]) -> None:
    said = baton(*words)

    assert (said.code, said.err) == (0, "")
    assert " ".join(ABOUT.split()) in " ".join(said.out.split())
    for name in COMMANDS:
        line = str(load(name).help).splitlines()[0]
        assert f"{name} {line}" in " ".join(said.out.split())


def test_each_command_shows_its_help_and_its_examples_as_they_are(baton: Baton) -> None:
    for name in COMMANDS:
        said = baton(name, "-h")
        assert (said.code, said.err) == (0, "")
        assert said.out == baton(name, "--help").out
        lines = [line.strip() for line in said.out.splitlines()]
        shown_as_they_are = [example for known, example in examples() if known == name]
        assert shown_as_they_are
        assert lines[-len(shown_as_they_are) - 1 :] == ["Examples:", *shown_as_they_are]


@pytest.mark.parametrize(("name", "example"), examples())
def test_each_example_can_be_typed(name: str, example: str) -> None:
    words = shlex.split(example.partition(" > ")[0])
    assert words[:2] == ["baton", name]
    assert load(name).make_context(name, words[2:])


def test_an_example_with_an_option_that_does_not_exist_would_be_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        load("status").make_context("status", ["t", "--reprot"])


def test_the_version_is_the_packages(baton: Baton) -> None:
    said = baton("--version")

    assert (said.code, said.out, said.err) == (0, "baton 0.1.0\n", "")


def completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str) -> list[str]:
    """What bash is offered at the end of `line`, by the protocol of the script that `--show-completion` prints."""
    words = line.split(" ")
    monkeypatch.setenv("_BATON_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    return capsys.readouterr().out.split()


@pytest.mark.of_files
def test_the_shell_completes_commands_options_and_threads(
    baton: Baton, tea: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for thread in ("tea-1", "tea-2", "coffee"):
        baton("run", "How much caffeine?", "--sources", tea, "--thread", thread, "--db", "mine.db")

    assert completed(monkeypatch, capsys, "baton re") == [name for name in COMMANDS if name.startswith("re")]
    assert completed(monkeypatch, capsys, "baton status --re") == ["--report"]
    assert completed(monkeypatch, capsys, "baton status --db mine.db tea") == ["tea-2", "tea-1"]
    assert completed(monkeypatch, capsys, "baton inbox ") == []  # there is no baton.db
    monkeypatch.setenv("BATON_DB", "mine.db")
    assert completed(monkeypatch, capsys, "baton resume ") == ["coffee", "tea-2", "tea-1"]
    assert not os.path.lexists("baton.db")


def test_the_script_of_the_shell_around_it_is_shown() -> None:
    ours = shlex.join([sys.executable, "-c", "from graph.cli import main; main(['--show-completion'])"])
    done = subprocess.run(["bash", "-c", f"{ours}; exit $?"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "_COMPLETE=complete_bash" in done.stdout


def modules_of(*lines: Sequence[str]) -> set[str]:
    """The modules that a process has imported which ran `baton` with each of these lines of words."""
    code = "import json, sys; from graph.cli import main; [main(line) for line in json.loads(sys.argv[1])]"
    told = f"{code}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", told, json.dumps(lines)], capture_output=True, text=True, check=True)
    assert done.stderr.replace("nothing waits for you\n", "") == ""
    return set(json.loads(done.stdout.splitlines()[-1]))


def imported_by(*words: str) -> set[str]:
    """The packages of them, and the modules of ours."""
    names = modules_of(words)
    return {name for name in names if name.startswith("graph.")} | {name.partition(".")[0] for name in names}


HEAVY = {"duckdb", "langchain_core", "langgraph", "nodes", "openai", "pydantic", "rich"}


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_the_overview_and_the_version_import_nothing_of_weight(words: list[str]) -> None:
    names = imported_by(*words)

    assert names & HEAVY == set()
    assert {name for name in names if name.startswith("graph.")} == {
        "graph.address",
        "graph.cli",
        "graph.cli.main",
        "graph.cli.options",
        "graph.cli.screen",
    }


TO_RUN = {
    *("graph.builder", "graph.runs", "graph.supervisor", "graph.team_file"),
    *("nodes.execute", "nodes.runtime.context", "nodes.tools.toolbox", "langgraph.graph", "langgraph.pregel"),
    *("langchain_openai", "openai", "tiktoken", "duckdb", "apprise", "langgraph_api"),
}
"""What carrying out a run takes, and looking at one does not."""


LOOKS = [
    *(["status", "over"], ["status", "t"], ["runs"], ["inbox"], ["log", "t"], ["log", "over", "--approvals"]),
    *(["status", "t", "--plan"], ["status", "over", "--report"], ["status", "over", "--routes"]),
]


def test_looking_imports_neither_the_graph_nor_a_client_of_a_model_nor_a_tool(
    baton: Baton, tea: str, publishing: str
) -> None:
    assert baton("run", "How much caffeine?", "--sources", tea, "--thread", "over").code == 0
    assert baton("run", "Q", "--plan", publishing, "--thread", "t").code == 3

    assert modules_of(*LOOKS, *([*words, "--json"] for words in LOOKS)) & TO_RUN == set()


def test_what_goes_the_full_way_would_be_found() -> None:
    assert modules_of(["team"]) & TO_RUN >= {"graph.supervisor", "graph.builder", "nodes.execute", "langgraph.pregel"}
