"""A process that is stopped amid its side effects, while another one takes its run over; and what both then say."""

import asyncio
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from graph.cli.main import QUIET
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.clock import SystemClock
from state.agent import Brief
from state.errors import BatonError
from tests.runs import agent, plan
from tests.servers import forks

EFFECTS = [str(number) for number in range(8)]
TAKEN_OVER = "thread t was taken over by another process"
DONE, STOPS = Path("done"), Path("stops")
HASTE = 2
"""How much faster time goes for who waits for a lease of another machine."""


class HastyClock(SystemClock):
    """The machine's clock, for somebody with less patience than it has."""

    def now(self) -> float:
        """Seconds since the epoch, and more."""
        return time.time() * HASTE

    async def sleep(self, seconds: float) -> None:
        """Wait for a part of it."""
        await asyncio.sleep(seconds / HASTE)


@dataclass(frozen=True)
class Works:
    """An agent that does eight things, one after the other; after so many its process stops itself, a moment later."""

    stops_after: int = len(EFFECTS)
    later_s: float = 0.0

    async def __call__(self, brief: Brief, desk: Any) -> str:
        for number, name in enumerate(EFFECTS):
            if number == self.stops_after:
                threading.Thread(target=self._stop, daemon=True).start() if self.later_s else self._stop()
            await desk.once(name, self._do, {"what": name})
            await asyncio.sleep(0.02)
        return "done"

    async def _do(self, what: str) -> str:
        with DONE.open("a") as file:  # noqa: ASYNC230 - as what an agent calls may
            file.write(what + "\n")
        time.sleep(0.01)  # noqa: ASYNC251 - as what an agent calls may
        return what

    def _stop(self) -> None:
        time.sleep(self.later_s)
        STOPS.touch()
        os.kill(os.getpid(), signal.SIGSTOP)


def start(address: str, host: str, work: Works) -> str | None:
    """Begin the run on a machine of that name; what is said if it cannot go on."""
    socket.gethostname = lambda: host

    async def run() -> None:
        async with open_supervisor(address, [agent(work)], {}, ScriptedModel([])) as sup:
            await sup.start("Q", thread_id="t", plan=plan("a"))

    return _refusal_of(run())


def take_over(address: str) -> str | None:
    """Go on with it, to its end: a human looks whether what may have happened has."""

    async def run() -> None:
        clock = HastyClock()
        async with open_supervisor(address, [agent(Works())], {}, ScriptedModel([]), clock=clock) as sup:
            run = await sup.resume("t")
            while run.status == "waiting":
                run = await sup.answer("t", {asked.id: _truth(asked.action) for asked in run.approvals}, by="ana")
        print(run.status)  # noqa: T201 - to whoever started this process

    return _refusal_of(run())


def _truth(effect: str) -> Any:
    return {"type": "reject", "message": "it is done"} if effect in DONE.read_text().split() else True


def _refusal_of(running: Coroutine[Any, Any, None]) -> str | None:
    """What the command line would say."""
    for library in QUIET:
        logging.getLogger(library).addHandler(logging.NullHandler())
    try:
        asyncio.run(running)
    except BatonError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Told:
    """What the second process said, what the stopped one did when it went on, with which code; and every effect."""

    second: str
    first: str
    code: int
    done: list[str]
    events_after: int
    """How many events there were after the second had ended."""


async def zombie_story(
    folder: Path, address: str, work: Works, take_away: Callable[[str], None] | None = None
) -> Told | None:
    """A process stops amid its effects; another takes its run over.

    `take_away`: how its lease ends; by default it is on a machine of another name, and has been silent for too long.
    None: it stopped while it had the file locked, and nobody can do anything until it goes on.
    """
    host = socket.gethostname() if take_away else "elsewhere"
    with (folder / "said").open("wb") as said, Path(os.devnull).open("rb") as nothing:  # noqa: ASYNC230 - a moment
        streams = (nothing.fileno(), said.fileno(), said.fileno())
        first = forks.spawn(start, address, host, work, streams=streams, cwd=folder)
    try:
        while not ((folder / STOPS).exists() and is_stopped(first.pid)):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.01)
        if take_away:
            take_away(address)
        second = await asyncio.to_thread(forks.run, take_over, address, cwd=folder)
        while "is being run by" in second.stderr:  # by the time it had watched the lease for long enough it gave up
            second = await asyncio.to_thread(forks.run, take_over, address, cwd=folder)
        before = events(address)
        first.send_signal(signal.SIGCONT)
        code = await asyncio.to_thread(first.wait)
    finally:
        first.send_signal(signal.SIGKILL)  # nothing, where it has ended
    if "locked" in second.stderr:
        return None
    done, told = (folder / DONE).read_text().split(), (folder / "said").read_text().strip()
    return Told(second.stdout.strip() or second.stderr, told, code, done, events(address) - before)


def is_stopped(pid: int) -> bool:
    """Whether a process stands still."""
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return said.startswith("T")


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
