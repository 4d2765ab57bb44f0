"""One process runs a thread at a time; what a dead process held is free at once."""

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from graph.lease import LATEST_S, LEASE_S, PATIENCE_S
from graph.supervisor import Supervisor
from graph.testing import HeldClock
from state.agent import Brief
from state.errors import DatabaseUnusable, ThreadBusy
from tests.runs import agent, opened, plan


@asynccontextmanager
async def running(sup: Supervisor, thread: str, began: asyncio.Event, free: asyncio.Event) -> AsyncIterator[None]:
    """A run that works for as long as it lasts."""
    task = asyncio.create_task(sup.start("Q", thread_id=thread, plan=plan("a", "b <- a")))
    await began.wait()
    try:
        yield
    finally:
        free.set()
        await task


async def test_a_thread_that_is_being_run_cannot_be_run_again_here_or_by_another_process(address: str) -> None:
    began, free = asyncio.Event(), asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        began.set()
        await free.wait()
        return "So."

    async with (
        opened(agent(work), db=address) as sup,
        opened(agent(work), db=address) as other,
        running(sup, "t", began, free),
    ):
        for one in (sup, other):
            with pytest.raises(ThreadBusy, match="thread t is being run by process"):
                await one.start("Q", thread_id="t", plan=plan("z"))
            with pytest.raises(ThreadBusy, match="being run"):
                await one.resume("t")
        seen = await other.view("t")
        elsewhere = asyncio.create_task(other.start("Q", thread_id="u", plan=plan("z")))
        free.set()
        assert (await elsewhere).status == "complete"

    assert (seen.status, seen.phase) == ("running", "executing")
    assert [(task.id, task.status, task.agent) for task in seen.tasks] == [
        ("a", "running", "ada"),
        ("b", "pending", "ada"),
    ]


async def test_a_lease_ends_with_its_run(address: str) -> None:
    async with opened(db=address) as sup, opened(db=address) as other:
        await sup.start("Q", thread_id="t", plan=plan("a"))

        assert (await other.start("Q", thread_id="t", plan=plan("a"))).status == "complete"


class Waiting(HeldClock):
    """A clock on which nobody wakes before `is_over`: the databases answer in time of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.is_over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Move on, then wait."""
        await super().sleep(seconds)
        await self.is_over.wait()


async def test_who_comes_while_somebody_only_applies_a_deadline_waits_for_that_moment(address: str) -> None:
    clock = Waiting()
    async with opened(clock=clock, db=address) as sup, opened(clock=clock, db=address) as other:
        async with other._runs.leases.hold("t"):
            starting = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
            while not clock.slept:  # noqa: ASYNC110 # what is awaited is a clock
                await asyncio.sleep(0)
        clock.is_over.set()
        run = await starting

    assert (run.status, sum(clock.slept) < PATIENCE_S) == ("complete", True)


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


async def started_under_lease(until: float, now: float, **holder: JsonValue) -> str:
    """What becomes of a start on a thread on which there is a lease."""
    here: dict[str, JsonValue] = {"host": socket.gethostname(), "pid": os.getpid(), "born": "0", "owner": "somebody"}
    async with opened(clock=HeldClock(start=now)) as sup:
        assert sup.graph.store
        await sup.graph.store.aput(("leases", "t"), "lease", {**here, "until": until, **holder})
        try:
            return (await sup.start("Q", thread_id="t", plan=plan("a"))).status
        except ThreadBusy:
            return "busy"


async def test_the_lease_of_a_dead_process_is_free_at_once() -> None:
    assert await started_under_lease(until=1100, now=1000, pid=dead_process()) == "complete"


@contextmanager
def ended_process() -> Iterator[tuple[int, str]]:
    """A process that has ended and that nobody has asked about: its entry is still there. Its number and its birth."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    born = birth_of(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid, born
    process.communicate()


@pytest.mark.of_files
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells by /proc")
async def test_a_lease_that_a_failing_disk_kept_from_being_given_back_is_free_to_its_process_at_once() -> None:
    fails = asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        if not fails.is_set():
            fails.set()
            connection_of(sup).execute("PRAGMA query_only=1")
        return "So."

    async with opened(agent(work)) as sup:
        with pytest.raises(DatabaseUnusable, match="readonly"):
            await sup.start("Q", thread_id="t", plan=plan("a"))
        connection_of(sup).execute("PRAGMA query_only=0")
        assert (await sup.resume("t")).status == "complete"


@pytest.mark.of_files
async def test_a_lease_is_renewed_again_when_the_disk_works_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.sqlite.lease.HEARTBEAT_S", 0.01)
    clock = HeldClock()
    async with opened(clock=clock) as sup, sup._runs.leases.hold("t"):
        connection_of(sup).execute("PRAGMA query_only=1")
        await asyncio.sleep(0.05)
        connection_of(sup).execute("PRAGMA query_only=0")
        clock.time += 3600
        async with asyncio.timeout(30):
            while lease_of_t()["until"] < clock.time:  # noqa: ASYNC110 - the file is asked
                await asyncio.sleep(0.01)


def connection_of(sup: Supervisor) -> sqlite3.Connection:
    store: Any = sup.graph.store
    connection: sqlite3.Connection = store.conn
    return connection


def lease_of_t() -> dict[str, Any]:
    with closing(sqlite3.connect("runs.db")) as file:
        (row,) = file.execute("SELECT value FROM store WHERE key = 'lease'").fetchone()
    found: dict[str, Any] = json.loads(row)
    return found


async def test_a_process_that_has_ended_is_gone_also_where_nobody_asks_about_it() -> None:
    with ended_process() as (pid, born):
        assert await started_under_lease(until=1100, now=1000, pid=pid, born=born) == "complete"


async def test_a_process_number_that_was_used_again_is_another_process() -> None:
    assert await started_under_lease(until=1100, now=1000, born="1") == "complete"


def birth_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


@pytest.mark.of_files
async def test_a_living_process_that_is_late_keeps_its_lease_but_not_for_ever() -> None:
    pid, born = os.getppid(), birth_of(os.getppid())
    assert await started_under_lease(until=999, now=1000, pid=pid, born=born) == "busy"
    assert await started_under_lease(until=999, now=1000 + LATEST_S, pid=pid, born=born) == "complete"


@pytest.mark.of_files
async def test_the_lease_of_a_process_elsewhere_counts_until_it_runs_out() -> None:
    assert await started_under_lease(until=1000 + LEASE_S, now=1000, host="elsewhere") == "busy"
    assert await started_under_lease(until=999, now=1000, host="elsewhere") == "complete"
