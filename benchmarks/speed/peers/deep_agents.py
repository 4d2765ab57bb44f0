"""deepagents: the main agent gives each task to a subagent by its `task` tool, several in one reply; kept in memory."""

import asyncio
import time
from pathlib import Path

import plans
from deepagents import create_deep_agent
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from peers.rounds import Leader


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run."""
    ended: list[str] = []

    async def work(state: MessagesState) -> MessagesState:
        step = plan.by_id[str(state["messages"][-1].content)]
        await asyncio.sleep(step.seconds)
        ended.append(step.id)
        return {"messages": [AIMessage(f"finding of {step.id}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    subagent = {"name": "worker", "description": "Does a step.", "runnable": builder.compile()}
    leader = Leader(
        plan=plan,
        call_for=lambda step: {"name": "task", "args": {"description": step, "subagent_type": "worker"}},
        latency_s=latency_s,
    )
    agent = create_deep_agent(leader, subagents=[subagent])
    start = time.perf_counter()
    await agent.ainvoke({"messages": [("user", "Measure.")]}, {"recursion_limit": 5000})
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
