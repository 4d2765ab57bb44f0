"""A lead with a researcher, a coder and an analyst: it delegates, looks at the results, delegates again, answers.

    python examples/lead_with_workers/run.py [MODEL]

Without a model's name a script plays what a model would say, so that it runs with no key and no network. The team is
in `team.yaml`; the limits of the run are in `POLICY`.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from graph import Plan, Policy, Task, open_supervisor
from graph.testing import ScriptedModel
from state.event import Event
from state.run import Run

HERE = Path(__file__).parent
TASK = "Which of two sorting functions should we ship? Measure, do not guess."
POLICY = Policy(
    token_budget=500_000,
    max_agent_iterations=200,
    delegation="allowed",
    max_delegation_depth=2,
    max_iterations=0,
)
PLAN = Plan(tasks=[Task(id="decide", description=TASK, role="lead")])


def delegate(worker: str, task: str, constraints: str = "") -> dict[str, Any]:
    """A call of `delegate_to_agent`, as a model makes it."""
    args = {"worker_agent": worker, "task": task, "constraints": constraints}
    return {"name": "delegate_to_agent", "args": args}


def script() -> ScriptedModel:
    """What a model would say, by who is asked."""
    both = [
        delegate("researcher", "What do users sort, and how much of it?", "Facts only."),
        delegate("coder", "Write a benchmark for both functions.", "Standard library only."),
    ]
    compare = delegate("analyst", "Compare 120 ms with 200 ms: by how much is the first one faster?")
    return ScriptedModel(
        {
            "You are lead,": [both, compare, "Ship the first one: it is 40 % faster on lists of 1000 names."],
            "You are researcher,": "Users sort lists of about 1000 names.",
            "You are coder,": "The benchmark ran: 120 ms for the first function, 200 ms for the second.",
            "You are analyst,": [
                {"name": "calculate", "args": {"expression": "(200 - 120) / 200"}},
                "The first one takes 40 % less time.",
            ],
        }
    )


async def carry_out(folder: Path, model: str | None = None) -> tuple[Run, list[Event]]:
    """The run and its events."""
    async with open_supervisor(folder / "baton.db", HERE / "team.yaml", POLICY, model or script()) as sup:
        run = await sup.start(TASK, plan=PLAN)
        return run, await sup.events(run.thread_id)


def main() -> int:
    """Print who did what, and the answer."""
    with tempfile.TemporaryDirectory() as folder:
        run, events = asyncio.run(carry_out(Path(folder), sys.argv[1] if len(sys.argv) > 1 else None))
    for event in events:
        if event.kind.startswith(("delegation", "task")):
            told = [event.data.get(key) for key in ("worker", "tokens", "duration_s")]
            print(event.kind, " > ".join(event.path), *(one for one in told if one is not None))
    print(f"\n{run.tasks[0].result or run.error}")
    return 0 if run.status == "complete" else 1


if __name__ == "__main__":
    sys.exit(main())
