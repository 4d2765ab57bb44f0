"""What the pages in `docs` and the README tell people to type and to write works, as it stands there."""

import asyncio
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph.cli import main
from tests.house.tracked import ROOT, shown
from tests.pages import ENDS, PAGES, Block, blocks, marked, run_block
from tests.servers import forks

STORIES = [page for page in PAGES if any("def test_" not in one.body for one in blocks(page, "sh", "python"))]
AT_ONCE = ("README", "agents")
"""Pages that `make test` follows; the others are for a campaign."""


def functions_in(page: Path) -> Iterator[tuple[str, Any]]:
    """Each test function of the page's blocks, with its name; a block is a module of its own."""
    for block in blocks(page, "python"):
        if "def test_" in block.body:
            names: dict[str, Any] = {"__name__": page.stem}
            exec(compile(block.body, str(page), "exec"), names)  # noqa: S102 # our own page
            yield from ((name, value) for name, value in names.items() if name.startswith("test_"))


TESTS = [(shown(page), name, test) for page in PAGES for name, test in functions_in(page)]


def test_every_block_of_the_page_on_testing_is_a_test() -> None:
    found = blocks(ROOT / "docs" / "testing-a-team.md", "python")
    assert found
    assert [block.body for block in found if "def test_" not in block.body] == []


@pytest.mark.parametrize(("page", "name", "test"), TESTS, ids=[name for _, name, _ in TESTS])
def test_what_a_page_shows_holds(page: str, name: str, test: Any, tmp_path: Path) -> None:
    given = {"tmp_path": tmp_path} if "tmp_path" in inspect.signature(test).parameters else {}
    asyncio.run(test(**given))


@pytest.mark.parametrize("page", marked(STORIES, AT_ONCE))
def test_a_page_can_be_followed_from_its_top_to_its_end(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.title).write_text(block.body, "utf-8")
        elif block.language == "sh":
            _type(block, tmp_path)
        elif block.language == "python" and "def test_" not in block.body:
            done = forks.run(run_block, block.body, given="yes\n", cwd=tmp_path)
            assert done.returncode == 0, f"{block.body}\n{done.stderr}"


def _type(block: Block, folder: Path) -> None:
    for line in block.lines:
        words = shlex.split(line, comments=True)
        if words[0] == "make":  # needs a network; what it runs is tested
            continue
        assert words[0] == "baton", line
        written = folder / words[words.index(">") + 1] if ">" in words else None
        done = forks.run(main, words[1 : words.index(">")] if written else words[1:], cwd=folder)
        if written:
            written.write_text(done.stdout, "utf-8")
        [expected] = re.findall(ENDS, line) or ["0"]
        assert done.returncode == int(expected), f"{line}\n{done.stdout}\n{done.stderr}"
