"""The watchman, whoever has one: `baton watch` or the server."""

import asyncio
from collections.abc import Sequence

import pytest

from graph.recovery import Recovery
from graph.testing import HeldClock
from state.errors import AgentsMissing, ThreadDamaged


class Town:
    """Threads that are due until they were taken up; some fail, some take until they are let go."""

    def __init__(self, *due: str, failing: Sequence[str] = (), slow: Sequence[str] = ()) -> None:
        self.open = list(due)
        self.failing = failing
        self.slow = slow
        self.free = asyncio.Event()
        self.clock = HeldClock()
        self.taken_up: list[str] = []
        self.stopped: list[str] = []
        self.complaints: list[tuple[str, str]] = []
        self.looks = 0
        self.watchman = Recovery(self.due, self.take_up, self.complain, self.clock.sleep)

    async def due(self) -> list[str]:
        self.looks += 1
        if "looking" in self.failing and self.looks == 1:
            raise ValueError("the disk is busy")
        return list(self.open)

    async def take_up(self, thread: str) -> None:
        self.taken_up.append(thread)
        if thread == "foreign":
            raise AgentsMissing("not our agents")
        if thread == "damaged":
            raise ThreadDamaged(thread, "half a row")
        if thread in self.failing:
            raise ValueError("no such team")
        try:
            if thread in self.slow:
                await self.free.wait()
        except asyncio.CancelledError:
            self.stopped.append(thread)
            raise
        self.open.remove(thread)

    def complain(self, thread: str, error: Exception) -> None:
        self.complaints.append((thread, str(error)))

    async def watched(self, looks: int) -> None:
        """Watch until so many looks were taken, then stop the watch."""
        watch = asyncio.create_task(self.watchman.watch(2.0))
        while self.looks < looks:  # noqa: ASYNC110 # what is awaited is a clock
            await asyncio.sleep(0)
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch


async def test_a_long_run_keeps_no_other_waiting_and_is_not_taken_up_twice() -> None:
    town = Town("long", slow=["long"])
    await town.watchman.look()
    town.open.append("short")
    await town.watchman.look()
    await asyncio.sleep(0)
    assert town.open == ["long"]
    town.free.set()
    await town.watchman.settled()

    assert (town.taken_up, town.open) == (["long", "short"], [])


async def test_where_one_fails_the_others_are_taken_up_all_the_same_and_it_is_tried_again() -> None:
    town = Town("broken", "fine", failing=["broken"])
    for _ in range(2):
        await town.watchman.look()
        await town.watchman.settled()

    assert town.taken_up == ["broken", "fine", "broken"]
    assert town.complaints == [("broken", "no such team")] * 2


async def test_a_look_that_fails_is_no_end_of_the_watch() -> None:
    town = Town("a", failing=["looking"])
    await town.watched(looks=3)

    assert town.complaints == [("", "the disk is busy")]
    assert town.taken_up == ["a"]


async def test_it_looks_every_so_many_seconds() -> None:
    town = Town()
    await town.watched(looks=4)

    assert town.clock.slept[:3] == [2.0, 2.0, 2.0]


async def test_when_the_watch_ends_what_it_took_up_is_stopped_with_it() -> None:
    town = Town("long", slow=["long"])
    await town.watched(looks=2)

    assert town.stopped == ["long"]


async def test_a_run_of_another_team_is_complained_about_once_and_not_at_every_look() -> None:
    town = Town("foreign", "broken", "damaged", failing=["broken"])
    await town.watched(4)

    assert town.complaints.count(("foreign", "not our agents")) == 1
    assert [thread for thread, _ in town.complaints].count("damaged") == 1
    assert town.complaints.count(("broken", "no such team")) > 1
