"""What stays of a run when it has ended, and forgetting old ones beside those that are at work."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from graph.address import address_of
from graph.database import open_database
from graph.pruning import ENDS, find_old, prune
from graph.reading import Reading, tell_damaged
from graph.sqlite.lease import Leases
from graph.sqlite.pruning import give_space_back, size
from graph.testing import HeldClock
from nodes.runtime.audit import Seals
from state.agent import AgentSpec, Brief
from state.errors import ThreadUnknown
from tests import postgres
from tests.runs import agent, opened, plan

LATER = 1e12


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch", risk="medium")).type)


def rows(db: str = "runs.db", thread: str = "%") -> dict[str, int]:
    """How many rows each table has for threads of that name."""
    return {
        table: postgres.count(db, f"SELECT count(*) FROM {table} WHERE {column} LIKE ?", name)
        for table, column, name in [
            ("checkpoints", "thread_id", f"{thread}%"),
            ("writes", "thread_id", f"{thread}%"),
            (
                "store",
                "prefix NOT LIKE 'trust.%' AND prefix NOT LIKE 'episodes%' AND prefix || '/' || key",
                f"%{thread}%",
            ),  # of agents, and of what was learned
        ]
    }


def nested() -> AgentSpec:
    """An agent that is a supervisor: it has threads below that of the run."""
    from graph.app import build_supervisor  # noqa: PLC0415 # it reads the settings

    return AgentSpec(name="inner", role="inner", run=build_supervisor(team=[agent()]))


async def reading_of(database: Any, clock: Any) -> Reading:
    return Reading(database, database.leases(clock), clock, ["ada"], Seals())


async def test_of_a_run_that_has_ended_only_its_last_checkpoint_stays() -> None:
    async with opened(agent(), agent(asks, role="asks", name="cy")) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a", "b <- a"))
        await sup.start("Q", thread_id="open", plan=plan("a", {"id": "b", "role": "asks"}))
        assert rows(thread="t") | {"store": 0} == {"checkpoints": 1, "writes": 0, "store": 0}
        assert rows(thread="open")["checkpoints"] > 2
        run = await sup.view("t")
        assert (run.status, [task.result for task in run.tasks]) == ("complete", ["a is done", "b is done"])

        again = await sup.start("And now?", thread_id="t", plan=plan("c"))
        assert (again.status, [task.id for task in again.tasks]) == ("complete", ["c"])


async def test_all_checkpoints_stay_where_they_are_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_KEEP_HISTORY", "true")
    async with opened() as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))

    assert rows(thread="t")["checkpoints"] > 3


async def test_a_forgotten_run_leaves_the_record_of_its_approvals_and_nothing_else() -> None:
    clock = HeldClock()
    async with opened(agent(asks), clock=clock) as sup:
        for thread in ("old", "new", "open"):
            await sup.start("Q", thread_id=thread, plan=plan("a"))
        await sup.answer("old", True, by="ana")
        clock.time += 100
        await sup.answer("new", True)
        async with open_database(address_of("runs.db")) as database:
            reading = await reading_of(database, clock)
            found = await find_old(reading, clock.now() - 50, ENDS, tell_damaged)
            gone = [(old.thread_id, is_gone) async for old, is_gone in prune(reading, found, with_audit=False)]

        assert gone == [("old", True)]
        kept = [place for place in await sup.graph.store.alist_namespaces(limit=100) if "old" in place]  # type: ignore[union-attr]
        assert {place[0] for place in kept} <= {"audit", "audit_head", "episodes"}
        assert rows(thread="old")["checkpoints"] == rows(thread="old")["writes"] == 0
        entries, broken = await sup.audit("old")
        assert ([entry.kind for entry in entries], broken) == (["requested", "answered"], "")
        with pytest.raises(ThreadUnknown):
            await sup.view("old")
        assert [run.thread_id for run in await sup.runs(only_open=True)] == ["open"]
        assert {run.thread_id for run in await sup.runs()} == {"new", "open"}
        assert (await sup.answer("open", True)).status == "complete"


async def test_threads_below_go_with_their_thread_and_those_beside_it_stay() -> None:
    async with opened(nested()) as sup:
        for thread in ("first", "second"):
            await sup.start("Q", thread_id=thread, plan=plan({"id": "a", "role": "inner"}))
    before = rows(thread="second")
    async with open_database(address_of("runs.db")) as database:
        reading = await reading_of(database, HeldClock())
        chosen = [old for old in await find_old(reading, LATER, ENDS, tell_damaged) if old.thread_id == "first"]
        assert [is_gone async for _, is_gone in prune(reading, chosen, with_audit=True)] == [True]

    assert rows(thread="first") == {"checkpoints": 0, "writes": 0, "store": 0}
    assert rows(thread="second") == before


async def test_a_run_that_somebody_goes_on_with_is_left_alone() -> None:
    began, free = asyncio.Event(), asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        began.set()
        await free.wait()
        return "So."

    clock = HeldClock()
    async with opened(agent(work), clock=clock) as sup:
        free.set()
        await sup.start("Q", thread_id="t", plan=plan("a"))
        free.clear()
        began.clear()
        clock.time += 1
        async with open_database(address_of("runs.db")) as database:
            reading = await reading_of(database, HeldClock())
            chosen = await find_old(reading, LATER, ENDS, tell_damaged)
            running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
            await began.wait()
            assert [is_gone async for _, is_gone in prune(reading, chosen, with_audit=True)] == [False]
            free.set()
            assert (await running).status == "complete"
            assert [is_gone async for _, is_gone in prune(reading, chosen, with_audit=True)] == [False]


@pytest.mark.of_files
async def test_a_file_that_was_not_made_to_shrink_is_rewritten_when_nobody_is_at_work() -> None:
    with closing(sqlite3.connect("runs.db")) as old:
        old.execute("PRAGMA journal_mode=WAL")
    async with opened() as sup:
        await sup.start("Q " + "long " * 15_000, thread_id="t", plan=plan("a"))
    async with open_database(Path("runs.db")) as database:
        await database.checkpointer.adelete_thread("t")
        before = await size(database.connection)
        async with Leases(database.connection, HeldClock()).hold("another"):
            assert not await give_space_back(database.connection)
        assert await give_space_back(database.connection)
        assert await size(database.connection) < before
