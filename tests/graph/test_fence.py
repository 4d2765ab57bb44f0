"""A process that stood still while another one took its run over writes nothing more, and stops."""

import asyncio
import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from graph.lease import LEASE_S, Leases
from graph.testing import HeldClock
from state.agent import Brief
from state.errors import LeaseLost, ThreadBusy
from state.signal import Pause
from tests.runs import agent, opened, plan

EFFECTS = [str(number) for number in range(8)]


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
    work = EightEffects()
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

    assert (run.status, work.done, after) == ("complete", EFFECTS, events)


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


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 # what is awaited is another process
        await asyncio.sleep(0.01)


ZOMBIE = """
import asyncio, socket, sys, time
from pathlib import Path
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.errors import BatonError

async def work(brief, desk):
    async def do(what):
        with open("done", "a") as file:
            file.write(what + "\\n")
        time.sleep(0.02)
        return what
    for name in range(8):
        await desk.once(str(name), do, {"what": str(name)})
        await asyncio.sleep(0.05)
    return "done"

async def main():
    if len(sys.argv) > 3:
        socket.gethostname = lambda: sys.argv[3]
    model, plan = ScriptedModel([]), {"tasks": [{"id": "a", "description": "Do a."}]}
    async with open_supervisor(sys.argv[2], [AgentSpec(name="ada", role="generalist", run=work)], {}, model) as sup:
        if sys.argv[1] == "start":
            run = await sup.start("Q", thread_id="t", plan=plan)
        else:
            run = await sup.resume("t")
    print(run.status)

try:
    asyncio.run(main())
except BatonError as error:
    sys.exit(str(error))
"""


def process(folder: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ZOMBIE, *args], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@dataclass(frozen=True)
class Told:
    """What the second process said, what the stopped one did when it went on, with which code; and every effect."""

    second: str
    first: str
    code: int
    done: list[str]
    events_after: int
    """How many events there were after the second had ended."""


async def zombie_story(folder: Path, address: str, lines: int, host: str) -> Told:
    """A process is stopped after so many effects, on a machine of that name; another one takes its run over."""
    done = folder / "done"
    first = process(folder, "start", address, host)
    await until(lambda: done.exists() and len(done.read_text().splitlines()) >= lines)
    await asyncio.sleep(0.03)  # between two effects
    first.send_signal(signal.SIGSTOP)
    if host == socket.gethostname():
        take_away(address)  # `LATEST_S` later
    said = ""
    while not said:  # refused as long as the lease of another machine looks alive, as `baton watch` is
        said, refused = await asyncio.to_thread(process(folder, "resume", address).communicate)
        assert said or "is being run by process" in refused
    before = events(address)
    first.send_signal(signal.SIGCONT)
    _, told = await asyncio.to_thread(first.communicate)
    return Told(said.strip(), told.strip(), first.returncode, done.read_text().split(), events(address) - before)


def events(address: str) -> int:
    """How many events are on record."""
    if "://" in address:
        with psycopg.connect(address) as connection:
            counted = connection.execute("SELECT count(*) FROM store WHERE prefix LIKE 'events.%'").fetchone()
        return int(counted[0]) if counted else 0
    with sqlite3.connect(address) as file:
        (count,) = file.execute("SELECT count(*) FROM store WHERE prefix LIKE 'events.%'").fetchone()
    file.close()
    return int(count)


TAKEN_OVER = "thread t was taken over by another process"


async def test_a_zombie_does_no_effect_twice_and_says_that_it_was_taken_over(tmp_path: Path, address: str) -> None:
    told = await zombie_story(tmp_path, address, 3, socket.gethostname())

    assert (told.second, sorted(told.done), told.code, told.events_after) == ("complete", EFFECTS, 1, 0)
    lines = [line.split(" while")[0] for line in told.first.splitlines()]
    # What psycopg and asyncio log of a connection that was lost in the middle of a batch may come before or after it.
    assert TAKEN_OVER in lines if "://" in address else lines == [TAKEN_OVER]
