"""How long a plan takes against its critical path: `a 0.1 -> c 0.4; b 0.4 -> d 0.1; c, d -> e 0.1` seconds.

Waves with a barrier between them take 0.9 s; the critical path is 0.6. Everything is recorded in SQLite.

    python benchmarks/barrier_free.py [RUNS]
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import AgentSpec, Plan, Task, open_supervisor
from nodes.runtime.desk import Desk
from state.agent import Brief

SECONDS = {"a": 0.1, "b": 0.4, "c": 0.4, "d": 0.1, "e": 0.1}
AFTER = {"c": ["a"], "d": ["b"], "e": ["c", "d"]}
CRITICAL_PATH_S = 0.6
AT_MOST = 1.10


async def work(brief: Brief, desk: Desk) -> str:  # noqa: ARG001 - an agent takes both
    """Take as long as the task does."""
    await asyncio.sleep(SECONDS[brief.task.id])
    return f"{brief.task.id} is done"


async def measured(db: Path) -> float:
    """Seconds of one run."""
    plan = Plan(tasks=[Task(id=name, description=f"Do {name}.", depends_on=AFTER.get(name, [])) for name in SECONDS])
    async with open_supervisor(db, [AgentSpec(name="ada", role="generalist", run=work)]) as sup:
        begun = time.perf_counter()
        run = await sup.start("Measure.", plan=plan)
        taken = time.perf_counter() - begun
    if run.status != "complete":
        raise SystemExit(f"the run ended as {run.status}: {run.error}")
    return taken


def main() -> None:
    """Measure some runs and print the median."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        taken = [asyncio.run(measured(Path(folder) / f"{n}.db")) for n in range(runs)]
    total = median(taken)
    print(f"critical path {CRITICAL_PATH_S:.3f} s, total {total:.3f} s (median of {runs}), waves 0.900 s")
    print(f"ratio {total / CRITICAL_PATH_S:.3f} (at most {AT_MOST:.2f})")


if __name__ == "__main__":
    main()
