"""A CrewAI Flow: a method for each task, which listens for all that it needs; kept in memory."""

import asyncio
import time
from pathlib import Path

import plans
from crewai.flow.flow import Flow, and_, listen, start


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run; with latency, a first method decides on the plan."""
    ended: list[str] = []

    async def supervisor(_: Flow) -> str:
        await asyncio.sleep(latency_s)
        return "begin"

    def method_of(step: plans.Step):
        async def work(_: Flow, found: object = None) -> str:  # noqa: ARG001 - of who was waited for
            await asyncio.sleep(step.seconds)
            ended.append(step.id)
            return f"finding of {step.id}"

        work.__name__ = step.id
        needs = plan.needs(step)
        return listen(and_(*needs) if len(needs) > 1 else needs[0] if needs else "supervisor")(work)

    methods = {step.id: method_of(step) for step in plan.steps}
    flow = type(Flow)("Measured", (Flow,), {"supervisor": start()(supervisor), **methods})(
        suppress_flow_events=True, tracing=False
    )
    begun = time.perf_counter()
    await flow.kickoff_async()
    taken = time.perf_counter() - begun
    plans.check(plan, ended)
    return taken
