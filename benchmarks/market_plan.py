"""The market plan: A 15, B 12, C 18, D 15 beside each other, E 15 after all of them, F 10 after E.

At 8 of its 18, C recruits a pricing analyst (10), for whom E waits too: the critical path stays C, E, F = 43.
One unit is 0.05 s. Everything is recorded in SQLite.

    python benchmarks/market_plan.py [RUNS]
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

UNIT_S = 0.05
UNITS = {"A": 15, "B": 12, "C": 18, "D": 15, "E": 15, "F": 10}
RECRUIT_AT, RECRUITED = 8, 10
CRITICAL_PATH = 43
AT_MOST = 1.03


async def work(brief: Brief, desk: Desk) -> str:
    """Take as long as the task does; C recruits half-way."""
    units = UNITS.get(brief.task.id, RECRUITED)
    if brief.task.id == "C":
        await asyncio.sleep(RECRUIT_AT * UNIT_S)
        recruited = await desk.recruit("pricing_analyst", "Look into prices.")
        if not recruited:
            raise SystemExit(f"the recruit was refused: {recruited}")
        units -= RECRUIT_AT
    await asyncio.sleep(units * UNIT_S)
    return f"{brief.task.id} from {', '.join(sorted(brief.inputs)) or 'nothing'}"


def plan() -> Plan:
    """The plan as it is given: nobody knows of the recruit."""
    after = {"E": list("ABCD"), "F": ["E"]}
    return Plan(tasks=[Task(id=n, description=f"Do {n}.", role=n, depends_on=after.get(n, [])) for n in UNITS])


async def measured(db: Path) -> float:
    """Seconds of one run."""
    team = [AgentSpec(name=name, role=name, run=work) for name in UNITS]
    team.append(AgentSpec(name="pia", role="pricing_analyst", run=work))
    async with open_supervisor(db, team) as sup:
        begun = time.perf_counter()
        run = await sup.start("Measure.", plan=plan())
        taken = time.perf_counter() - begun
    results = {task.id: task.result for task in run.tasks}
    if run.status != "complete" or results["E"] != "E from A, B, C, C.r1, D":
        raise SystemExit(f"the run ended as {run.status}: {run.error}, E as {results['E']}")
    return taken


def main() -> None:
    """Measure some runs and print the median."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        taken = [asyncio.run(measured(Path(folder) / f"{n}.db")) / UNIT_S for n in range(runs)]
    total = median(taken)
    print(f"critical path {CRITICAL_PATH}, total {total:.2f} units of {UNIT_S} s (median of {runs})")
    print(f"ratio {total / CRITICAL_PATH:.3f} (at most {AT_MOST:.2f})")


if __name__ == "__main__":
    main()
