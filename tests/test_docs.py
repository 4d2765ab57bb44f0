"""The tests that the pages in `docs` show are tests, and pass."""

import asyncio
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.house.tracked import ROOT, shown

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def functions_in(page: Path) -> Iterator[tuple[str, Any]]:
    """Each test function of the page's blocks, with its name; a block is a module of its own."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        names: dict[str, Any] = {"__name__": page.stem}
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block.group(1), str(page), "exec"), names)  # noqa: S102 # our own page
        yield from ((name, value) for name, value in names.items() if name.startswith("test_"))


TESTS = [
    (shown(page), name, test) for page in sorted((ROOT / "docs").glob("*.md")) for name, test in functions_in(page)
]


def test_every_block_of_the_page_on_testing_is_a_test() -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "testing-a-team.md").read_text(encoding="utf-8"))
    assert blocks
    assert [block for block in blocks if "def test_" not in block] == []


@pytest.mark.parametrize(("page", "name", "test"), TESTS, ids=[name for _, name, _ in TESTS])
def test_what_a_page_shows_holds(page: str, name: str, test: Any, tmp_path: Path) -> None:
    given = {"tmp_path": tmp_path} if "tmp_path" in inspect.signature(test).parameters else {}
    asyncio.run(test(**given))
