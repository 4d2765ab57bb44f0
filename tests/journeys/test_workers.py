"""Several workers on one database, and what becomes of the runs of those that are killed.

How many is set from outside. The whole of it, in which a worker lives for longer than it takes to begin:

    WORKERS=4 WORKER_RUNS=100 WORKER_KILLS=50 WORKER_AT_ONCE=8 WORKER_TASK_S=10 WORKER_PAUSE_S=3 WORKER_LATEST_S=10 \
        python -m pytest -s -n 0 -o faulthandler_timeout=3600 -m services tests/journeys/test_workers.py
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from math import inf, isfinite
from pathlib import Path

import psycopg
import pytest

from graph.postgres.lease import NAMED, number
from graph.postgres.queue import ALIVE
from graph.supervisor import Supervisor
from nodes.runtime.clock import SystemClock
from state.errors import BadInput, ThreadBusy
from state.event import Event
from tests import runs
from tests.runs import agent, plan

pytestmark = pytest.mark.services

WORKERS = int(os.environ.get("WORKERS", "2"))
RUNS = int(os.environ.get("WORKER_RUNS", "4"))
KILLS = int(os.environ.get("WORKER_KILLS", "2"))
AT_ONCE = int(os.environ.get("WORKER_AT_ONCE", "4"))
TASK_S = float(os.environ.get("WORKER_TASK_S", "0.05"))
SEED = int(os.environ.get("SEED", "1"))
PAUSE_S = float(os.environ.get("WORKER_PAUSE_S", "0"))
"""Seconds from one kill to the next on average; they come at random, from none to twice as many. Where none are set,
kills come as the work goes on, however fast it is."""
LATEST_S = float(os.environ.get("WORKER_LATEST_S", "inf"))
"""Seconds at most from a worker's death to the next step of a run that it had. Nothing is held to it unless it is set:
how long a process takes to begin is the machine's. Where it is, another lives whenever one is killed."""
PATIENCE_S = 150
TASKS = ("lead", "a", "b <- a", "asks <- b", "reads <- lead", "last <- reads asks")
EACH = len(TASKS) + 1
"""With the one that `lead` recruits."""
HELD = """
SELECT classid::bigint << 32 | objid::bigint AS number FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND application_name LIKE %s
"""

TAKEN = """
SELECT args ->> 'thread_id' FROM procrastinate_jobs JOIN pg_locks ON objid::bigint = worker_id AND classid::bigint = %s
JOIN pg_stat_activity USING (pid) WHERE status = 'doing' AND locktype = 'advisory' AND application_name LIKE %s
"""
WORKING = (
    "SELECT split_part(application_name, ' ', 3) FROM pg_stat_activity WHERE application_name LIKE 'baton works %'"
)

WORK = """
import gc
gc.disable()  # as the command line does while it imports
import asyncio, os, sys
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
gc.enable()

def note(line: str) -> None:
    with open("notes", "a") as notes:
        notes.write(line + "\\n")

async def act(brief, desk):
    if brief.task.id == "lead":
        scouting = await desk.recruit("scout", "Look ahead.")
        desk.mail("reads", (await desk.result(scouting)).result)
        return scouting
    if brief.task.id == "reads":
        return ", ".join(sorted({mail.text for mail in desk.inbox()}))
    if brief.task.id == "asks":
        said = await desk.ask("launch")
        await desk.once("tell", note, {"line": brief.query})
        return said.type
    await asyncio.sleep(float(sys.argv[2]))
    return "done"

async def scout(brief, desk):
    await asyncio.sleep(float(sys.argv[2]))
    return "clear"

async def main():
    team = [AgentSpec(name="ada", role="generalist", run=act), AgentSpec(name="bea", role="scout", run=scout)]
    async with open_supervisor(sys.argv[1], team, {}, ScriptedModel([])) as sup:
        await sup.work(int(sys.argv[3]), drain_s=5)

asyncio.run(main())
"""


