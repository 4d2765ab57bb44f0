"""What a run stands on fails: disk, lock, clock, notifier. It stops with one line and goes on later, or does not mind.

Nothing is lost, no side effect happens twice, events and audit log are whole: what comes of it is what comes of the
same run where nothing fails. `FAULTS` says how many of each (default 1; by hand 50), `SEED` which runs.
"""

import asyncio
import os
import random
import resource
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import Op, Result

from graph.supervisor import Supervisor
from nodes.runtime.clock import SystemClock
from state.errors import BatonError
from tests.campaigns import check, eventful, how_many
from tests.journeys.doom import Doom, in_another_process, note, notes
from tests.journeys.turns import AT_ONCE

WRITES = 50
"""The fault comes before one of so many writes to the Store; a run makes about as many."""
STOPS = 40
"""How often a run is gone on with that a fault has stopped."""
HOUR_S = 3600.0

Tell = Callable[[Path, int, random.Random], Awaitable[list[str]]]
"""Runs the story of a seed in a folder to its end, in spite of the fault; what is wrong."""


def at_a_write(number: int, begin: Callable[[], object]) -> Callable[[Supervisor], None]:
    """Have something done before the n-th write to the Store."""

    def hurt(sup: Supervisor) -> None:
        store, left = sup.graph.store, number
        assert store
        abatch = store.abatch

        async def counted(ops: Sequence[Op]) -> list[Result]:
            nonlocal left
            left -= any(type(op).__name__ == "PutOp" for op in ops)
            if left == 0:
                await asyncio.to_thread(begin)
            return await abatch(ops)

        store.abatch = counted  # type: ignore[method-assign,assignment]

    return hurt


async def until_the_end(live: Callable[[], Awaitable[None]]) -> list[str]:
    """Live until the run is through; each time that the fault stops it, it has to say so in a line."""
    wrong = []
    for _ in range(STOPS):
        try:
            async with asyncio.timeout(300):
                await live()
        except BatonError as error:
            if "\n" in str(error) or "cannot be used" not in str(error):
                wrong.append(f"it said {str(error)!r}")
        except TimeoutError:
            return [*wrong, "it hung"]
        else:
            return wrong
    return [*wrong, f"not through after {STOPS} stops"]


def connection_of(sup: Supervisor) -> sqlite3.Connection:
    """What the supervisor's database is used by."""
    store: Any = sup.graph.store
    connection: sqlite3.Connection = store.conn
    return connection


def on_its_connection(command: Callable[[sqlite3.Connection], str]) -> Tell:
    """A fault of the connection: it ends when the file is opened again."""

    async def tell(folder: Path, seed: int, chance: random.Random) -> list[str]:
        async def live() -> None:
            def hurt(sup: Supervisor) -> None:
                connection = connection_of(sup)
                at_a_write(chance.randint(2, WRITES), lambda: connection.execute(command(connection)))(sup)

            await eventful.life(folder, seed, hurt=hurt)

        return await until_the_end(live)

    return tell


