"""LangGraph's StateGraph: a node for each task, edges from all it needs; SQLite. A superstep waits for its slowest."""

import asyncio
import operator
import time
from pathlib import Path
from typing import Annotated

import plans
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class Findings(TypedDict):
    """What the tasks have found."""

    found: Annotated[dict[str, str], operator.or_]


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:
    """Seconds of one run; with latency, a first node decides on the plan."""
    builder = StateGraph(Findings)

    def node(step: plans.Step):
        async def work(_: Findings) -> Findings:
            await asyncio.sleep(step.seconds)
            return {"found": {step.id: f"finding of {step.id}"}}

        return work

    async def decide(_: Findings) -> Findings:
        await asyncio.sleep(latency_s)
        return {"found": {}}

    builder.add_node("supervisor", decide)
    builder.add_edge(START, "supervisor")
    needed: set[str] = set()
    for step in plan.steps:
        builder.add_node(step.id, node(step))
        builder.add_edge(plan.needs(step) or "supervisor", step.id)
        needed.update(plan.needs(step))
    builder.add_edge([step.id for step in plan.steps if step.id not in needed], END)
    async with AsyncSqliteSaver.from_conn_string(str(folder / "runs.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=NORMAL")
        graph = builder.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 5000}
        start = time.perf_counter()
        made = await graph.ainvoke({"found": {}}, config, durability="async")
        taken = time.perf_counter() - start
    if len(made["found"]) != len(plan.steps):
        raise RuntimeError("tasks are missing")
    return taken
