"""Microsoft Agent Framework's functional workflow: async code with a scheduler of one's own; kept in memory."""

import asyncio
import time
from pathlib import Path

import plans
from agent_framework import WorkflowBuilder, WorkflowContext, executor


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run; with latency, a first executor decides on the plan."""
    ended: list[str] = []

    def step_of(step: plans.Step):
        if len(plan.needs(step)) > 1:

            @executor(id=step.id)
            async def work(given: list[str], ctx: WorkflowContext[str]) -> None:  # noqa: ARG001
                await asyncio.sleep(step.seconds)
                ended.append(step.id)
                await ctx.send_message(f"finding of {step.id}")
        else:

            @executor(id=step.id)
            async def work(given: str, ctx: WorkflowContext[str]) -> None:  # noqa: ARG001
                await asyncio.sleep(step.seconds)
                ended.append(step.id)
                await ctx.send_message(f"finding of {step.id}")

        return work

    @executor(id="supervisor")
    async def decide(given: str, ctx: WorkflowContext[str]) -> None:
        await asyncio.sleep(latency_s)
        await ctx.send_message(given)

    workers = {step.id: step_of(step) for step in plan.steps}
    builder = WorkflowBuilder(start_executor=decide, max_iterations=5000)
    for step in plan.steps:
        needs = plan.needs(step)
        if len(needs) > 1:
            builder.add_fan_in_edges([workers[other] for other in needs], workers[step.id])
        else:
            builder.add_edge(workers[needs[0]] if needs else decide, workers[step.id])
    workflow = builder.build()
    start = time.perf_counter()
    await workflow.run("Measure.")
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
