"""What PostgreSQL costs beside an SQLite file, in one process and alternated: a chain, and ten runs at once.

    PYTHONPATH=. python benchmarks/speed/databases.py [PAIRS]

Agents are functions that return at once, so what is measured is what a run does to keep itself. The server is started
for this, with what it ships with but for the durability of the last moment (`synchronous_commit`): `off` promises what
SQLite's `NORMAL` does (a killed process loses nothing), `on` what its `FULL` does (the machine may lose its power).
A ratio is the median of those of the pairs; both of a pair are measured within the same seconds.
"""

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import own_costs  # noqa: E402 - found by the line above
import plans  # noqa: E402

from graph import Supervisor, open_supervisor  # noqa: E402
from tests import postgres  # noqa: E402 - which knows how to start a server

PAIRS = 15
CHAIN = 50
"""Tasks of the one run."""
AT_ONCE, EACH = 10, 10
"""Runs, and tasks of each."""
MOST_COST, LEAST_THROUGHPUT = 1.25, 0.9
"""What PostgreSQL may cost a task, and how much of the throughput is to be left."""


@dataclass(frozen=True)
class Kind:
    """What is measured: it says how many tasks have ended."""

    name: str
    once: Callable[[Supervisor], Awaitable[int]]


async def chain(sup: Supervisor) -> int:
    """One run, whose tasks wait for each other."""
    await sup.start("Measure.", plan=own_costs.given(plans.chain(CHAIN)))
    return CHAIN


async def at_once(sup: Supervisor) -> int:
    """Some runs at once."""
    await asyncio.gather(*(sup.start("Measure.", plan=own_costs.given(plans.chain(EACH))) for _ in range(AT_ONCE)))
    return AT_ONCE * EACH


async def seconds(kind: Kind, sup: Supervisor) -> float:
    """Seconds that a task takes."""
    gc.collect()
    begun = time.perf_counter()
    ended = await kind.once(sup)
    return (time.perf_counter() - begun) / ended


async def pairs(kind: Kind, sqlite: Supervisor, server: Supervisor, count: int) -> list[tuple[float, float]]:
    """Seconds a task on each; who is first changes."""
    found = []
    for number in range(count + 1):
        if number % 2:
            there = await seconds(kind, server)
            here = await seconds(kind, sqlite)
        else:
            here = await seconds(kind, sqlite)
            there = await seconds(kind, server)
        found.append((here, there))
    return found[1:]  # the first warms both up


async def compare(address: str, folder: Path, count: int) -> None:
    """Measure and print."""
    team = own_costs.TEAM
    async with open_supervisor(folder / "runs.db", team) as sqlite, open_supervisor(address, team) as server:
        for kind in (Kind(f"one run of {CHAIN} tasks", chain), Kind(f"{AT_ONCE} runs of {EACH} at once", at_once)):
            found = await pairs(kind, sqlite, server, count)
            here, there = (1000 * median(column) for column in zip(*found, strict=True))
            cost = sorted(theirs / ours for ours, theirs in found)
            middle = median(cost)
            print(
                f"  {kind.name}: SQLite {here:.2f} ms a task, PostgreSQL {there:.2f}; cost {middle:.2f} x"
                f" ({cost[len(cost) // 4]:.2f} to {cost[-1 - len(cost) // 4]:.2f}), throughput {1 / middle:.2f} x"
            )


def main(count: int) -> None:
    """Measure with each durability."""
    for commit in ("off", "on"):
        with (
            tempfile.TemporaryDirectory() as folder,
            postgres.own_server(options=f"-c synchronous_commit={commit}") as s,
        ):
            print(f"synchronous_commit={commit}")
            asyncio.run(compare(postgres.new_database(s.address, "baton"), Path(folder), count))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
