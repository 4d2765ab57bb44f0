"""A run by chance: a plan, and in it recruits, mail, questions and side effects; told in processes that die."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph.supervisor import Supervisor
from state.agent import Brief
from state.run import Run
from tests.journeys.doom import THREAD, Doom, Story, begun_or_resumed, doomed_writes, note, notes, opened
from tests.runs import agent, plan

TASKS = 6
DOES = ("act", "ask", "recruit", "mail", "nothing")


def story(folder: Path, seed: int) -> Story:
    """Each task does one or two things, and says what it built on."""
    chance = random.Random(seed)
    names = [f"t{n}" for n in range(TASKS)]
    does = {name: chance.sample(DOES, 2) for name in names}
    after = {name: chance.sample(names[:n], min(n, chance.randint(0, 2))) for n, name in enumerate(names)}

    async def work(brief: Brief, desk: Any) -> str:
        task = brief.task.id
        note(folder, f"start {task}")
        for what in does.get(task, ["act"]):
            if what == "act":
                await desk.once("act", lambda: note(folder, f"did {task}"))
            elif what == "ask":
                await desk.ask("launch", {}, "high")
            elif what == "recruit":
                assert await desk.recruit("helper", f"Help {task}.")
            elif what == "mail":
                desk.mail("hal", f"from {task}", key=task)
        await asyncio.sleep(0.002)
        return f"{task} of {sorted(brief.inputs)}"

    tasks = [f"{name} <- {' '.join(after[name])}" for name in names]
    team = [agent(work), agent(work, "hal", "helper")]
    return Story(team, plan(*tasks), {"max_team_size": 100, "approval_timeout_s": 36_000, "max_iterations": 0})


def live(folder: Path, seed: int, doom: Doom) -> None:
    """One life in a process of its own."""
    os.chdir(folder)
    asyncio.run(life(folder, seed, doom))


async def life(
    folder: Path, seed: int, doom: Doom | None = None, hurt: Callable[[Supervisor], None] | None = None, **how: Any
) -> None:
    """Begin or go on, answer what is asked, until the end of the run or of the process.

    `hurt` may prepare a fault; `how`: the clock, the notifier.
    """
    async with opened(story(folder, seed), folder, **how) as sup:
        if doom:
            doomed_writes(sup.graph, doom)
        if hurt:
            hurt(sup)
        run = await begun_or_resumed(sup, story(folder, seed))
        while run.status == "waiting":
            run = await sup.answer(THREAD, {asked.id: truth(folder, asked) for asked in run.approvals}, by="ana")


def truth(folder: Path, asked: Any) -> Any:
    """Yes; where something may have happened already, a human looks whether it has."""
    is_done = asked.action == "act" and f"did {asked.task_id}" in notes(folder)
    return {"type": "reject", "message": "it is done"} if is_done else True


async def seen(folder: Path, seed: int) -> dict[str, int]:
    """The tasks that are on record as finished, with how often each was started."""
    async with opened(story(folder, seed), folder) as sup:
        finished = {event.task_id or "" for event in await events(sup) if event.kind == "task_finished"}
    return {task: count for task, count in starts(folder).items() if task in finished}


async def events(sup: Supervisor) -> list[Any]:
    """What is on record; nothing, where the process died before there was a run."""
    return list(await sup.events(THREAD))


def starts(folder: Path) -> Counter[str]:
    """How often each task was started."""
    return Counter(line.removeprefix("start ") for line in notes(folder) if line.startswith("start "))


async def told(folder: Path, seed: int) -> dict[str, Any]:
    """What came of it."""
    async with opened(story(folder, seed), folder) as sup:
        run: Run = await sup.view(THREAD)
        found = await events(sup)
        _, broken = await sup.audit(THREAD)
    finished = Counter(event.task_id for event in found if event.kind == "task_finished")
    return {
        "status": run.status,
        "results": {task.id: str(task.result) for task in run.tasks},
        "finished once": {task for task, count in finished.items() if count == 1},
        "did": Counter(line for line in notes(folder) if line.startswith("did ")),
        "mail": sum(event.data["messages"] for event in found if event.kind == "mail_delivered"),
        "numbered": [event.seq for event in found] == list(range(1, len(found) + 1)),
        "audit": broken,
    }
