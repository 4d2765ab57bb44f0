"""Every third call of a model fails: at once, after a while, with nonsense, or it is refused. Every run ends in order.

`RUNS` says how many (default 10; by hand 100).
"""

import asyncio
import random
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel, Step
from state.agent import AgentSpec
from state.errors import ModelRejected, ModelUnavailable
from state.replies import PlanDraft, Review, TaskDraft
from tests.campaigns import check, how_many
from tests.journeys.doom import THREAD
from tests.journeys.turns import AT_ONCE
from tests.runs import opened

SHARE = 0.3
AGAIN = 40
"""How often a run is gone on with that a failing model has stopped."""


def failing(seed: int) -> tuple[ScriptedModel, list[Exception]]:
    """Plans three tasks, does them, accepts, puts together; three of ten calls fail. And how they failed so far."""
    chance, failed = random.Random(seed), list[Exception]()

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        if chance.random() >= SHARE:
            return _reply(messages, tools)
        ways = [ModelUnavailable("503"), TimeoutError("slow"), ConnectionError("reset"), ModelRejected("refused"), ""]
        way = chance.choice(ways)
        failed.append(way if isinstance(way, Exception) else ValueError("it said nothing"))
        return way

    return ScriptedModel({lambda text: True: reply}), failed


def _reply(messages: list[BaseMessage], tools: list[str]) -> Step:
    if "PlanDraft" in tools:
        drafts = [TaskDraft(id=name, description=f"Look into {name}.") for name in ("north", "south", "east")]
        return PlanDraft(tasks=drafts, complexity=0.5)
    if "Review" in tools:
        return Review(verdicts=[])
    return "It is fine.\nConfidence: 0.9"


@pytest.mark.campaign
async def test_with_three_of_ten_calls_failing_every_run_ends_in_order(tmp_path: Path) -> None:
    count, room, wrong = how_many("RUNS", 10), asyncio.Semaphore(AT_ONCE), list[str]()
    calls, failed, ends = 0, 0, list[str]()

    async def story(seed: int) -> None:
        nonlocal calls, failed
        async with room:
            (model, how), said = failing(seed), ""
            worker = AgentSpec(name="ada", role="generalist")
            async with opened(worker, model=model, clock=HeldClock(), db=tmp_path / f"{seed}.db") as sup:
                run = await sup.start("Q", thread_id=THREAD)
                for _ in range(AGAIN):
                    if run.has_ended:
                        break
                    if run.status != "waiting" and (run.status != "failed" or not run.error or "\n" in run.error):
                        said = f"{seed}: stopped as {run.status}, saying {run.error!r}"
                    if run.waits_for == "answers":
                        run = await sup.answer(THREAD, {asked.id: True for asked in run.approvals})
                    else:
                        run = await sup.resume(THREAD)
                numbers = [event.seq for event in await sup.events(THREAD)]
            calls, failed = calls + len(model.calls), failed + len(how)
            ends.append(run.status)
            is_in_order = run.has_ended and run.report and numbers == list(range(1, len(numbers) + 1))
            if not is_in_order or (run.status != "complete" and not run.error):
                wrong.append(f"{seed}: {run.status} {run.waits_for} {run.error}")
            if said:
                wrong.append(said)

    async with asyncio.TaskGroup() as group:
        for seed in range(count):
            group.create_task(story(seed))
    of = {f"ended_{status}": float(ends.count(status)) for status in sorted(set(ends))}
    check("runs with failing models", count, wrong, calls=calls, failed=failed, **of)
