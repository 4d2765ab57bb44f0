"""A process that stood still while another one took its run over writes nothing more, and stops."""

import asyncio
import gc
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.store.base import Op, PutOp, Result

from graph.lease import LEASE_S, Leases
from graph.testing import HeldClock
from state.agent import Brief
from state.errors import LeaseLost, ThreadBusy
from state.signal import Pause
from tests.graph.zombies import EFFECTS, TAKEN_OVER, Works, zombie_story
from tests.runs import agent, opened, plan


def change_lease(db: str | Path = "runs.db", **fields: Any) -> None:
    """Change the row of the lease of thread t."""
    with sqlite3.connect(db) as file:
        (row,) = file.execute("SELECT value FROM store WHERE key = 'lease'").fetchone()
        file.execute("UPDATE store SET value = ? WHERE key = 'lease'", [json.dumps({**json.loads(row), **fields})])
    file.close()


def take_away(address: str) -> None:
    """End the lease of thread t, as another process does that takes its holder for dead."""
    if "://" not in address:
        change_lease(address, until=0)  # it has stood still for longer than any process may
        return
    with psycopg.connect(address, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchall()
    assert ended == [(True,)]


def take_from_outside(address: str) -> None:
    """The same, where the holder does nothing that would tell it so."""
    if "://" in address:
        take_away(address)
    else:
        change_lease(address, owner="somebody")


class EightEffects:
    """An agent that does eight things; before the fourth it stands still, the first time."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.stands, self.goes_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, brief: Brief, desk: Any) -> str:
        for name in EFFECTS:
            if name == "3" and not self.stands.is_set():
                self.stands.set()
                await self.goes_on.wait()
            await desk.once(name, self.do, {"what": name})
        return "done"

    async def do(self, what: str) -> str:
        self.done.append(what)
        return what


async def test_whoever_was_taken_over_does_nothing_more_and_says_so(address: str) -> None:
    work, printed = EightEffects(), list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, what: printed.append(what))
    async with opened(agent(work), db=address) as stopped, opened(agent(work), db=address) as other:
        first = asyncio.create_task(stopped.start("Q", thread_id="t", plan=plan("a")))
        await work.stands.wait()
        take_away(address)
        run = await other.resume("t")
        events = await other.events("t")
        work.goes_on.set()
        with pytest.raises(LeaseLost, match="thread t was taken over by another process"):
            await first
        after = await other.events("t")
    del first
    gc.collect()

    assert (run.status, work.done, after, printed) == ("complete", EFFECTS, events, [])


async def test_whoever_stood_still_between_intent_and_side_effect_looks_at_its_lease_again(address: str) -> None:
    clock, done = HeldClock(), list[str]()

    async def works(brief: Brief, desk: Any) -> str:
        def do(what: str) -> None:
            done.append(what)

        await desk.once("act", do, {"what": "it"})
        return "done"

    async with opened(agent(works), db=address, clock=clock) as sup:
        assert sup.graph.store
        abatch = sup.graph.store.abatch

        async def stands_still(ops: Iterable[Op]) -> list[Result]:
            written = await abatch(given := list(ops))
            if any(isinstance(op, PutOp) and "effects" in op.namespace for op in given) and not clock.slept:
                take_away(address) if "://" in address else change_lease(owner="somebody")
                await clock.sleep(60)
            return written

        sup.graph.store.abatch = stands_still  # type: ignore[method-assign]
        with pytest.raises(LeaseLost):
            await sup.start("Q", thread_id="t", plan=plan("a"))

    assert done == []


async def test_whoever_was_taken_over_and_notices_by_itself_is_cut_off_where_it_is(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.sqlite.lease.HEARTBEAT_S", 0.01)
    monkeypatch.setattr("graph.postgres.session.HEARTBEAT_S", 0.01)
    began, cut = asyncio.Event(), asyncio.Event()

    async def hangs(brief: Brief, desk: Any) -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()
        return ""

    async with opened(agent(hangs), db=address) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
        await began.wait()
        take_from_outside(address)
        with pytest.raises(LeaseLost):
            await running

    assert (cut.is_set(), running.cancelled()) == (True, False)


async def test_a_cancelled_task_stays_cancelled_also_where_the_lease_is_lost(address: str) -> None:
    began = asyncio.Event()

    async def hangs(brief: Brief, desk: Any) -> str:
        began.set()
        await asyncio.Event().wait()
        return ""

    async with opened(agent(hangs), db=address) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await sup._runs.leases.holder("t") is None


async def test_work_that_an_agent_has_begun_and_that_outlives_its_run_is_another_runs(address: str) -> None:
    later = asyncio.Event()
    begun: list[asyncio.Task[Any]] = []

    async def begins(brief: Brief, desk: Any) -> str:
        async def another() -> str:
            await later.wait()
            await sup.signal("other", Pause())
            return (await sup.resume("other")).status

        begun.append(asyncio.create_task(another()))
        return "begun"

    async with opened(agent(begins), agent(asks, "eve", "asker"), db=address) as sup:
        await sup.start("Q", thread_id="other", plan=plan({"id": "a", "role": "asker"}))
        await sup.start("Q", thread_id="t", plan=plan("a"))
        later.set()
        assert await begun[0] == "waiting"


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch")).type)


@pytest.mark.of_files
async def test_a_lease_of_another_machine_is_watched_by_the_clock_of_who_wants_it() -> None:
    """Whatever the other's clock says: it may be an hour ahead, or behind."""
    clock = HeldClock()
    async with opened(clock=clock) as sup, opened(clock=clock) as elsewhere, elsewhere._runs.leases.hold("t"):
        for wrong in (-3600, 3600):
            change_lease(host="elsewhere", until=clock.time + wrong)
            seen = [await taken(sup._runs.leases)]
            clock.time += LEASE_S - 1
            seen.append(await taken(sup._runs.leases))
            change_lease(host="elsewhere", until=clock.time + wrong + 1)  # it was renewed
            clock.time += 2
            seen.append(await taken(sup._runs.leases))
            assert seen == [False, False, False]
        clock.time += LEASE_S
        assert await taken(sup._runs.leases)


async def taken(leases: Leases) -> bool:
    try:
        async with leases.hold("t", patience_s=0):
            return True
    except ThreadBusy:
        return False


async def test_a_zombie_does_no_effect_twice_and_says_that_it_was_taken_over(tmp_path: Path, address: str) -> None:
    told = await zombie_story(tmp_path, address, Works(stops_after=3), take_away)

    assert told
    assert (told.second, sorted(told.done), told.code, told.events_after) == ("complete", EFFECTS, 1, 0)
    assert [line.split(" while")[0] for line in told.first.splitlines()] == [TAKEN_OVER]
