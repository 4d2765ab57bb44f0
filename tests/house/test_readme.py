"""What the pages tell people to type exists, and the README stays short."""

import ast
import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graph
from graph.cli import main
from graph.cli.main import COMMANDS
from nodes.tools.readers.table import READERS
from tests.house.tracked import ROOT, shown
from tests.pages import PAGES, blocks, typed

each_page = pytest.mark.parametrize("page", PAGES, ids=shown)


def help_of(command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What `command --help` prints; nothing, when there is no such command."""
    monkeypatch.setattr(sys, "argv", [*command, "--help"])
    monkeypatch.setenv("COLUMNS", "240")
    with contextlib.suppress(SystemExit):
        main()
    return capsys.readouterr().out


def test_the_two_commands_are_there() -> None:
    assert {words[1] for words in typed(ROOT / "README.md", "make")} >= {"demo", "test"}


@each_page
def test_every_make_target_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    assert {words[1] for words in typed(page, "make")} - targets == set()


@each_page
def test_every_baton_command_and_its_options_exist(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in typed(page, "baton"):
        shown_help = help_of(words[:2], monkeypatch, capsys)
        assert "--help" in shown_help, f"{' '.join(words[:2])}: no such command"
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        assert [option for option in options if option not in shown_help] == [], " ".join(words)


def test_every_command_is_told_of() -> None:
    told = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    assert [name for name in COMMANDS if not re.search(rf"`?baton {name}\b", told)] == []


def test_every_reader_of_a_file_format_is_told_of() -> None:
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    told = {reader.__name__ for suffix, reader in READERS.items() if f"`{suffix}`" in page}
    assert {reader.__name__ for reader in READERS.values()} - told == set()


@each_page
def test_the_python_blocks_are_python_and_import_what_there_is(page: Path) -> None:
    bodies = [block.body for block in blocks(page, "python")]
    for body in bodies:
        compile(body, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = [name for body in bodies for name in imported_from_graph(body)]
    assert [name for name in names if not hasattr(graph, name)] == []


def imported_from_graph(body: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(body)):
        if isinstance(node, ast.ImportFrom) and node.module == "graph":
            yield from (alias.name for alias in node.names)


@each_page
def test_the_files_it_links_to_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [shown(page) for page in PAGES[1:] if f"]({shown(page)})" not in readme] == []


def test_what_others_do_not_do_is_held_by_tests_that_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "README.md").read_text("utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
