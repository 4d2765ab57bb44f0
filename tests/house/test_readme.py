"""What the README tells people to type exists."""

import ast
import contextlib
import re
import shlex
import sys
from collections.abc import Iterator

import pytest

import graph
from graph.cli import main
from graph.cli.main import COMMANDS
from nodes.tools.readers.table import READERS
from tests.house.tracked import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\s*\$?\s*(?:[A-Z_]+=\S*\s+)*(?:\.venv/bin/)?(?=(?:make|baton)\b)")


def blocks(*languages: str) -> list[str]:
    return [body for language, body in BLOCK.findall(README) if language in languages]


def commands(name: str) -> list[list[str]]:
    """The lines of the README's blocks that run `name`, as words; comments left out."""
    lines = "\n".join(blocks("", "sh", "bash", "shell", "console")).replace("\\\n", " ").splitlines()
    typed = [PROMPT.sub("", line) for line in lines]
    return [shlex.split(line, comments=True) for line in typed if line.split()[:1] == [name]]


def help_of(command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What `command --help` prints; nothing, when there is no such command."""
    monkeypatch.setattr(sys, "argv", [*command, "--help"])
    monkeypatch.setenv("COLUMNS", "240")
    with contextlib.suppress(SystemExit):
        main()
    return capsys.readouterr().out


def test_the_two_commands_are_there() -> None:
    assert {words[1] for words in commands("make")} >= {"demo", "test"}


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    assert {words[1] for words in commands("make")} - targets == set()


def test_every_baton_command_and_its_options_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands("baton")
    for words in commands("baton"):
        shown = help_of(words[:2], monkeypatch, capsys)
        assert "--help" in shown, f"{' '.join(words[:2])}: no such command"
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        assert [option for option in options if option not in shown] == [], " ".join(words)


def test_every_command_is_told_of() -> None:
    assert [name for name in COMMANDS if not re.search(rf"`?baton {name}\b", README)] == []


def test_every_reader_of_a_file_format_is_told_of() -> None:
    told = {reader for suffix, reader in READERS.items() if re.search(rf"{re.escape(suffix)}\b", README)}
    assert {reader.__name__ for reader in READERS.values()} - {reader.__name__ for reader in told} == set()


def test_the_python_blocks_are_python() -> None:
    assert blocks("python")
    for body in blocks("python"):
        compile(body, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_python_blocks_import_what_there_is() -> None:
    names = [name for body in blocks("python") for name in imported_from_graph(body)]
    assert names
    assert [name for name in names if not hasattr(graph, name)] == []


def imported_from_graph(body: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(body)):
        if isinstance(node, ast.ImportFrom) and node.module == "graph":
            yield from (alias.name for alias in node.names)


def test_the_files_it_links_to_exist() -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []
