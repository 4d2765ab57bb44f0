"""LangGraph's functional API with a scheduler of one's own: a @task for each step, awaited by who needs it; SQLite."""

import asyncio
import time
from pathlib import Path

import plans
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:
    """Seconds of one run; with latency, one call that decides on the plan comes first."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "runs.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=NORMAL")

        @entrypoint(checkpointer=saver)
        async def workflow(_: str) -> dict[str, str]:
            begun: dict[str, asyncio.Task[str]] = {}

            async def step_of(step: plans.Step) -> str:
                await asyncio.gather(*(begun[other] for other in plan.needs(step)))

                async def work() -> str:
                    await asyncio.sleep(step.seconds)
                    return f"finding of {step.id}"

                return await task(name=f"work:{step.id}")(work)()

            if latency_s:
                await asyncio.sleep(latency_s)
            for step in plan.steps:
                begun[step.id] = asyncio.create_task(step_of(step))
            await asyncio.gather(*begun.values())
            return {name: one.result() for name, one in begun.items()}

        start = time.perf_counter()
        made = await workflow.ainvoke("Measure.", {"configurable": {"thread_id": "t"}}, durability="async")
        taken = time.perf_counter() - start
    if len(made) != len(plan.steps):
        raise RuntimeError("tasks are missing")
    return taken
