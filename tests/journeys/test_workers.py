"""Several workers on one database, and what becomes of the runs of one that is killed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from graph.supervisor import Supervisor
from nodes.runtime.clock import SystemClock
from state.errors import BadInput, ThreadBusy
from tests import runs
from tests.runs import agent, plan

pytestmark = pytest.mark.services

WORKERS = int(os.environ.get("WORKERS", "3"))
RUNS = int(os.environ.get("WORKER_RUNS", "9"))
KILLS = int(os.environ.get("WORKER_KILLS", "3"))
PATIENCE_S = 150
TASKS = ("a", "b", "c <- a", "asks <- b", "last <- c asks")

WORK = """
import asyncio, os, sys
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec

def note(line: str) -> None:
    with open("notes", "a") as notes:
        notes.write(line + "\\n")

async def act(brief, desk):
    if brief.task.id == "asks":
        said = await desk.ask("launch")
        await desk.once("tell", note, {"line": brief.query})
        return said.type
    await asyncio.sleep(0.05)
    return "done"

async def main():
    team = [AgentSpec(name="ada", role="generalist", run=act)]
    async with open_supervisor(sys.argv[1], team, {}, ScriptedModel([])) as sup:
        await sup.work(4, drain_s=5)

asyncio.run(main())
"""


class Crew:
    """The workers, each a process; one that is killed is replaced."""

    def __init__(self, db: str) -> None:
        self.db = db
        self.processes: list[subprocess.Popen[bytes]] = []
        self.killed = 0

    def hire(self) -> None:
        self.processes.append(subprocess.Popen([sys.executable, "-c", WORK, self.db], stdout=subprocess.DEVNULL))

    async def be_killed(self, notes: Path) -> None:
        """Kill the oldest worker and hire another, again and again, as the work goes on: however fast it is."""
        while self.killed < KILLS:
            await asyncio.sleep(0.02)
            if len(told(notes)) < (self.killed + 1) * RUNS // (KILLS + 1):
                continue
            oldest = self.processes.pop(0)
            oldest.send_signal(signal.SIGKILL)
            await asyncio.to_thread(oldest.wait)
            self.killed += 1
            self.hire()

    def end(self) -> list[int]:
        """Tell all to stop; their exit codes."""
        for process in self.processes:
            process.terminate()
        return [process.wait(timeout=60) for process in self.processes]


def told(notes: Path) -> list[str]:
    """What the agents have really done."""
    return notes.read_text().split() if notes.exists() else []


async def answer_what_is_asked(sup: Supervisor, thread_id: str, notes: Path) -> bool:
    """Answer what is open on a thread; whether its run has ended.

    What may have been done by a worker that died is looked for, as a human would.
    """
    run = await sup.view(thread_id)
    if run.status == "waiting" and run.approvals and run.waits_for == "answers":
        [question, *_] = run.approvals
        is_out = "may have happened" in question.reason and run.query in told(notes)
        with suppress(BadInput, ThreadBusy):  # somebody has it just now
            await sup.answer(thread_id, {question.id: "reject: it is out" if is_out else "approve"}, by="eve")
    return run.has_ended


async def test_workers_are_killed_and_every_run_ends_with_each_task_done_once(on_postgres: str, tmp_path: Path) -> None:
    crew = Crew(on_postgres)
    async with runs.opened(agent(), db=on_postgres, clock=SystemClock()) as sup:
        threads = [f"t{number}" for number in range(RUNS)]
        for thread_id in threads:
            await sup.enqueue(thread_id, thread_id=thread_id, plan=plan(*TASKS))
        for _ in range(WORKERS):
            crew.hire()
        killing = asyncio.create_task(crew.be_killed(tmp_path / "notes"))
        try:
            async with asyncio.timeout(PATIENCE_S + 10 * KILLS):
                left = set(threads)
                while left:
                    left -= {name for name in left if await answer_what_is_asked(sup, name, tmp_path / "notes")}
                    await asyncio.sleep(0.1)
        finally:
            killing.cancel()
            codes = await asyncio.to_thread(crew.end)
        statuses = [(await sup.view(thread_id)).status for thread_id in threads]
        done = await finished(sup, threads)

    assert statuses == ["complete"] * RUNS
    assert set(done.values()) == {1}, "a task was finished twice"
    assert len(done) == RUNS * len(TASKS)
    assert sorted(told(tmp_path / "notes")) == sorted(threads), "an effect was done twice, or not"
    assert crew.killed > 0
    assert set(codes) <= {0, -signal.SIGTERM}, "the latter: it had not begun to work yet"


async def finished(sup: Supervisor, threads: list[str]) -> Counter[tuple[str, str | None]]:
    """How often each task was finished."""
    found: Counter[tuple[str, str | None]] = Counter()
    for thread_id in threads:
        events = await sup.events(thread_id)
        found.update((thread_id, event.task_id) for event in events if event.kind == "task_finished")
    return found
