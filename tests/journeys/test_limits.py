"""Limits hold to the call however many agents are at it; then the run ends in order, with what it has, and says so."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import StructuredTool, tool
from langgraph.pregel.remote import RemoteGraph

from graph.app import build_supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import Delay, ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief, Limits
from state.errors import BadInput
from tests.journeys.steered import THREAD, happened, supervisor, under_way
from tests.runs import agent, opened, plan, statuses

FIFTY = plan(*(f"t{n}" for n in range(50)))
PER_CALL = (40, 10)
"""Tokens of a call: 20 of them make 1000."""


@pytest.mark.parametrize(
    ("policy", "limit"),
    [
        ({"max_agent_iterations": 20}, "the run's limit of 20 model calls (max_agent_iterations) is reached"),
        ({"token_budget": 1000}, "the token_budget of 1000 is used up (1000 spent)"),
        ({"token_budget": 1049}, "the token_budget of 1049 is used up (1000 spent)"),
    ],
)
async def test_fifty_agents_at_once_make_exactly_the_calls_that_the_budget_has_room_for(
    policy: dict[str, Any], limit: str
) -> None:
    model = ScriptedModel({lambda text: True: Delay(0.001, "Done.")}, usage=PER_CALL)
    worker = AgentSpec(name="ada", role="generalist")
    async with supervisor(worker, model=model, max_parallel=50, max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=FIFTY, policy=policy)
        said = [event.data["reason"] for event in await happened(sup, "budget_exceeded")]

    assert len(model.calls) == run.usage.calls == 20
    assert (run.status, run.error, said) == ("partial", limit, [limit])
    assert run.report is not None
    assert f"**Stopped early:** {limit}" in run.report
    done = [task for task in run.tasks if task.status == "done"]
    assert len(done) == 20
    assert f"{len(done)} of 50 tasks done" in run.report


async def test_calls_that_fail_count_too() -> None:
    model = ScriptedModel({lambda text: True: ConnectionError("gone")})
    worker = AgentSpec(name="ada", role="generalist")
    async with opened(worker, model=model, max_parallel=50, max_agent_iterations=20) as sup:
        run = await sup.start("Q", plan=FIFTY)

    assert run.status == "failed"
    assert len(model.calls) == 20


def looker() -> AgentSpec:
    @tool
    async def look() -> str:
        """Look."""
        return "nothing new"

    return AgentSpec(name="ada", role="generalist", tools=[look])


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(iterations=3), "it reached its limit of 3 model calls"),
        (Limits(tokens=160), "it reached its limit of 160 tokens"),
    ],
)
async def test_an_agent_at_its_own_limit_answers_with_what_it_has(limits: Limits, said: str) -> None:
    def looks_on(messages: Any, tools: list[str]) -> Any:
        return {"name": "look", "args": {"n": len(messages)}} if tools else "What I have."

    model = ScriptedModel({lambda text: True: looks_on}, usage=PER_CALL)
    worker = looker().model_copy(update={"limits": limits})
    async with opened(worker, model=model, max_iterations=0, oversight="on_the_loop") as sup:
        run = await sup.start("Q", plan=plan("a", "b"))

    assert run.status == "complete"
    assert [(task.result, task.tokens) for task in run.tasks] == 2 * [
        (f"What I have.\n\n(The agent stopped early: {said}.)", 150)
    ]


async def test_no_task_starts_when_the_money_is_spent() -> None:
    async def buys(brief: Brief, desk: Desk) -> dict[str, Any]:
        return {"result": brief.task.id, "cost": 0.4}

    async with opened(agent(buys), cost_budget=1.0) as sup:
        run = await sup.start("Q", plan=plan("a", "b <- a", "c <- b", "d <- c", "e <- d"))

    assert (run.status, run.error) == ("partial", "the cost_budget of $1.00 is used up ($1.20 spent)")
    assert statuses(run) == {"a": "done", "b": "done", "c": "done", "d": "cancelled", "e": "skipped"}
    assert run.usage.cost == pytest.approx(1.2)


async def test_a_tool_that_costs_more_than_is_left_is_not_called() -> None:
    bought: list[str] = []

    async def buy(item: str) -> str:
        """Buy."""
        bought.append(item)
        return f"{item} is yours"

    shop = StructuredTool.from_function(coroutine=buy, name="acquire", description="Buy.", metadata={"cost": 0.4})
    calls = [{"name": "acquire", "args": {"item": name}, "id": name} for name in "pqr"]
    worker = AgentSpec(name="ada", role="generalist", tools=[shop])
    async with opened(worker, model=ScriptedModel([*calls, "Done."]), cost_budget=1.0, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert bought == ["p", "q"]
    assert run.usage.cost == pytest.approx(0.8)
    assert (run.status, run.error) == ("failed", "the cost_budget of $1.00 is used up ($0.80 spent)")


class Alarm(HeldClock):
    """Sleeping `until` takes until somebody rings; any other sleep takes no time."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self.until, self.rings = until, asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if seconds == self.until:
            await self.rings.wait()


async def test_when_time_is_up_calls_end_and_what_was_finished_is_delivered() -> None:
    clock, at_work = Alarm(90.0), asyncio.Event()

    async def works(brief: Brief, desk: Desk) -> str:
        if brief.task.id == "slow":
            at_work.set()
            await asyncio.Event().wait()
        return "quick"

    async with opened(agent(works), clock=clock, max_seconds=90.0) as sup:
        async with under_way(sup, plan("quick", "slow <- quick", "late <- slow")) as running:
            await at_work.wait()
            clock.rings.set()
        run = running.result()

    assert (run.status, run.error) == ("partial", "the run's limit of 90 seconds is reached")
    assert statuses(run) == {"quick": "done", "slow": "cancelled", "late": "cancelled"}
    assert run.report is not None
    assert "quick" in run.report


class Endless(HeldClock):
    """Who sleeps does not wake up."""

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.Event().wait()


async def test_time_in_earlier_rounds_counts_and_waiting_for_a_human_does_not() -> None:
    clock = Endless()

    async def takes_forty(brief: Brief, desk: Desk) -> str:
        clock.time += 40
        if brief.task.id == "b":
            await desk.ask("go on")
        return "done"

    async with opened(agent(takes_forty), clock=clock, max_seconds=200.0) as sup:
        waiting = await sup.start("Q", plan=plan("a", "b <- a"))
        clock.time += 1_000
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: True})

    assert run.status == "complete"
    assert clock.slept == [200.0, 120.0]


RUNS: dict[str, Callable[[], Any]] = {
    "a function": lambda: None,
    "a remote graph": lambda: RemoteGraph("there", url="http://127.0.0.1:1"),
    "a supervisor": lambda: build_supervisor([agent()], model=ScriptedModel([])),
}


@pytest.mark.parametrize("limits", [Limits(tokens=10), Limits(iterations=3)])
@pytest.mark.parametrize("kind", RUNS)
async def test_a_limit_that_cannot_be_enforced_is_refused_before_anything_starts(kind: str, limits: Limits) -> None:
    with pytest.raises(BadInput, match=r"cannot be enforced.*use limits\.timeout_s"):
        async with opened(agent(RUNS[kind](), limits=limits)):
            pass


async def test_an_agent_that_takes_too_long_is_stopped_and_the_task_fails_as_timed_out() -> None:
    async def hangs(brief: Brief, desk: Desk) -> str:
        await asyncio.Event().wait()
        return "never"

    async with opened(agent(hangs, limits=Limits(timeout_s=0.01)), max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == "failed"
    assert run.tasks[0].error == "no result within 0.01 seconds"
