"""Runs that somebody steers while they work: agents at gates, and what was recorded about them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from graph.supervisor import Supervisor, open_supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from nodes.runtime.services import SystemClock
from nodes.runtime.signals import read_log
from state.agent import AgentSpec, Brief
from state.event import Event
from state.run import Run
from state.signal import SIGNAL, Signal
from tests.runs import agent, opened

THREAD = "t"
PATIENCE_S = 90
"""After this a test that waits for something fails."""


class Gates:
    """An agent that, at tasks with a gate, says that it has come and waits there; at each safe point it obeys."""

    def __init__(self, *gated: str) -> None:
        self.gates = {task: asyncio.Event() for task in gated}
        self.came = {task: asyncio.Event() for task in gated}
        self.starts: list[str] = []
        self.ends: list[str] = []

    async def __call__(self, brief: Brief, desk: Desk) -> str:
        task = brief.task.id
        self.starts.append(task)
        if task in self.gates:
            self.came[task].set()
            while not self.gates[task].is_set():
                await asyncio.sleep(0.001)
                await desk.pause_point()
        self.ends.append(task)
        return f"{task}: {', '.join([*sorted(brief.inputs), *(mail.text for mail in desk.inbox())])}"

    async def all_came(self, *tasks: str) -> None:
        """Wait until these tasks are at their gates."""
        async with asyncio.timeout(PATIENCE_S):
            for task in tasks or self.came:
                await self.came[task].wait()

    async def turn(self) -> None:
        """Let others have one."""
        await asyncio.sleep(0.001)

    def open(self, *tasks: str) -> None:
        """Let these tasks, or all, go on."""
        for task in tasks or self.gates:
            self.gates[task].set()


@asynccontextmanager
async def under_way(sup: Supervisor, plan: dict[str, Any], **policy: Any) -> AsyncIterator["asyncio.Task[Run]"]:
    """A run that goes on beside the test; it has ended when this ends."""
    task = asyncio.create_task(sup.start("Q", thread_id=THREAD, plan=plan, policy=policy or None))
    try:
        yield task
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait({task})
    finally:
        task.cancel()
        await asyncio.wait({task})


async def happened(sup: Supervisor, kind: str, *, times: int = 1) -> list[Event]:
    """Wait until something has happened so often; all events of that kind."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = [event for event in await sup.events(THREAD) if event.kind == kind]
            if len(found) >= times:
                return found
            await asyncio.sleep(0.005)


async def logged(sup: Supervisor, count: int) -> None:
    """Wait until so many signals were handled."""
    store = sup.graph.store
    assert store is not None
    async with asyncio.timeout(PATIENCE_S):
        while len(await read_log(store, THREAD)) < count:  # noqa: ASYNC110 - as another process would look
            await asyncio.sleep(0.005)


def supervisor(*team: AgentSpec, db: Path | str = "runs.db", **more: Any) -> Any:
    """As `opened`, on the machine's clock: signals sort by time."""
    return opened(*team, clock=SystemClock(), db=db, **more)


def tell(db: Path, raw: dict[str, Any]) -> None:
    """Send one signal through the door; to be called in another process."""
    asyncio.run(_tell(db, SIGNAL.validate_python(raw)))


async def _tell(db: Path, signal: Signal) -> None:
    async with open_supervisor(db, [agent()], model=ScriptedModel([])) as sup:
        await sup.signal(THREAD, signal)
