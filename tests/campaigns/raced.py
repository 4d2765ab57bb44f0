"""A run that two processes pull at in the same moment, and what must be true of it afterwards."""

import asyncio
import json
import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from graph.supervisor import Supervisor
from nodes.runtime.signals import read_log, waiting
from state.agent import Brief
from state.errors import BatonError
from state.run import Run
from state.signal import Cancel, Pause, Recruit, Retire, SendMail, Takeover
from tests.journeys.doom import THREAD, Story, begin, begun_or_resumed, kill_me, note, notes, opened
from tests.runs import agent, plan
from tests.servers import forks

Scene = Literal["waiting", "executing", "taken", "paused", "dead"]
"""How the run stands when the two come: what ran it waits, works, was stopped by somebody, or was killed."""
VERBS = ("answer", "pause", "resume", "takeover", "hand-back", "cancel", "recruit", "retire", "mail")
STOPPED_BY = {"pause": "paused", "takeover": "handed_over", "cancel": "cancelled"}


def story(folder: Path) -> Story:
    """One task asks, one works until it is let go, two act on the outside world; so does whoever is recruited."""

    async def work(brief: Brief, desk: Any) -> str:
        task, busy = brief.task.id, folder / f"busy-{brief.task.id}"
        try:
            busy.touch(exist_ok=False)
        except FileExistsError:
            note(folder, f"twice at once {task}")
        try:
            return await _work(task, desk)
        finally:
            busy.unlink(missing_ok=True)

    async def _work(task: str, desk: Any) -> str:
        if task == "asks":
            return str((await desk.ask("launch", {}, "high")).type)
        if task == "works":
            for n in range(10_000):
                if n >= 5 and (folder / "let-go").exists():
                    return "worked"
                note(folder, "works") if n == 0 else None
                await asyncio.sleep(0.01)
                await desk.pause_point()
        await desk.once("act", lambda: note(folder, f"did {task}"))
        return "acted"

    team = [agent(work), agent(work, "hal", "helper"), agent(work, "eve", "other")]
    return Story(team, plan("asks", "works", "c <- asks", "d <- works"), {"approval_timeout_s": 3600})


def run_it(folder: Path, to_death: bool) -> None:
    """Run the story, to its end or to where it waits, or until it has come to work."""

    async def run() -> None:
        async with opened(story(folder), folder) as sup:
            running = asyncio.create_task(begun_or_resumed(sup, story(folder)))
            while to_death:
                if "works" in notes(folder):
                    kill_me()
                await asyncio.sleep(0.005)
            await running

    os.chdir(folder)
    asyncio.run(run())


def take_part(folder: Path, verb: str, by: str, delay_s: float) -> None:
    """Do something to the run, so long after somebody said `go`; what came of it is written down."""

    async def act() -> None:
        async with opened(story(folder), folder) as sup:
            run = await sup.view(THREAD)
            note(folder, f"ready {by}")
            while not (folder / "go").exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.001)
            await asyncio.sleep(delay_s)
            said = "done"
            try:
                await _do(sup, verb, by, run)
            except BatonError as error:
                said = str(error)
            note(folder, json.dumps({"by": by, "verb": verb, "said": said}))

    os.chdir(folder)
    asyncio.run(act())


async def _do(sup: Supervisor, verb: str, by: str, run: Run) -> None:
    match verb:
        case "answer":
            await sup.answer(THREAD, {"asks.0.q1": "approve" if by == "ana" else "reject"}, by=by)
        case "resume":
            await sup.resume(THREAD)
        case "hand-back":
            await sup.hand_back(THREAD, {"asks": "by hand"}, by=by)
        case _:
            await sup.signal(THREAD, _SIGNALS[verb].model_copy(update={"by": by}))


_SIGNALS: dict[str, Any] = {
    "pause": Pause(),
    "takeover": Takeover(),
    "cancel": Cancel(),
    "recruit": Recruit(role="helper", task="Help."),
    "retire": Retire(agent="eve"),
    "mail": SendMail(to="all", text="hello"),
}


