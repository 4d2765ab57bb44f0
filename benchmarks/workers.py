"""What PostgreSQL promises whoever looks and whoever waits: looks at many ended runs, and queue to first step.

python benchmarks/workers.py [ENDED] [QUEUED]

Of each kind of look the fastest of 50 counts, as in `many_runs.py`; `ENDED` runs are copies of one that was carried
out. Queue to first step: from before the request is written, by one process, to when the agent begins in a worker that
is another, by one clock; `QUEUED` requests at intervals that fit no poll.
"""

import asyncio
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import psycopg

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from many_runs import FIRST, PLAN, looks, opened  # noqa: E402 - found by the line above

from graph import AgentSpec, Plan, Task, open_supervisor  # noqa: E402
from graph.testing import ScriptedModel  # noqa: E402
from nodes.runtime.desk import Desk  # noqa: E402
from state.agent import Brief  # noqa: E402
from tests import postgres  # noqa: E402 - which knows how to start a server

MOST_LOOK_MS, MOST_WAIT_MS = 10.0, 100.0

_NUMBERED = f"replace({{}}, '{FIRST}', 't-' || lpad(n::text, 6, '0'))"
_COPY = """
INSERT INTO {table} ({columns}) SELECT {values} FROM {table}, generate_series(1, {count}) AS n WHERE {which}
"""
_COLUMNS = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s"


def multiply(address: str, count: int) -> None:
    """Copy the run, so many times."""
    with psycopg.connect(address) as connection:
        for table in ("checkpoints", "checkpoint_blobs", "store"):
            which = f"prefix LIKE '%%{FIRST}%%' OR key = '{FIRST}'" if table == "store" else f"thread_id = '{FIRST}'"
            columns = dict(connection.execute(_COLUMNS, [table]).fetchall())
            values = [
                _NUMBERED.format(f"{name}::text") + "::jsonb" * (kind == "jsonb")
                if name in ("thread_id", "prefix", "key", "value")
                else name
                for name, kind in columns.items()
            ]
            parts = {"columns": ", ".join(columns), "values": ", ".join(values)}
            connection.execute(_COPY.format(table=table, count=count - 1, which=which, **parts).replace("%%", "%"))  # type: ignore[arg-type]


def team(began: Path) -> list[AgentSpec]:
    """An agent that notes when it begins."""

    async def begins(brief: Brief, desk: Desk) -> str:  # noqa: ARG001 - an agent takes both
        with began.open("a") as notes:
            notes.write(f"{brief.query} {time.time()}\n")
        return "begun"

    return [AgentSpec(name="ada", role="generalist", run=begins)]


def work(address: str, began: Path) -> None:
    """What the worker does."""

    async def working() -> None:
        async with open_supervisor(address, team(began), model=ScriptedModel([])) as sup:
            await sup.work(8)

    asyncio.run(working())


async def waits(address: str, began: Path, count: int) -> list[float]:
    """Milliseconds from the request to the agent's begin, of each but the first."""
    asked: dict[str, float] = {}
    worker = get_context("spawn").Process(target=work, args=(address, began))
    worker.start()
    async with open_supervisor(address, team(began), model=ScriptedModel([])) as sup:
        for number in range(count + 1):
            asked[f"q{number}"] = time.time()
            await sup.enqueue(f"q{number}", plan=Plan(tasks=[Task(id="a", description="Begin.")]))
            while not began.exists() or len(began.read_text().splitlines()) <= number:  # noqa: ASYNC110, ASYNC240
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.137)
    worker.terminate()
    worker.join()
    heard = dict(line.split() for line in began.read_text().splitlines())  # noqa: ASYNC240 - likewise
    return [1000 * (float(heard[name]) - at) for name, at in asked.items()][1:]


async def looked_at(address: str, ended: int) -> None:
    """Print how long looks take."""
    async with opened(address) as sup:
        await sup.start("Do both.", thread_id=FIRST, plan=PLAN)
    await asyncio.to_thread(multiply, address, ended)
    for name, ms in (await looks(address)).items():
        print(f"  {name}: {ms:.1f} ms")
    async with opened(address) as sup:
        begun = time.perf_counter()
        page = await sup.runs(limit=100, offset=100)
        print(f"  a page of {len(page)}: {1000 * (time.perf_counter() - begun):.0f} ms")


def main(ended: int, queued: int) -> None:
    """Measure, and print."""
    with postgres.own_server(options="-c max_connections=100") as server, tempfile.TemporaryDirectory() as folder:
        print(f"{ended} ended runs (a look at most {MOST_LOOK_MS:.0f} ms):")
        asyncio.run(looked_at(postgres.new_database(server.address, "ended"), ended))
        found = asyncio.run(waits(postgres.new_database(server.address, "queued"), Path(folder) / "began", queued))
        print(f"queue to first step (median at most {MOST_WAIT_MS:.0f} ms):")
        print(f"  median {median(found):.0f} ms, worst {max(found):.0f} ms")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [50_000, 20][len(given) :]))