def is_full(connection: sqlite3.Connection) -> str:
    """Not one page more."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    return f"PRAGMA max_page_count={pages}"


def lives_on_a_broken_disk(folder: Path, seed: int, number: int) -> None:
    """A process for which no file may grow any more: what SQLite then gets is an I/O error."""

    def breaks() -> None:
        size = (folder / "runs.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    os.chdir(folder)
    try:
        asyncio.run(eventful.life(folder, seed, hurt=at_a_write(number, breaks)))
    except BatonError as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        note(folder, f"said {error}")
        os._exit(3)


async def broken_disk(folder: Path, seed: int, chance: random.Random) -> list[str]:
    for _ in range(STOPS):
        code = await in_another_process(lives_on_a_broken_disk, folder, seed, chance.randint(2, WRITES))
        if code != 3:
            break
    said = [line for line in notes(folder) if line.startswith("said ")]
    wrong = [line for line in said if "disk I/O error" not in line and "full" not in line]
    return [*wrong, *([f"a process ended with {code}"] if code else [])]


async def held_lock(folder: Path, seed: int, chance: random.Random) -> list[str]:
    """Somebody has the file locked, for longer than anybody waits."""

    @contextmanager
    def locks() -> Iterator[Callable[[], object]]:
        with closing(sqlite3.connect(folder / "runs.db", isolation_level=None, check_same_thread=False)) as other:
            yield lambda: other.execute("BEGIN IMMEDIATE")

    async def live() -> None:
        with locks() as lock:

            def hurt(sup: Supervisor) -> None:
                connection_of(sup).execute("PRAGMA busy_timeout=20")
                at_a_write(chance.randint(2, WRITES), lock)(sup)

            await eventful.life(folder, seed, hurt=hurt)

    return await until_the_end(live)


class JumpingClock(SystemClock):
    """Jumps back and forth, by up to an hour."""

    def __init__(self, chance: random.Random, share: float = 0.1) -> None:
        self._chance, self._share, self._off = chance, share, 0.0

    def now(self) -> float:
        """Seconds since the epoch, more or less."""
        if self._chance.random() < self._share:
            self._off = self._chance.uniform(-HOUR_S, HOUR_S)
        return time.time() + self._off


async def jumping_clock(folder: Path, seed: int, chance: random.Random) -> list[str]:
    return await until_the_end(lambda: eventful.life(folder, seed, clock=JumpingClock(chance)))


def lives_ahead(folder: Path, seed: int, ahead_s: float, doom: Doom) -> None:
    """A life by a clock that is ahead, up to its death."""
    clock = JumpingClock(random.Random(), share=0)
    clock._off = ahead_s
    os.chdir(folder)
    asyncio.run(eventful.life(folder, seed, doom, clock=clock))


async def ahead_at_death(folder: Path, seed: int, chance: random.Random) -> list[str]:
    for ahead_s in (chance.uniform(60, HOUR_S), chance.uniform(1, 60)):
        await in_another_process(lives_ahead, folder, seed, ahead_s, Doom("after a write", chance.randint(2, WRITES)))
    return await until_the_end(lambda: eventful.life(folder, seed))


class Notifier:
    """Fails in one of the ways in which messages to people do."""

    def __init__(self, way: str) -> None:
        self._way = way

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        """Do not deliver it, or late."""
        match self._way:
            case "raises":
                raise ConnectionError("no route to host")
            case "hangs":
                await asyncio.Event().wait()
            case "slow":
                await asyncio.sleep(0.3)
        return self._way == "slow"


async def bad_notifier(folder: Path, seed: int, chance: random.Random) -> list[str]:
    way = chance.choice(("raises", "hangs", "slow", "reaches nobody"))
    return [
        f"{way}: {line}" for line in await until_the_end(lambda: eventful.life(folder, seed, notifier=Notifier(way)))
    ]


FAULTS: dict[str, Tell] = {
    "a full disk": on_its_connection(is_full),
    "a disk that became read-only": on_its_connection(lambda connection: "PRAGMA query_only=1"),
    "an I/O error": broken_disk,
    "a lock that is held": held_lock,
    "a clock that jumps": jumping_clock,
    "a clock that was ahead at death": ahead_at_death,
    "a notifier that fails": bad_notifier,
}


@pytest.mark.campaign
@pytest.mark.parametrize("fault", FAULTS)
async def test_after_a_fault_everything_is_as_if_there_had_been_none(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodes.runtime.approvals.TELLING_S", 0.2)
    count, first, room = how_many("FAULTS", 1), how_many("SEED", 1), asyncio.Semaphore(AT_ONCE)
    wrong: list[str] = []

    async def story(seed: int) -> None:
        async with room:
            chance, alone, hurt = random.Random(seed), tmp_path / f"{seed}-alone", tmp_path / str(seed)
            alone.mkdir()
            hurt.mkdir()
            await eventful.life(alone, seed)
            expected = await eventful.told(alone, seed)
            wrong.extend(f"{seed}: {line}" for line in await FAULTS[fault](hurt, seed, chance))
            found = await eventful.told(hurt, seed)
            differing = [key for key in expected if found[key] != expected[key]]
            wrong.extend(f"{seed}: {key}: {found[key]}, not {expected[key]}" for key in differing)

    async with asyncio.TaskGroup() as group:
        for seed in range(first, first + count):
            group.create_task(story(seed))
    check(f"runs with {fault}", count, wrong)
