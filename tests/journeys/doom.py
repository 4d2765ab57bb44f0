"""Processes that die: a story is told in a process of its own, which kills itself (SIGKILL) at a chosen point."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import Op, PutOp, Result

from graph.builder import Graph
from graph.supervisor import Supervisor, open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.run import Run
from state.text import Json
from tests.servers import forks

THREAD = "t"
Moment = Literal["event", "before a write", "after a write", "after an effect's row", "seconds"]


@dataclass(frozen=True)
class Story:
    """What is run: told anew in each process, with everything it keeps in files of one folder."""

    team: Sequence[AgentSpec]
    plan: Json | None = None
    policy: Json = field(default_factory=dict)
    model: BaseChatModel = field(default_factory=lambda: ScriptedModel([]))


Telling = Callable[[Path], Story]
"""Makes a story in a folder; a function of a module, so that another process can find it."""


@dataclass(frozen=True)
class Doom:
    """When to die: at the n-th event that was streamed, before or after the n-th write, or after n seconds.

    Which write is the n-th differs from run to run, where several are made at once; that of a side effect's n-th row,
    which says first what is about to be done, is the same in each.
    """

    moment: Moment
    number: float


async def die(telling: Telling, folder: Path, doom: Doom | None = None) -> bool:
    """Start a story in a process of its own; whether it was killed. Without `doom` the story kills itself."""
    _make(folder)
    code = await in_another_process(_start, telling, folder, doom)
    assert code in (0, -signal.SIGKILL), f"the process ended with {code}; its error is above"
    return code != 0


async def in_another_process(work: Callable[..., None], *args: object) -> int:
    """Run a function of a module in another process; its exit code."""
    return await asyncio.to_thread(begin(work, *args).wait)


def begin(work: Callable[..., None], *args: object) -> forks.Child:
    """Let a function of a module run in another process."""
    return forks.spawn(work, *args)


async def live(telling: Telling, folder: Path, *, onwards: Callable[[Supervisor], Awaitable[Run]] | None = None) -> Run:
    """Tell a story in this process: go on with it if it was begun, to its end or to where it waits."""
    _make(folder)
    async with opened(telling(folder), folder) as sup:
        if onwards:
            return await onwards(sup)
        return await begun_or_resumed(sup, telling(folder))


async def begun_or_resumed(sup: Supervisor, story: Story, on_event: Callable[[Json], None] | None = None) -> Run:
    """The run of a story, from its beginning or from where it stands."""
    if any(run.thread_id == THREAD for run in await sup.runs()):
        return await sup.resume(THREAD, on_event=on_event)
    return await sup.start("Q", thread_id=THREAD, plan=story.plan, on_event=on_event)


def opened(story: Story, folder: Path, **how: Any) -> Any:
    """The supervisor of a story; `how`: its clock, its notifier."""
    return open_supervisor(folder / "runs.db", story.team, story.policy, story.model, **how)


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def kill_me() -> None:
    """SIGKILL, to this process, now."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(folder: Path, where: str) -> None:
    """Die when this place is reached for the first time, in whichever process."""
    mark = folder / f"died-{where}"
    if not mark.exists():
        mark.touch()
        kill_me()


def note(folder: Path, line: str) -> None:
    """Add a line to the story's log: what really happened, whatever anybody recorded."""
    with (folder / "log").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def notes(folder: Path) -> list[str]:
    """The lines of the log."""
    log = folder / "log"
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def _start(telling: Telling, folder: Path, doom: Doom | None) -> None:
    os.chdir(folder)
    asyncio.run(_tell(telling, folder, doom))


async def _tell(telling: Telling, folder: Path, doom: Doom | None) -> None:
    story, left = telling(folder), doom.number if doom else 0
    async with opened(story, folder) as sup:
        if doom and doom.moment == "seconds":
            threading.Timer(doom.number, kill_me).start()
        elif doom and doom.moment != "event":
            doomed_writes(sup.graph, doom)

        def count(_: Json) -> None:
            nonlocal left
            left -= 1
            if doom and doom.moment == "event" and left <= 0:
                kill_me()

        await begun_or_resumed(sup, story, count)
    if doom and doom.moment == "seconds":
        os._exit(0)  # it lived longer than its timer, which is still running


def doomed_writes(graph: Graph, doom: Doom) -> None:
    """Count writes to the Store and of checkpoints together, or those of side effects' rows, and die at one of them."""
    left = doom.number

    def doomed(write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def writing(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left <= 0 and doom.moment == "before a write":
                kill_me()
            made = await write(*args, **kwargs)
            if left <= 0:
                kill_me()
            return made

        return writing

    store, saver = graph.store, graph.checkpointer
    assert store is not None
    assert isinstance(saver, BaseCheckpointSaver)
    batch, doomed_batch = store.abatch, doomed(store.abatch)

    async def abatch(ops: Sequence[Op]) -> list[Result]:
        written = [op.namespace[0] for op in ops if isinstance(op, PutOp)]
        counts = "effects" in written if doom.moment == "after an effect's row" else bool(written)
        result: list[Result] = await (doomed_batch if counts else batch)(ops)
        return result

    store.abatch = abatch  # type: ignore[method-assign,assignment]
    if doom.moment == "after an effect's row":
        return
    saver.aput = doomed(saver.aput)  # type: ignore[method-assign,assignment]
    saver.aput_writes = doomed(saver.aput_writes)  # type: ignore[method-assign,assignment]
