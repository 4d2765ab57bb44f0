"""Two processes do something to one run at the same moment: every pair of verbs, wherever the run stands.

Nothing is done twice, no wheel and no answer is lost, every signal is answered, and the run comes to its end.
`RACES` says how many (default: a few; by hand: `RACES=300 make campaign`); `SEED` which delays.
"""

import asyncio
import random
from itertools import combinations_with_replacement
from pathlib import Path
from typing import get_args

import pytest

from tests.campaigns import check, how_many
from tests.campaigns.raced import VERBS, Scene, noted, set_up, take_part, wrong_after
from tests.journeys.doom import begin, notes
from tests.journeys.turns import AT_ONCE

RACES = how_many("RACES", 45)
FIRST = how_many("FIRST", 0)
SPREAD_S = 0.06
"""One comes at most so much later than the other: about as long as taking up a run that lies still."""


def pairs() -> list[tuple[Scene, str, str]]:
    """Every pair in every scene, in an order in which the first few have something of all."""
    every = [(scene, *pair) for scene in get_args(Scene) for pair in combinations_with_replacement(VERBS, 2)]
    random.Random(1).shuffle(every)
    return every


async def race(folder: Path, scene: Scene, verbs: tuple[str, str], delays: tuple[float, float]) -> list[str]:
    running = await set_up(folder, scene)
    people = zip(("ana", "bob"), verbs, delays, strict=True)
    children = [begin(take_part, folder, verb, by, delay) for by, verb, delay in people]
    await noted(folder, "ready", 2)
    (folder / "go").touch()
    codes = [await asyncio.to_thread(child.wait) for child in children]
    (folder / "let-go").touch()
    if running:
        codes.append(await asyncio.to_thread(running.wait))
    return [*(f"a process ended with {code}" for code in codes if code), *await wrong_after(folder)]


@pytest.mark.campaign
async def test_two_at_once_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    chance, room = random.Random(how_many("SEED", 7)), asyncio.Semaphore(AT_ONCE)
    every = pairs()
    stories = [every[n % len(every)] for n in range(FIRST, FIRST + RACES)]
    wrong: list[str] = []

    async def told(number: int, scene: Scene, verbs: tuple[str, str], delays: tuple[float, float]) -> None:
        async with room:
            folder = tmp_path / str(number)
            for line in await race(folder, scene, verbs, delays):
                said = [line for line in notes(folder) if line.startswith("{")]
                wrong.append(f"{number} {scene} {verbs} {delays}: {line}; {said}")

    async with asyncio.TaskGroup() as group:
        for number, (scene, *verbs) in enumerate(stories):
            late = chance.uniform(0, SPREAD_S)
            delays = (late, 0.0) if chance.random() < 0.5 else (0.0, late)
            group.create_task(told(number, scene, (verbs[0], verbs[1]), delays))
    check("races", len(stories), wrong)
