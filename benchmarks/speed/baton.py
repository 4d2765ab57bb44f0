"""Baton on its SQLite database: agents are functions; the plan is given, or made by a model with latency."""

import asyncio
import time
from pathlib import Path

import plans

from graph import AgentSpec, Plan, Task, open_supervisor
from nodes.llm.scripted import Delay, ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import Brief
from state.replies import PlanDraft, TaskDraft


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:
    """Seconds of one run."""
    recruits = {step.recruited_by: step for step in plan.steps if step.recruited_by}
    planned = [step for step in plan.steps if not step.recruited_by]

    async def work(brief: Brief, desk: Desk) -> str:
        step = plan.by_id.get(brief.task.id) or next(iter(recruits.values()))
        left = step.seconds
        if recruit := recruits.get(step.id):
            await asyncio.sleep(recruit.recruited_at)
            if not (granted := await desk.recruit("recruit", "Look into it.")):
                raise RuntimeError(f"the recruit was refused: {granted}")
            left -= recruit.recruited_at
        await asyncio.sleep(left)
        return f"finding of {step.id}"

    drafted = PlanDraft(tasks=[TaskDraft(id=s.id, description=f"Do {s.id}.", depends_on=s.after) for s in planned])
    given = Plan(tasks=[Task(id=s.id, description=f"Do {s.id}.", depends_on=list(s.after)) for s in planned])
    team = [AgentSpec(name="ada", role="generalist", run=work), AgentSpec(name="ida", role="recruit", run=work)]
    model = ScriptedModel({"You are the supervisor": Delay(latency_s, drafted)})
    async with open_supervisor(folder / "runs.db", team, {"max_parallel": 1000}, model) as sup:
        begun = time.perf_counter()
        made = await sup.start("Measure.", plan=None if latency_s else given)
        taken = time.perf_counter() - begun
    if made.status != "complete" or len(made.tasks) != len(plan.steps):
        raise RuntimeError(f"the run ended as {made.status}: {made.error}")
    return taken
