"""What a task costs, counted and not timed: these figures may fall, and none may rise.

Counted are the statements that reach the database file, what pydantic validates, and the calls of the interpreter.
"""

import asyncio
import cProfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from graph.sqlite import connection
from nodes.runtime import journal, listener
from state.agent import Brief
from tests.runs import agent, opened, plan

COUNTED = {
    "visits": "BEGIN",
    "transactions": "BEGIN IMMEDIATE",
    "supersteps": "INSERT OR REPLACE INTO checkpoints",
    "@tasks": "__return__",
    "rows": "INSERT",
}
"""What stands in the statements that are counted."""
MOST = {
    "one": {
        "rows": 95,
        "visits": 46,
        "transactions": 26,
        "trips": 45,
        "supersteps": 8,
        "@tasks": 1,
        "validations": 60,
        "bytes": 120_000,
    },
    "chain": {
        "rows": 134,
        "visits": 84,
        "transactions": 65,
        "trips": 63,
        "supersteps": 8,
        "@tasks": 20,
        "validations": 18,
        "bytes": 14_400,
    },
    "wide": {
        "rows": 150,
        "visits": 98,
        "transactions": 78,
        "trips": 50,
        "supersteps": 8,
        "@tasks": 50,
        "validations": 17,
        "bytes": 11_000,
    },
}
"""By plan: the most there may be of each in a run; validations and bytes are those for each of its tasks. Trips are
visits to the database's thread.

A little above what is found, for the moments at which writes happen to meet; far below what one thing more for each
task would add.
"""


async def works(brief: Brief, desk: Any) -> str:
    return f"finding of {brief.task.id}"


def chain(count: int) -> dict[str, Any]:
    """Tasks that each wait for the one before."""
    return plan("t0", *(f"t{n} <- t{n - 1}" for n in range(1, count)))


def wide(count: int) -> dict[str, Any]:
    """Tasks that wait for nobody."""
    return plan(*(f"t{n}" for n in range(count)))


PLANS = {"one": wide(1), "chain": chain(20), "wide": wide(50)}


@pytest.fixture(autouse=True)
def nothing_happens_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOMENT_S", 3600)
    monkeypatch.setattr(listener, "POLL_S", 3600)
    monkeypatch.setattr(connection, "MOMENT_S", 3600)


@pytest.mark.of_files
@pytest.mark.parametrize("name", PLANS)
async def test_a_run_takes_no_more_of_anything_than_was_recorded(name: str, tmp_path: Path) -> None:
    found: Counter[str] = Counter()

    def count(statement: str) -> None:
        found.update(what for what, mark in COUNTED.items() if mark in statement)

    async with opened(agent(works), db=tmp_path / "runs.db") as sup:
        saver = sup.graph.checkpointer
        assert isinstance(saver, SqliteSaver)
        saver.conn.set_trace_callback(count)
        with cProfile.Profile() as profile:
            run = await sup.start("Q", plan=PLANS[name])
        saver.conn.set_trace_callback(None)
    made = Counter({str(entry.code): entry.callcount for entry in profile.getstats()})
    validated = sum(count for code, count in made.items() if "validate_python" in code)
    found["trips"] = sum(count for code, count in made.items() if "'put' of '_queue.SimpleQueue'" in code)
    found.update({"validations": validated // len(run.tasks), "bytes": size_of(tmp_path) // len(run.tasks)})

    assert run.status == "complete"
    assert {what: (found[what], most) for what, most in MOST[name].items() if found[what] > most} == {}
    assert found["@tasks"] == len(run.tasks)


def size_of(folder: Path) -> int:
    """Bytes of the database, with what stands in its log."""
    return sum(file.stat().st_size for file in folder.glob("runs.db*"))


async def calls_per_task(tasks: dict[str, Any], folder: Path) -> float:
    """Calls of functions, Python's and C's, that a run makes for each of its tasks."""
    count = len(tasks["tasks"])
    async with opened(agent(works), db=folder / f"{count}.db", max_parallel=100) as sup:
        with cProfile.Profile() as profile:
            run = await sup.start("Q", plan=tasks)
    assert run.status == "complete"
    return sum(entry.callcount for entry in profile.getstats()) / count


@pytest.mark.parametrize("shape", [chain, wide])
@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.campaign)])
async def test_a_task_among_many_costs_no_more_than_one_among_few(
    shape: Callable[[int], dict[str, Any]], count: int, tmp_path: Path
) -> None:
    few, many = await calls_per_task(shape(100), tmp_path), await calls_per_task(shape(count), tmp_path)

    assert many <= 1.15 * few


@pytest.mark.of_files
async def test_a_finished_task_costs_little_where_its_run_is_taken_up_again(tmp_path: Path) -> None:
    is_there = asyncio.Event()

    async def stops(brief: Brief, desk: Any) -> str:
        if brief.task.id == "last" and not is_there.is_set():
            is_there.set()
            await asyncio.Event().wait()
        return await works(brief, desk)

    tasks = plan(*(f"t{n}" for n in range(100)), "last <- " + " ".join(f"t{n}" for n in range(100)))
    async with opened(agent(stops), db=tmp_path / "runs.db", max_parallel=200) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=tasks))
        await is_there.wait()
        running.cancel()
        await asyncio.wait({running})
        with cProfile.Profile() as profile:
            run = await sup.resume("t")

    assert run.status == "complete"
    assert sum(entry.callcount for entry in profile.getstats()) / 101 < MOST_OF_A_RESUME


MOST_OF_A_RESUME = 900
"""Calls of the interpreter for each finished task; a @task called for it would add 400."""
