"""Measures what supervising is worth: the same requests, agents and seeds through eight systems.

    python benchmarks/proof/run.py            prints the table
    python benchmarks/proof/run.py --write    keeps it in results.json too, and table and plot in README.md

Facts and parts are shares of what there is to say; makespan is in simulated seconds, of which one takes SECOND real
ones, with what the systems themselves take on top. Nothing is left out or tried again where it went wrong. As facts and
calls depend on the seed, the systems that the choice is between are then sent through other seeds, too, faster.
"""

import asyncio
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from systems import baton, dag_with_retries, one_agent, peer_supervisor, plain_dag  # noqa: E402 - found by the line above
from world import Chances, Request, World, earlier, facts_in, requests  # noqa: E402

README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- proof: written by make proof -->", "<!-- end of proof -->"
SECOND = 0.2
"""Real seconds of a simulated one."""
AT_ONCE = 14
"""Requests at the same time."""
SEED = 7
SEEDS = range(7, 13)
QUICK_SECOND = 0.01
"""Where no makespan is measured."""
ROUGH = Chances()
WORLDS = {
    "20 % failures, 5 % of no use, one gap a plan": ROUGH,
    "5 % failures, 2 % of no use, a gap": replace(ROUGH, fails=0.05, unhelpful=0.02, forgets=0.02),
    "20 % failures, no gap, nothing of no use": replace(ROUGH, gaps=0, unhelpful=0.0, forgets=0.0),
    "nothing goes wrong": replace(ROUGH, fails=0.0, unhelpful=0.0, forgets=0.0, gaps=0, nags=0.0),
}
"""The first is the one that is measured with all systems; the others show when a plain DAG is the better choice."""
System = Callable[[World], Awaitable[tuple[str, int]]]
UNLEARNED, AS_IT_COMES = "Baton supervisor", "Baton supervisor, as it comes"
"""The first learns nothing. The other has the default policy, and remembers its runs, one after the other."""
SHORT = ("plain DAG", "plain DAG, three tries", UNLEARNED)
Row = dict[str, float]


async def measured(name: str, system: System, chances: Chances, asked: list[Request], seed: int, second: float) -> Row:
    """The means over all requests."""
    room = asyncio.Semaphore(1 if name == AS_IT_COMES else AT_ONCE)

    async def one(request: Request) -> Row:
        async with room:
            world = World(seed, request, chances, second)
            begun = time.perf_counter()
            answer, questions = await system(world)
            taken = time.perf_counter() - begun
        found, there = facts_in(request, answer)
        whole = sum(all(fact in " ".join(answer.split()) for fact in part.facts) for part in request.parts)
        return {
            "facts": found / there,
            "whole parts": whole / len(request.parts),
            "makespan, s": taken / second,
            "calls": world.spent.calls,
            "tokens": world.spent.tokens,
            "questions": questions,
        }

    rows = await asyncio.gather(*map(one, asked))
    return {name: mean(row[name] for row in rows) for name in rows[0]}


def systems(folder: Path) -> dict[str, System]:
    """All systems, by what they are called."""
    count = iter(range(1_000_000))

    def database(learned: Path | None = None) -> Path:
        path = folder / f"{next(count)}.db"
        if learned:
            shutil.copy(learned, path)
        return path

    return {
        "one agent": one_agent,
        "plain DAG": plain_dag,
        "plain DAG, three tries": dag_with_retries,
        "langgraph-supervisor": peer_supervisor,
        "Baton dag": lambda world: baton(world, database(), max_iterations=0),
        UNLEARNED: lambda world: baton(world, database()),
        "Baton supervisor with a reviewer": lambda world: baton(world, database(), reviewer="critic"),
        "Baton supervisor after ten runs": lambda world: baton(
            world, database(folder / "learned.db"), learning="apply"
        ),
    }


async def learn(folder: Path) -> None:
    """Ten runs for similar requests, one after the other."""
    for n, request in enumerate(earlier()):
        world = World(SEED, request, ROUGH, SECOND)
        await baton(world, folder / "learned.db", f"earlier {n}", learning="apply")


async def everything(folder: Path) -> dict[str, dict[str, Row]]:
    """By world and system."""
    await learn(folder)
    asked, results = requests(), dict[str, dict[str, Row]]()
    for place, (name, chances) in enumerate(WORLDS.items()):
        results[name] = {}
        for system, run in systems(folder / str(place)).items() if place == 0 else short(folder / str(place)).items():
            print(f"measuring {system}: {name}", file=sys.stderr, flush=True)
            results[name][system] = await measured(system, run, chances, asked, SEED, SECOND)
    return results