async def set_up(folder: Path, scene: Scene) -> forks.Child | None:
    """Bring the run there; the process that goes on with it, if one does."""
    folder.mkdir(parents=True)  # noqa: ASYNC240 - nothing else is to be done meanwhile
    if scene not in ("executing", "dead"):
        (folder / "let-go").touch()
        async with opened(story(folder), folder) as sup:
            await sup.start("Q", thread_id=THREAD, plan=story(folder).plan)
            if scene != "waiting":
                await sup.signal(THREAD, Takeover(by="eva") if scene == "taken" else Pause(by="eva"))
        return None
    running = begin(run_it, folder, scene == "dead")
    await noted(folder, "works")
    if scene == "executing":
        return running
    await asyncio.to_thread(running.wait)
    (folder / "let-go").touch()
    for busy in folder.glob("busy-*"):  # noqa: ASYNC240
        busy.unlink()
    return None


async def noted(folder: Path, what: str, count: int = 1) -> None:
    """Wait until so many lines of the log begin like that."""
    async with asyncio.timeout(60):
        while sum(line.startswith(what) for line in notes(folder)) < count:  # noqa: ASYNC110 - other processes write it
            await asyncio.sleep(0.005)


async def wrong_after(folder: Path) -> list[str]:
    """What is wrong now that the two have ended, and nobody runs it any more."""
    said = [json.loads(line) for line in notes(folder) if line.startswith("{")]
    async with opened(story(folder), folder) as sup:
        run, store = await sup.view(THREAD), sup.graph.store
        log = await read_log(store, THREAD)
        left = await waiting(store, THREAD)
        entries, broken = await sup.audit(THREAD)
        wrong = [f"unanswered signal: {raw}" for _, raw in left]
        if broken:
            wrong.append(f"audit broken: {broken}")
        steering = [one.signal_kind for one in map(_Logged, log) if one.drives]
        last = steering[-1] if steering else ""
        if (wanted := STOPPED_BY.get(last)) and run.status != wanted:
            wrong.append(f"lost wheel: the last word was {last}, and it is {run.status}")
        answered = {entry.by for entry in entries if entry.kind == "answered" and entry.approval == "asks.0.q1"}
        wrong += [f"lost answer of {one['by']}" for one in said if one["verb"] == "answer" and one["said"] == "done"
                  and one["by"] not in answered]  # fmt: skip
        if len(answered) > 1:
            wrong.append(f"several answers count: {answered}")
        run = await _to_the_end(sup)
        if not run.has_ended:
            wrong.append(f"never ends: {run.status}, waits for {run.waits_for or 'nothing'}")
        numbers = [event.seq for event in await sup.events(THREAD)]
        if numbers != list(range(1, len(numbers) + 1)):
            wrong.append("events are not numbered without gaps")
    return wrong + _wrong_effects(folder, run)


class _Logged:
    """A signal of the log, as far as it matters who drives."""

    def __init__(self, handled: Any) -> None:
        self.signal_kind = str(handled.raw.get("kind"))
        of_control = self.signal_kind in (*STOPPED_BY, "resume", "hand_back")
        self.drives = of_control and handled.outcome.status == "applied"


def _wrong_effects(folder: Path, run: Run) -> list[str]:
    done = Counter(line.removeprefix("did ") for line in notes(folder) if line.startswith("did "))
    acting = [task for task in run.tasks if task.id not in ("asks", "works") and task.agent != "human"]
    wrong = [f"done {count} times: {task}" for task, count in done.items() if count > 1]
    wrong += [f"said to be done, and is not: {t.id}" for t in acting if t.status == "done" and not done[t.id]]
    wrong += [f"done, and lost: {t.id}" for t in acting if t.status not in ("done", "cancelled") and done[t.id]]
    return wrong + [line for line in notes(folder) if line.startswith("twice at once")]


async def _to_the_end(sup: Supervisor) -> Run:
    run: Run = await sup.view(THREAD)
    until = time.monotonic() + 60
    while not run.has_ended and time.monotonic() < until:
        with suppress(BatonError):
            if run.status == "handed_over":
                run = await sup.hand_back(THREAD)
            elif run.status == "waiting" and run.approvals:
                run = await sup.answer(THREAD, {asked.id: "approve" for asked in run.approvals}, by="eva")
            else:
                run = await sup.resume(THREAD)
        run = await sup.view(THREAD)
    return run
