"""Processes are killed at random points of random runs, again and again, until the run is through.

Nothing is lost, no finished task is done again, no side effect happens twice. `KILLS` says how many (default 10; by
hand 1000), `SEED` which runs.
"""

import asyncio
import random
import signal
from pathlib import Path

import pytest

from tests.campaigns import check, eventful, how_many
from tests.journeys.doom import Doom, Moment, in_another_process
from tests.journeys.turns import AT_ONCE

SPANS = (20, 35, 60)
"""At most so many writes are made in one life; a run that is left alone makes about 60."""
LIVES = 60


async def run_with_kills(folder: Path, seed: int) -> tuple[int, list[str]]:
    """How often its process was killed, and what is wrong."""
    chance, kills, wrong, before = random.Random(seed), 0, [], dict[str, int]()
    moments: tuple[Moment, ...] = ("before a write", "after a write")
    span = chance.choice(SPANS)
    for _ in range(LIVES):
        doom = Doom(chance.choice(moments), chance.randint(2, span))
        code = await in_another_process(eventful.live, folder, seed, doom)
        starts = eventful.starts(folder)
        wrong += [f"{seed}: {task} was finished, and done again" for task, n in before.items() if starts[task] != n]
        if code == 0:
            return kills, wrong
        kills += 1
        if code != -signal.SIGKILL:
            return kills, [*wrong, f"{seed}: a process ended with {code}"]
        before = await eventful.seen(folder, seed)
    return kills, [*wrong, f"{seed}: not through after {LIVES} lives"]


@pytest.mark.campaign
async def test_wherever_processes_are_killed_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    wanted, first, room = how_many("KILLS", 10), how_many("SEED", 1), asyncio.Semaphore(AT_ONCE)
    wrong, kills, runs = list[str](), 0, 0

    async def story(seed: int) -> None:
        nonlocal kills, runs
        async with room:
            if kills >= wanted:
                return
            alone, often = tmp_path / f"{seed}-alone", tmp_path / str(seed)
            alone.mkdir()
            often.mkdir()
            await eventful.life(alone, seed)
            expected = await eventful.told(alone, seed)
            killed, faults = await run_with_kills(often, seed)
            found = await eventful.told(often, seed)
            differing = [key for key in expected if found[key] != expected[key]]
            wrong.extend([*faults, *(f"{seed}: {key}: {found[key]}, not {expected[key]}" for key in differing)])
            kills, runs = kills + killed, runs + 1

    async with asyncio.TaskGroup() as group:
        for seed in range(first, first + wanted):
            group.create_task(story(seed))
    check("kills", kills, wrong, runs=runs)
