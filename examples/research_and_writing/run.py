"""Research and writing: a supervisor has one agent plan the research and another one write the report.

    python examples/research_and_writing/run.py [MODEL]

Without a model's name a script plays what a model would say, so that it runs with no key and no network.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from graph import AgentSpec, Plan, Task, open_supervisor
from graph.testing import ScriptedModel
from state.event import Event
from state.run import Run

TOPIC = "Write a report on the history of Large Language Models."

TEAM = [
    AgentSpec(
        name="ReportSupervisor",
        role="supervisor",
        specialty="coordinating research and writing",
        instructions=(
            "You coordinate two workers. First delegate the topic to ResearchAgent, then delegate to WriterAgent with "
            "the research plan as part of the task. Then answer with the report as it is."
        ),
        workers=["ResearchAgent", "WriterAgent"],
    ),
    AgentSpec(
        name="ResearchAgent",
        role="research planner",
        specialty="step-by-step research plans with key stages and milestones",
        instructions="Give the plan and nothing else.",
    ),
    AgentSpec(
        name="WriterAgent",
        role="academic writer",
        specialty="structured reports from research plans",
        instructions="Give the report and nothing else.",
    ),
]

PLAN = Plan(tasks=[Task(id="report", description=TOPIC, role="supervisor", kind="writing")])

OUTLINE = """1. Before transformers: statistical models, word embeddings, recurrent networks.
2. 2017 to 2020: the transformer, pretraining at scale.
3. Since 2020: general-purpose models reach everybody."""

REPORT = """# The History of Large Language Models

Language models began as statistics over words, and became networks that learn from what they read.

The transformer made them trainable at scale; size and data did much of the rest.

Since 2020 they are general tools, used by people who know nothing of how they work."""


def delegate(worker: str, task: str, constraints: str = "") -> dict[str, Any]:
    """A call of `delegate_to_agent`, as a model makes it."""
    args = {"worker_agent": worker, "task": task, "constraints": constraints}
    return {"name": "delegate_to_agent", "args": args}


def script() -> ScriptedModel:
    """What a model would say, by who is asked."""
    write = f"Write the report from this plan:\n{OUTLINE}"
    return ScriptedModel(
        {
            "You are ReportSupervisor,": [
                delegate("ResearchAgent", f"Plan the research for: {TOPIC}"),
                delegate("WriterAgent", write, "At most one page."),
                REPORT,
            ],
            "You are ResearchAgent,": OUTLINE,
            "You are WriterAgent,": REPORT,
        }
    )


async def carry_out(folder: Path, model: str | None = None) -> tuple[Run, list[Event]]:
    """The run and its events."""
    policy = {"max_iterations": 0}
    async with open_supervisor(folder / "baton.db", TEAM, policy, model or script()) as sup:
        run = await sup.start(TOPIC, plan=PLAN)
        return run, await sup.events(run.thread_id)


def main() -> int:
    """Print who did what, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        run, events = asyncio.run(carry_out(Path(folder), sys.argv[1] if len(sys.argv) > 1 else None))
    for event in events:
        if event.kind.startswith(("delegation", "task")):
            print(event.kind, " > ".join([*event.path, *map(str, filter(None, [event.data.get("worker")]))]))
    print(f"\n{run.tasks[0].result or run.error}")
    return 0 if run.status == "complete" else 1


if __name__ == "__main__":
    sys.exit(main())