class Crew:
    """The workers, each a process; one that is killed is replaced."""

    def __init__(self, db: str, threads: list[str]) -> None:
        self.db = db
        self.numbers = {number(thread_id) % 2**64: thread_id for thread_id in threads}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.deaths: list[tuple[float, set[str]]] = []
        """When, and the threads that it had: by their lease, or as jobs that it was about to begin."""
        self.chance = random.Random(SEED)

    def hire(self) -> None:
        command = [sys.executable, "-c", WORK, self.db, str(TASK_S), str(AT_ONCE)]
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))

    async def be_killed(self, notes: Path) -> None:
        """Kill a worker and hire another, again and again: at random, or as the work goes on."""
        while len(self.deaths) < KILLS:
            await asyncio.sleep(self.chance.uniform(0.02, max(0.02, 2 * PAUSE_S)))
            if PAUSE_S or len(told(notes)) >= (len(self.deaths) + 1) * len(self.numbers) // (KILLS + 1):
                victim = await asyncio.to_thread(self.victim)
                if victim:
                    self.processes.remove(victim)
                    await asyncio.to_thread(self.kill, victim)
                    self.hire()

    def victim(self) -> subprocess.Popen[bytes] | None:
        """One of them; where seconds count, one that has begun, when another has, too."""
        if not isfinite(LATEST_S):
            return self.chance.choice(self.processes)
        with psycopg.connect(self.db) as connection:
            begun = {int(pid) for (pid,) in connection.execute(WORKING).fetchall()}
        living = [process for process in self.processes if process.pid in begun]
        return self.chance.choice(living) if len(living) > 1 else None

    def kill(self, victim: subprocess.Popen[bytes]) -> None:
        """Kill it, at a moment that is known to it alone, and note what it had."""
        victim.send_signal(signal.SIGSTOP)
        with psycopg.connect(self.db) as connection:
            held = connection.execute(HELD, [f"{NAMED} {victim.pid} %"]).fetchall()
            taken = connection.execute(TAKEN, [ALIVE, f"baton works {victim.pid} %"]).fetchall()
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        had = {self.numbers[n % 2**64] for (n,) in held if n % 2**64 in self.numbers}
        self.deaths.append((time.time(), had | {thread_id for (thread_id,) in taken}))

    def deaths_of(self, thread_id: str) -> list[float]:
        """When those died that had it."""
        return [at for at, had in self.deaths if thread_id in had]

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
    threads = [f"t{number}" for number in range(RUNS)]
    crew = Crew(on_postgres, threads)
    team = agent(), agent(name="bea", role="scout")
    async with runs.opened(*team, db=on_postgres, clock=SystemClock()) as sup:
        for thread_id in threads:
            await sup.enqueue(thread_id, thread_id=thread_id, plan=plan(*TASKS))
        for _ in range(WORKERS):
            crew.hire()
        killing = asyncio.create_task(crew.be_killed(tmp_path / "notes"))
        try:
            async with asyncio.timeout(PATIENCE_S + 10 * KILLS + RUNS * EACH * TASK_S):
                left = set(threads)
                while left:
                    for name in sorted(left):  # one by one: each answer takes a connection
                        if await answer_what_is_asked(sup, name, tmp_path / "notes"):
                            left.remove(name)
                    await asyncio.sleep(len(left) / 50)  # a look at each takes the processor from the workers
        finally:
            killing.cancel()
            codes = await asyncio.to_thread(crew.end)
        ended = [await sup.view(thread_id) for thread_id in threads]
        events = {thread_id: await sup.events(thread_id) for thread_id in threads}

    waits = [wait for name in threads for wait in until_next_steps(events[name], crew.deaths_of(name))]
    seconds = " ".join(f"{wait:.1f}" for wait in sorted(waits))
    sys.stderr.write(
        f"\n{len(crew.deaths)} deaths cut off {len(waits)} runs; seconds to the next step of each: {seconds}\n"
    )

    assert [run.status for run in ended] == ["complete"] * RUNS
    done = Counter(
        (name, event.task_id)
        for name, happened in events.items()
        for event in happened
        if event.kind == "task_finished"
    )
    assert set(done.values()) == {1}, "a task was finished twice"
    assert len(done) == RUNS * EACH
    assert sorted(told(tmp_path / "notes")) == sorted(threads), "an effect was done twice, or not"
    results = [{task.id: task.result for task in run.tasks} for run in ended]
    assert [(found["asks"], found["reads"]) for found in results] == [("approve", "clear")] * RUNS
    assert len(crew.deaths) == KILLS
    assert set(codes) <= {0, -signal.SIGTERM}, "the latter: it had not begun to work yet"
    assert max(waits, default=0) <= LATEST_S


def until_next_steps(events: list[Event], deaths: list[float]) -> list[float]:
    """Seconds from each death to what was done next in a run that it cut off.

    Left out are those after which the next was a human's answer, or nothing, or that of whoever had it then, too.
    """
    found = []
    for died_at, next_death in pairwise([*deaths, inf]):
        after = next((event for event in events if event.ts > died_at), None)
        if after and after.ts <= next_death and after.kind != "approval_answered":
            found.append(after.ts - died_at)
    return found
