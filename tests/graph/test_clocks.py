"""Clocks that do not agree: what a process writes last is what its run goes on from, whatever time it was elsewhere."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.base import id as ids

from graph.checkpoint_ids import keep_ids_above
from state.agent import Brief
from tests.runs import agent, opened, plan


class Ahead:
    """The time, as a process has it whose clock is ahead."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def time_ns(self) -> int:
        return time.time_ns() + int(self.seconds * 1e9)


@pytest.fixture
def died_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids as of a process whose clock was two minutes ahead; the next process knows nothing of it."""
    monkeypatch.setattr(ids, "time", Ahead(120))
    monkeypatch.setattr(ids, "_last_v6_timestamp", None)


def is_in_order(db: Path) -> bool:
    """Whether every checkpoint's id is above its parent's."""
    with closing(sqlite3.connect(db)) as file:
        rows = file.execute("SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints").fetchall()
    return len(rows) > 3 and all(parent is None or own > parent for own, parent in rows)


@pytest.mark.of_files
@pytest.mark.usefixtures("died_ahead")
async def test_a_run_of_a_process_whose_clock_was_ahead_goes_on_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATON_KEEP_HISTORY", "true")
    done, begun = [], asyncio.Event()

    async def work(brief: Brief, desk: object) -> str:
        done.append(brief.task.id)
        if done == ["a", "b"]:
            begun.set()
            await asyncio.Event().wait()
        return f"{brief.task.id} is done"

    async with opened(agent(work), db=tmp_path / "runs.db") as sup:
        running = asyncio.create_task(sup.start("Do it.", thread_id="a", plan=plan("a", "b <- a")))
        await begun.wait()
        running.cancel()
        await asyncio.wait([running])
    monkeypatch.setattr(ids, "time", time)
    monkeypatch.setattr(ids, "_last_v6_timestamp", None)

    async with opened(agent(work), db=tmp_path / "runs.db") as sup:
        run = await sup.resume("a")
        assert (run.status, (await sup.view("a")).status, done) == ("complete", "complete", ["a", "b", "b"])
    assert is_in_order(tmp_path / "runs.db")


@pytest.mark.usefixtures("died_ahead")
def test_an_id_that_no_clock_can_have_made_changes_nothing_for_others() -> None:
    before = ids.uuid6()
    for wrong in ("ffffffff-ffff-6fff-bfff-ffffffffffff", "", "x", "1ef4f797-8335-4428-8001-8a1503f9b875"):
        keep_ids_above(wrong)
    assert before.time < ids.uuid6().time < before.time + 10**9
