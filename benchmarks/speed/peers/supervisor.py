"""langgraph-supervisor: the model hands over to an agent for each task, one in a reply as is its default; in memory.

With `parallel_tool_calls` 0.0.31 runs one of the agents that are called in one reply, and leaves the others out.
"""

import asyncio
import time
from pathlib import Path

import plans
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_supervisor import create_supervisor

from peers.rounds import Leader


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run."""
    ended: list[str] = []

    def agent(step: plans.Step):
        async def work(_: MessagesState) -> MessagesState:
            await asyncio.sleep(step.seconds)
            ended.append(step.id)
            return {"messages": [AIMessage(f"finding of {step.id}", name=step.id)]}

        builder = StateGraph(MessagesState)
        builder.add_node("work", work)
        builder.add_edge(START, "work")
        builder.add_edge("work", END)
        return builder.compile(name=step.id)

    leader = Leader(
        plan=plan,
        call_for=lambda step: {"name": f"transfer_to_{step.lower()}", "args": {}},
        latency_s=latency_s,
        at_once=False,
    )
    graph = create_supervisor([agent(step) for step in plan.steps], model=leader).compile()
    start = time.perf_counter()
    await graph.ainvoke({"messages": [("user", "Measure.")]}, {"recursion_limit": 5000})
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
