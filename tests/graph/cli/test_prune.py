"""`baton prune`: what it says, and what it gives back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nodes.runtime.clock import SystemClock
from state.agent import Brief
from tests.graph.cli.conftest import Baton
from tests.runs import agent, opened, plan


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch", risk="medium")).type)


@pytest.mark.of_files
def test_the_command_says_what_would_go_and_gives_the_space_back(baton: Baton) -> None:
    async def fill() -> None:
        async with opened(agent(), agent(asks, role="asks", name="cy"), clock=SystemClock()) as sup:
            for n in range(8):
                await sup.start("Q " + "long " * 4000, thread_id=f"done {n}", plan=plan("a"))
            await sup.start("Q", thread_id="asked", plan=plan({"id": "a", "role": "asks"}))

    asyncio.run(fill())
    before = Path("runs.db").stat().st_size

    assert baton("prune", "--db", "runs.db").err.startswith("0 runs forgotten, ")
    said = baton("prune", "--db", "runs.db", "--keep-days", "0", "--dry-run", "--json")
    assert (
        [run["status"] for run in said.lines[0]["runs"]],
        len(baton("runs", "--db", "runs.db", "--json").lines[0]),
    ) == (["complete"] * 8, 9)
    said = baton("prune", "--db", "runs.db", "--keep-days", "0")
    assert (said.code, said.out.count("done "), said.err.startswith("8 runs forgotten, ")) == (0, 8, True)
    assert Path("runs.db").stat().st_size < before / 2
    assert [run["thread_id"] for run in baton("runs", "--db", "runs.db", "--json").lines[0]] == ["asked"]

    assert (
        "'running' is no status of runs that can be pruned"
        in baton("prune", "--status", "running", "--db", "runs.db").err
    )
    assert baton("prune", "--db", "runs.db", "--keep-days", "0", "--status", "waiting").code == 0
    assert baton("runs", "--db", "runs.db", "--json").lines == [[]]


def test_files_go_where_they_are_to_and_what_stays_is_said(baton: Baton) -> None:
    async def fill() -> None:
        async with opened(clock=SystemClock()) as sup:
            for thread in ("first", "second"):
                await sup.start("Q", thread_id=thread, plan=plan("a"))
                folder = Path("artifacts") / thread
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "long.txt").write_text("x" * 200_000)
                (folder / "link").symlink_to(outside)

    outside = Path("outside").resolve()
    for folder in ("outside", "artifacts/other"):
        Path(folder).mkdir(parents=True)
    Path("outside/kept.txt").write_text("mine")
    asyncio.run(fill())

    said = baton("prune", "--db", "runs.db", "--keep-days", "0", "--dry-run")
    assert "0.4 MB of their files below " in said.err
    assert "stay; --files deletes them, too" in said.err
    assert baton("prune", "--db", "runs.db", "--keep-days", "0", "--dry-run", "--files", "--json").lines[0]["files"]
    assert baton("prune", "--db", "runs.db", "--keep-days", "0", "--files").err.splitlines()[-1].endswith(" deleted")
    assert [path.name for path in Path("artifacts").iterdir()] == ["other"]
    assert Path("outside/kept.txt").read_text() == "mine"


@pytest.mark.of_files
def test_a_database_that_is_not_there_is_not_made(baton: Baton) -> None:
    assert baton("prune", "--db", "none.db").code == 2
    assert not Path("none.db").exists()
