"""A process of another machine stands still, somebody takes its run over, and it wakes up: it does nothing more.

`ZOMBIES` says how many (default 2; by hand 20). Each waits as long as a lease of another machine holds.
"""

import asyncio
import random
from pathlib import Path

import pytest

from tests.campaigns import check, how_many
from tests.graph.test_fence import EFFECTS, TAKEN_OVER, zombie_story

AT_ONCE = 10
"""Most of the time each waits for a lease."""


@pytest.mark.campaign
async def test_whoever_wakes_up_after_a_takeover_does_no_effect_again_and_says_so_in_a_line(tmp_path: Path) -> None:
    count, chance, room = how_many("ZOMBIES", 2), random.Random(how_many("SEED", 7)), asyncio.Semaphore(AT_ONCE)
    wrong: list[str] = []

    async def story(number: int, lines: int) -> None:
        async with room:
            (folder := tmp_path / str(number)).mkdir()
            told = await zombie_story(folder, str(folder / "runs.db"), lines, "elsewhere")
            said = [line.split(" while")[0] for line in told.first.splitlines()]
            if (told.second, sorted(told.done), told.code, told.events_after) != ("complete", EFFECTS, 1, 0):
                wrong.append(f"{number} after {lines}: {told}")
            elif said != [TAKEN_OVER]:
                wrong.append(f"{number} after {lines} said: {told.first}")

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(story(number, chance.randint(1, len(EFFECTS) - 1)))
    check("zombies", count, wrong)
