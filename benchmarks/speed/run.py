"""Measures one candidate; prints a line of JSON for each plan.

    python benchmarks/speed/run.py CANDIDATE [RUNS] [LATENCY_S]

A candidate is a module beside this one or below `peers` with an async function `run(plan, latency_s, folder)`, which
returns the seconds it took; it needs what its own package needs, and nothing of Baton. `LATENCY_S`: what each call of
the model takes that decides who is next, where there is one.
"""

import asyncio
import gc
import importlib
import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import plans  # noqa: E402 - found by the line above

GIVES_UP_S = 30.0
"""Seconds after which a candidate is not asked for larger plans."""


def main() -> None:
    """Measure, and print as it goes."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    name, runs, latency = sys.argv[1], int([*sys.argv, "3"][2]), float([*sys.argv, "", "0"][3] or 0)
    candidate = importlib.import_module(name)
    for plan in plans.measured(large=not latency):
        if latency and plan.name not in ("skew", "market"):
            continue
        taken = []
        try:
            for _ in range(1 if plan.name.startswith("random") or len(plan.steps) >= 1000 else runs):
                gc.collect()
                with tempfile.TemporaryDirectory() as folder:
                    limit = asyncio.wait_for(candidate.run(plan, latency, Path(folder)), GIVES_UP_S)
                    taken.append(asyncio.run(limit))
            told = {"median_s": median(taken), "runs_s": taken}
        except Exception as error:  # noqa: BLE001 - whatever keeps a candidate from a plan is told, and the next is tried
            told = {"failed": f"{type(error).__name__}: {error}"[:300]}
        about = {"candidate": name, "plan": plan.name, "latency_s": latency, "tasks": len(plan.steps)}
        print(json.dumps({**about, "critical_s": plan.critical_s, **told}), flush=True)


if __name__ == "__main__":
    main()
