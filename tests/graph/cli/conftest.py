"""The console entry in this process, and something small to work on."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph.cli import main


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """The JSON lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


Baton = Callable[..., Said]


@pytest.fixture
def baton(capsys: pytest.CaptureFixture[str]) -> Baton:
    """Runs a command as the console script does."""

    def run(*words: str) -> Said:
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.fixture
def tea(tmp_path: Path) -> str:
    """A folder of sources."""
    folder = tmp_path / "tea"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea contains about 30 mg of caffeine per cup.\n")
    (folder / "coffee.md").write_text("# Coffee\n\nCoffee contains about 95 mg of caffeine per cup.\n")
    return str(folder)


@pytest.fixture
def publishing(tmp_path: Path) -> str:
    """A plan whose last task asks a human."""
    path = tmp_path / "publishing.yaml"
    path.write_text(
        "tasks:\n"
        "- {id: find, description: Find how much caffeine tea has, role: researcher, kind: research}\n"
        "- {id: tell, description: Publish the answer, role: publisher, kind: action, action: publish,"
        " depends_on: [find]}\n"
    )
    return str(path)
