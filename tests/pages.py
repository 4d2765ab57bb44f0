"""The pages that people read, and their blocks of code, which are tried as they stand.

A block with a title in its first line, such as `yaml title=team.yaml`, is a file. `sh` is typed, `python` is run;
`console` is what cannot be tried without a network, a server or a package to install.
"""

import ast
import asyncio
import inspect
import re
import shlex
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.house.tracked import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)(?: title=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\s*(?:\.venv/bin/)?(?=(?:make|baton)\b)")
ENDS = re.compile(r"# exit (\d)")


@dataclass(frozen=True)
class Block:
    """A block of code."""

    language: str
    title: str
    """The name of the file that it is, or nothing."""
    body: str

    @property
    def lines(self) -> list[str]:
        """What is typed, line by line."""
        return [PROMPT.sub("", line) for line in self.body.replace("\\\n", " ").splitlines() if line.strip()]


def blocks(page: Path, *languages: str) -> list[Block]:
    """Its blocks in order; of these languages, where some are named."""
    found = [Block(*match) for match in BLOCK.findall(page.read_text("utf-8"))]
    return [block for block in found if not languages or block.language in languages]


def typed(page: Path, name: str) -> list[list[str]]:
    """The lines of a page that run a command of this name, as words; comments left out."""
    lines = [line for block in blocks(page, "sh", "console") for line in block.lines]
    return [shlex.split(line, comments=True) for line in lines if line.split()[:1] == [name]]


def marked(paths: Iterable[Path], at_once: Container[str]) -> list[Any]:
    """Each path as a case: those named in `at_once` for `make test`, the others for a campaign."""
    return [
        pytest.param(path, id=path.stem, marks=() if path.stem in at_once else pytest.mark.campaign) for path in paths
    ]


def run_block(body: str) -> None:
    """Run Python as a cell of a notebook does: `await` may stand outside of functions."""
    code = compile(body, "a block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    awaited = eval(code, {"__name__": "__main__"})  # noqa: S307 # our own page
    if inspect.iscoroutine(awaited):
        asyncio.run(awaited)
