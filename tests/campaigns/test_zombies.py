"""A process of another machine stands still, somebody takes its run over, and it wakes up: it does nothing more.

`ZOMBIES` says how many (default 2; by hand 20). One half stops between two side effects, the other wherever it is a
few milliseconds later: also amid one, then a human looks whether it has happened.
"""

import asyncio
import random
from pathlib import Path

import pytest

from tests.campaigns import check, how_many
from tests.graph.zombies import EFFECTS, TAKEN_OVER, Works, zombie_story

AT_ONCE = 8
"""Most of the time each waits for a lease."""
LATER_S = 0.03
"""About as long as a side effect takes, with what is written before and after it."""


@pytest.mark.campaign
async def test_whoever_wakes_up_after_a_takeover_does_no_effect_again_and_says_so_in_a_line(tmp_path: Path) -> None:
    count, seed, room = how_many("ZOMBIES", 2), how_many("SEED", 7), asyncio.Semaphore(AT_ONCE)
    wrong: list[str] = []

    async def story(number: int) -> None:
        chance, told = random.Random(seed * 1000 + number), None
        later_s = chance.uniform(0.001, LATER_S) if number % 2 else 0.0
        async with room:
            while told is None:  # it stopped while it had the file locked
                work = Works(chance.randint(1, len(EFFECTS) - 1), later_s)
                (folder := tmp_path / f"{number}-{chance.random()}").mkdir()
                told = await zombie_story(folder, str(folder / "runs.db"), work)
                later_s = chance.uniform(0.001, LATER_S)
        said = [line.split(" while")[0] for line in told.first.splitlines()]
        if (told.second, sorted(told.done), told.code, told.events_after) != ("complete", EFFECTS, 1, 0):
            wrong.append(f"{number}, {work}: {told}")
        elif said != [TAKEN_OVER]:
            wrong.append(f"{number}, {work}, said: {told.first}")

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(story(number))
    check("zombies", count, wrong)
