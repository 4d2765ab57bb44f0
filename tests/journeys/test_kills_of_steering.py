"""A process is killed around recruits, mail and retirement: each takes effect exactly once."""

import asyncio
import random
from collections import Counter
from pathlib import Path

from nodes.runtime.clock import SystemClock
from nodes.runtime.signals import read_log, send, waiting
from state.run import Run
from state.signal import Recruit, Retire, SendMail
from tests.journeys.doom import THREAD, Doom, Moment, die, live, notes, opened
from tests.journeys.stories import growing
from tests.journeys.turns import in_turns

POINTS = 50
WRITES = (10, 48)
"""The story makes about this many writes before its first recruit, and until its end."""


async def steer(folder: Path) -> None:
    """What somebody else says, from another process than the one that dies, when the run has come to its gate."""
    async with asyncio.timeout(120):
        while "start gate" not in notes(folder):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.005)
    async with opened(growing(folder), folder) as sup:
        for signal in (
            SendMail(to="bob", text="from outside"),
            Recruit(role="helper", task="Help from outside."),
            Retire(agent="carl"),
        ):
            await send(sup.graph.store, THREAD, signal, SystemClock())


async def effects(folder: Path, run: Run) -> dict[str, object]:
    async with opened(growing(folder), folder) as sup:
        events = Counter(event.kind for event in await sup.events(THREAD))
        log = [handled.outcome for handled in await read_log(sup.graph.store, THREAD)]
        left = await waiting(sup.graph.store, THREAD)
    return {
        "status": run.status,
        "results": {task.id: task.result for task in run.tasks if task.id not in ("gate", "reader")},
        "mail": Counter(next(str(task.result) for task in run.tasks if task.id == "reader")[8:].split(", ")),
        "last by": next(task.agent for task in run.tasks if task.id == "last"),
        "events": {kind: events[kind] for kind in ("agent_recruited", "agent_retired", "mail_delivered")},
        "log": (log, left),
    }


async def told(folder: Path) -> Run:
    run, _ = await asyncio.gather(live(growing, folder), steer(folder))
    return run


async def test_recruits_mail_and_retirement_take_effect_once_wherever_the_process_is_killed(tmp_path: Path) -> None:
    undisturbed = await effects(tmp_path / "undisturbed", await told(tmp_path / "undisturbed"))
    assert undisturbed["mail"] == Counter(["from outside", "from the writer"])
    assert undisturbed["last by"] == "dora"
    chance = random.Random(4)
    killed: list[bool] = []

    async def story(point: tuple[int, Moment, int]) -> None:
        number, moment, write = point
        folder = tmp_path / str(number)
        steering = asyncio.create_task(steer(folder))
        killed.append(await die(growing, folder, Doom(moment, write)))
        run = await live(growing, folder)
        await steering
        assert await effects(folder, run) == undisturbed, f"killed {moment} {write}"

    moments: tuple[Moment, ...] = ("before a write", "after a write")
    await in_turns(story, [(n, chance.choice(moments), chance.randint(*WRITES)) for n in range(POINTS)])
    assert sum(killed) >= 0.8 * len(killed)
