"""What many runs leave behind: memory of a process, bytes of a file, and how long a look takes in a large one.

python benchmarks/many_runs.py [RUNS] [ENDED]

Memory is what the process has of the machine's (Linux), after a tenth of `RUNS` and after all of them. `ENDED` runs are
copies of one that was carried out, with all its rows. Of each kind of look the fastest of 50 counts: what other
programs on the machine take is no part of it.
"""

import asyncio
import gc
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import AgentSpec, Plan, Supervisor, Task, open_supervisor
from graph.testing import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import Brief

FIRST = "t-000000"
LOOKS = 50
PLAN = Plan(tasks=[Task(id="a", description="Do it."), Task(id="b", description="Go on.", depends_on=["a"])])

# The key of a run's row in the index and the rest of it have the thread's name; nothing else looks like it.
_NUMBERED = f"replace({{}}, '{FIRST}', printf('t-%06d', n))"
_COPY = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
INSERT INTO {table} ({columns}) SELECT {values} FROM {table}, numbers WHERE {which}
"""


async def says(brief: Brief, desk: Desk) -> str:  # noqa: ARG001 - an agent takes both
    """The simplest agent."""
    return f"{brief.task.id} is done"


def opened(db: str | Path) -> Supervisor:
    """A supervisor whose only agent is a function."""
    team = [AgentSpec(name="ada", role="generalist", run=says)]
    return open_supervisor(db, team, {"oversight": "on_the_loop"}, ScriptedModel([]))  # type: ignore[return-value]


async def memory(db: Path, count: int) -> tuple[float, float]:
    """Megabytes after a tenth of the runs, and after all."""
    found = []
    async with opened(db) as sup:
        for number in range(count):
            await sup.start("Do both.", thread_id=f"m-{number}", plan=PLAN)
            if number + 1 in (count // 10, count):
                gc.collect()
                pages = int(Path("/proc/self/statm").read_text().split()[1])  # noqa: ASYNC240 - no file on a disk
                found.append(pages * resource.getpagesize() / 1e6)
    return found[0], found[1]


def multiply(db: Path, count: int) -> None:
    """Copy the run, so many times."""
    copied = {
        "checkpoints": (["thread_id"], f"thread_id = '{FIRST}'"),
        "store": (["prefix", "key", "value"], f"prefix LIKE '%{FIRST}%' OR key LIKE '%{FIRST}%'"),
    }
    with closing(sqlite3.connect(db)) as file:
        for table, (named, which) in copied.items():
            columns = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
            values = [_NUMBERED.format(column) if column in named else column for column in columns]
            sql = _COPY.format(table=table, columns=", ".join(columns), values=", ".join(values), which=which)
            file.execute(sql, [count - 1])
        file.commit()


async def looks(db: str | Path) -> dict[str, float]:
    """Milliseconds of each kind of look."""
    async with opened(db) as sup:

        async def timed(look: Callable[[], Awaitable[object]]) -> float:
            taken = []
            for _ in range(LOOKS):
                at = time.perf_counter()
                await look()
                taken.append((time.perf_counter() - at) * 1000)
            return min(taken)

        kinds: dict[str, Callable[[], Awaitable[object]]] = {
            "what is due (baton watch)": sup.due,
            "what is open (baton inbox)": lambda: sup.runs(only_open=True),
            "one run (baton status)": lambda: sup.view(FIRST),
            "a page of 20 (baton runs)": lambda: sup.runs(limit=20),
        }
        return {name: await timed(look) for name, look in kinds.items()}


async def main(count: int, ended: int) -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = await memory(Path(folder) / "memory.db", count)
        print(f"memory after {count // 10} runs {small:.1f} MB, after {count} {large:.1f} MB: {large / small - 1:+.1%}")
        db = Path(folder) / "ended.db"
        async with opened(db) as sup:
            await sup.start("Do both.", thread_id=FIRST, plan=PLAN)
        await asyncio.to_thread(multiply, db, ended)
        size = db.stat().st_size
        print(f"{ended} ended runs: {size / 1e6:.0f} MB, {size / ended / 1000:.1f} kB each")
        for name, ms in (await looks(db)).items():
            print(f"  {name}: {ms:.1f} ms")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    asyncio.run(main(*(given + [1000, 50_000][len(given) :])))