def short(folder: Path, names: Collection[str] = SHORT) -> dict[str, System]:
    """The systems that the choice is between."""
    return {name: run for name, run in systems(folder).items() if name in names}


def as_it_comes(folder: Path) -> System:
    """Baton with its default policy and one database for all requests."""
    return lambda world: baton(world, folder / "remembered.db", world.request.id, learning="apply")


async def by_seed(folder: Path) -> dict[str, dict[str, Row]]:
    """By seed and system."""
    results = dict[str, dict[str, Row]]()
    for seed in SEEDS:
        print(f"measuring seed {seed}", file=sys.stderr, flush=True)
        place = folder / f"seed{seed}"
        place.mkdir()
        results[str(seed)] = {
            name: await measured(name, run, ROUGH, requests(), seed, QUICK_SECOND)
            for name, run in {**short(place, ("plain DAG", UNLEARNED)), AS_IT_COMES: as_it_comes(place)}.items()
        }
    return results


def table(rows: dict[str, Row]) -> str:
    """The figures in Markdown."""
    base = rows["plain DAG"]
    columns = list(base)
    lines = [
        "| | " + " | ".join(columns) + " | facts, to a plain DAG | calls, to a plain DAG |",
        "|---" * (len(columns) + 3) + "|",
    ]
    for name, row in rows.items():
        shown = [
            f"{row[column]:.0%}" if column in ("facts", "whole parts") else f"{row[column]:.3g}" for column in columns
        ]
        shown[columns.index("tokens")] = f"{row['tokens']:,.0f}"
        ratios = [f"{row[key] / base[key]:.2f} x" for key in ("facts", "calls")]
        lines.append(f"| {name} | {' | '.join([*shown, *ratios])} |")
    return "\n".join(lines)


def plot(rows: dict[str, Row]) -> str:
    """The share of the facts that each delivers."""
    names = ", ".join(f'"{name}"' for name in rows)
    values = ", ".join(f"{100 * row['facts']:.0f}" for row in rows.values())
    return (
        "```mermaid\nxychart-beta horizontal\n"
        '    title "Key facts delivered, % (20 % of calls fail, one gap a plan)"\n'
        f"    x-axis [{names}]\n    y-axis 0 --> 100\n    bar [{values}]\n```"
    )


def conditions(results: dict[str, dict[str, Row]]) -> str:
    """Facts and calls of those that the choice is between, world by world."""
    lines = ["| facts / calls | " + " | ".join(SHORT) + " |", "|---" * (len(SHORT) + 1) + "|"]
    for name, rows in results.items():
        shown = (f"{rows[system]['facts']:.0%} / {rows[system]['calls']:.1f}" for system in SHORT)
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def seeds(results: dict[str, dict[str, Row]]) -> str:
    """Facts and calls of the supervisor, as multiples of the plain DAG's, seed by seed, and those of all together."""
    named = [UNLEARNED, AS_IT_COMES]
    lines = ["| facts / calls, to a plain DAG | " + " | ".join(named) + " |", "|---" * (len(named) + 1) + "|"]
    together = {
        name: {key: mean(rows[name][key] for rows in results.values()) for key in ("facts", "calls")}
        for name in ("plain DAG", *named)
    }
    for seed, rows in [*((f"seed {seed}", rows) for seed, rows in results.items()), ("all", together)]:
        base = rows["plain DAG"]
        ratios = (
            f"{rows[name]['facts'] / base['facts']:.2f} x / {rows[name]['calls'] / base['calls']:.2f} x"
            for name in named
        )
        lines.append(f"| {seed} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and keep it where that is asked for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in range(len(WORLDS)):
            (folder / str(place)).mkdir()
            (folder / str(place) / "learned.db").symlink_to(folder / "learned.db")
        results = asyncio.run(everything(folder))
        more = asyncio.run(by_seed(folder))
    first = next(iter(results.values()))
    shown = "\n\n".join([table(first), plot(first), conditions(results), seeds(more)])
    print(shown)
    if "--write" not in sys.argv[1:]:
        return
    about: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "processors": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[1], 1),
        "requests": len(requests()),
    }
    (HERE / "results.json").write_text(
        json.dumps({**about, "results": results, "seeds": more}, indent=1) + "\n", "utf-8"
    )
    said = (
        "Measured {date} with Python {python} on {processors} processors at a load of {load}: {requests} requests over "
        "three corpora, means of one run."
    ).format(**about)
    before, _, rest = README.read_text("utf-8").partition(BEGIN)
    README.write_text(f"{before}{BEGIN}\n\n{said}\n\n{shown}\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
