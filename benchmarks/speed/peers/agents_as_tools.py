"""LangChain's `create_agent` with agents as tools: the model calls all that can begin at once, then is asked again."""

import asyncio
import time
from pathlib import Path

import plans
from langchain.agents import create_agent
from langchain_core.tools import tool

from peers.rounds import Leader


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run."""
    ended: list[str] = []

    @tool
    async def work(step: str) -> str:
        """Have an agent do a step."""
        await asyncio.sleep(plan.by_id[step].seconds)
        ended.append(step)
        return f"finding of {step}"

    leader = Leader(plan=plan, call_for=lambda step: {"name": "work", "args": {"step": step}}, latency_s=latency_s)
    agent = create_agent(leader, [work])
    start = time.perf_counter()
    await agent.ainvoke({"messages": [("user", "Measure.")]}, {"recursion_limit": 5000})
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
