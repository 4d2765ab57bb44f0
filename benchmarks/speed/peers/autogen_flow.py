"""AutoGen's GraphFlow: an agent for each task, edges of a directed graph from all it needs; kept in memory."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import plans
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow
from autogen_core import CancellationToken

START = "supervisor"


class Worker(BaseChatAgent):
    """Does one step."""

    produced_message_types = (TextMessage,)

    def __init__(self, name: str, seconds: float, ended: list[str]) -> None:
        super().__init__(name, "Does a step.")
        self.seconds, self.ended = seconds, ended

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:  # noqa: ARG002
        """Do it."""
        await asyncio.sleep(self.seconds)
        self.ended.append(self.name)
        return Response(chat_message=TextMessage(content=f"finding of {self.name}", source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Nothing is kept."""


async def run(plan: plans.Plan, latency_s: float, folder: Path) -> float:  # noqa: ARG001 - it is kept in memory
    """Seconds of one run; with latency, a first agent decides on the plan."""
    ended: list[str] = []
    workers = {START: Worker(START, latency_s, [])}
    workers |= {step.id: Worker(step.id, step.seconds, ended) for step in plan.steps}
    builder = DiGraphBuilder()
    for worker in workers.values():
        builder.add_node(worker, activation="all")
    for step in plan.steps:
        for other in plan.needs(step) or [START]:
            builder.add_edge(workers[other], workers[step.id])
    flow = GraphFlow(builder.get_participants(), builder.build())
    start = time.perf_counter()
    await flow.run(task="Measure.")
    taken = time.perf_counter() - start
    plans.check(plan, ended)
    return taken
