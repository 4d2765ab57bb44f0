"""Pydantic Graph's builder: a step for each task, a join in front of those that need several; kept in memory."""

import asyncio
import time
from pathlib import Path

import plans
from pydantic_graph import GraphBuilder, StepContext
from pydantic_graph.join import reduce_list_append


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run; with latency, a first step decides on the plan."""
    ended: list[str] = []
    builder = GraphBuilder(output_type=list[str])

    def step_of(step: plans.Step):
        async def work(_: StepContext[None, None, object]) -> str:
            await asyncio.sleep(step.seconds)
            ended.append(step.id)
            return f"finding of {step.id}"

        return builder.step(work, node_id=step.id)

    async def decide(_: StepContext[None, None, object]) -> str:
        await asyncio.sleep(latency_s)
        return "begin"

    first = builder.step(decide, node_id="supervisor")
    steps = {step.id: step_of(step) for step in plan.steps}
    entries, needed = {}, set()
    for step in plan.steps:
        entries[step.id] = steps[step.id]
        needed.update(plan.needs(step))
        if len(plan.needs(step)) > 1:
            entries[step.id] = builder.join(reduce_list_append, initial_factory=list[str])
            builder.add(builder.edge_from(entries[step.id]).to(steps[step.id]))
    answer = builder.join(reduce_list_append, initial_factory=list[str])
    builder.add(builder.edge_from(builder.start_node).to(first), builder.edge_from(answer).to(builder.end_node))
    builder.add(builder.edge_from(first).to(*(entries[step.id] for step in plan.steps if not plan.needs(step))))
    for name, node in steps.items():
        after = [entries[step.id] for step in plan.steps if name in plan.needs(step)]
        builder.add(builder.edge_from(node).to(*(after or [answer])))
    graph = builder.build()
    start = time.perf_counter()
    await graph.run()
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
