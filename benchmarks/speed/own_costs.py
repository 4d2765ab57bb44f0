"""What Baton costs by itself: resuming, looking, disk, many runs at once, `synchronous`. `make bench` prints it.

    python benchmarks/speed/own_costs.py

Agents are functions that return at once. `bare` is one LangGraph @task for each task, on the same file and saver.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import plans  # noqa: E402 - found by the line above
from langgraph.func import entrypoint, task  # noqa: E402

from graph import AgentSpec, Plan, Task, open_supervisor  # noqa: E402
from graph.database import open_database  # noqa: E402
from nodes.runtime.desk import Desk  # noqa: E402
from state.agent import Brief  # noqa: E402


async def work(brief: Brief, desk: Desk) -> str:  # noqa: ARG001 - an agent takes both
    """Return at once."""
    return f"finding of {brief.task.id}"


TEAM = [AgentSpec(name="ada", role="generalist", run=work)]
POLICY = {"max_parallel": 1000}


def given(plan: plans.Plan) -> Plan:
    """The plan as Baton takes it."""
    return Plan(tasks=[Task(id=s.id, description=f"Do {s.id}.", depends_on=list(s.after)) for s in plan.steps])


async def resuming(folder: Path) -> tuple[float, float]:
    """Seconds to resume a run whose first 999 tasks have ended, and to show it before."""
    stopped = asyncio.Event()

    async def stops(brief: Brief, desk: Desk) -> str:
        if brief.task.id == "last" and not stopped.is_set():
            stopped.set()
            await asyncio.Event().wait()
        return await work(brief, desk)

    wide = given(plans.wide(999)).tasks
    plan = Plan(tasks=[*wide, Task(id="last", description="Do last.", depends_on=[one.id for one in wide])])
    team = [AgentSpec(name="ada", role="generalist", run=stops)]
    async with open_supervisor(folder / "runs.db", team, POLICY) as sup:
        running = asyncio.create_task(sup.start("Measure.", thread_id="t", plan=plan))
        await stopped.wait()
        running.cancel()
        await asyncio.wait({running})
    async with open_supervisor(folder / "runs.db", team, POLICY) as sup:
        begun = time.perf_counter()
        await sup.view("t")
        seen = time.perf_counter()
        run = await sup.resume("t")
        taken = time.perf_counter() - seen
    if run.status != "complete":
        raise RuntimeError(f"the run ended as {run.status}: {run.error}")
    return taken, seen - begun


async def at_once(folder: Path, count: int) -> float:
    """Tasks a second, of so many runs of ten tasks each at once."""
    plan = given(plans.chain(10))
    async with open_supervisor(folder / "runs.db", TEAM) as sup:
        begun = time.perf_counter()
        await asyncio.gather(*(sup.start("Measure.", plan=plan) for _ in range(count)))
        return 10 * count / (time.perf_counter() - begun)


async def bare_at_once(folder: Path, count: int) -> float:
    """The same with bare @tasks."""
    async with open_database(folder / "runs.db") as database:

        @entrypoint(checkpointer=database.checkpointer)
        async def workflow(_: str) -> int:
            for step in plans.chain(10).steps:

                async def work() -> str:
                    return "finding"

                await task(name=step.id)(work)()
            return 10

        begun = time.perf_counter()
        runs = (workflow.ainvoke("M", {"configurable": {"thread_id": f"t{n}"}}) for n in range(count))
        await asyncio.gather(*runs)
        return 10 * count / (time.perf_counter() - begun)


async def each(folder: Path, count: int, synchronous: str) -> tuple[float, float]:
    """Milliseconds and kilobytes that a task of a chain costs."""
    os.environ["BATON_SYNCHRONOUS"] = synchronous
    async with open_supervisor(folder / "runs.db", TEAM) as sup:
        begun = time.perf_counter()
        await sup.start("Measure.", plan=given(plans.chain(count)))
        taken = time.perf_counter() - begun
    return 1000 * taken / count, _size(folder) / count / 1024


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("runs.db*"))


def measured(once: Callable[[Path], Awaitable[Any]], runs: int = 3) -> list[Any]:
    """What some runs came to, each in a folder of its own."""
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            found.append(asyncio.run(once(Path(folder))))  # type: ignore[arg-type]
    return found


def main() -> None:
    """Measure and print."""
    resumed = measured(resuming)
    print(f"resume of 999 finished tasks: {median(one[0] for one in resumed):.2f} s")
    print(f"a run of 1,000 tasks shown: {median(one[1] for one in resumed):.2f} s")
    for count in (10, 100, 1000):
        taken = measured(lambda folder, n=count: each(folder, n, "NORMAL"))
        ms, size = median(one[0] for one in taken), median(one[1] for one in taken)
        print(f"a task of a chain of {count}: {ms:.2f} ms, {size:.1f} KB")
    full = measured(lambda folder: each(folder, 100, "FULL"))
    print(f"a task of a chain of 100, synchronous=FULL: {median(one[0] for one in full):.2f} ms")
    for count in (1, 10, 100):
        ours = median(measured(lambda folder, n=count: at_once(folder, n)))
        bare = median(measured(lambda folder, n=count: bare_at_once(folder, n)))
        print(
            f"{count} runs of 10 tasks at once: {ours:.0f} tasks a second; bare @tasks {bare:.0f}; {ours / bare:.2f} x"
        )


if __name__ == "__main__":
    main()
