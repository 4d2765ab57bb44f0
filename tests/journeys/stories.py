"""The stories that are told in processes that die."""

import asyncio
from pathlib import Path

from state.agent import AgentSpec
from state.brief import Brief
from state.supervisor import Json
from tests.journeys.doom import Story, note
from tests.runs import agent, plan
from nodes.runtime.desk import Desk

TWELVE = plan(
    "a", "b", "c", "d <- a", "e <- a b", "f <- c", "g <- d e", "h <- f", "i", "j <- g h", "k <- i", "l <- j k"
)


def twelve(folder: Path) -> Story:
    """Twelve tasks of one agent, who writes down when it starts and ends each."""

    async def work(brief: Brief, desk: Desk) -> str:
        note(folder, f"start {brief.task.id}")
        await asyncio.sleep(0.002)
        note(folder, f"end {brief.task.id}")
        return f"{brief.task.id} of {sorted(brief.inputs)}"

    return Story([agent(work)], TWELVE, {"max_parallel": 3})
