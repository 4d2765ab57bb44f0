"""A process with a run in which an agent ends what asyncio lets it end."""

import asyncio
import sys
from typing import Any

from langchain_core.runnables import RunnableLambda

from state.agent import AgentSpec, Brief
from tests.runs import agent, opened, plan

THREAD = "left"
TASKS = plan("x", {"id": "bad", "role": "bad", "depends_on": ["x"]}, "y <- bad")


async def leaves() -> str:
    sys.exit(7)


async def in_a_task(brief: Brief, desk: Any) -> str:
    return await asyncio.create_task(leaves())


async def in_a_group(brief: Brief, desk: Any) -> str:
    return str(await asyncio.gather(asyncio.sleep(0), leaves()))


async def in_a_task_that_nobody_waits_for(brief: Brief, desk: Any) -> str:
    left = asyncio.create_task(leaves())
    await asyncio.wait({left})
    return "let go"


async def as_a_runnable(given: Any) -> str:
    return await leaves()


WAYS: dict[str, Any] = {
    "a task": in_a_task,
    "a group of tasks": in_a_group,
    "a task that nobody waits for": in_a_task_that_nobody_waits_for,
    "an async RunnableLambda": RunnableLambda(as_a_runnable),
}


def begin(way: str) -> None:
    """Run until the process ends, in this way."""
    asyncio.run(_begin(way))


async def _begin(way: str) -> None:
    async with opened(agent(), AgentSpec(name="bad", role="bad", run=WAYS[way]), max_iterations=0) as sup:
        await sup.start("Q", thread_id=THREAD, plan=TASKS)
