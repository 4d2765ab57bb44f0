"""The book of trust over levels: agents of nested supervisors are counted as any others, once, also if cut off."""

import asyncio
from typing import Any

import pytest

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.policy.trust import DAY_S
from nodes.runtime.desk import Desk
from nodes.runtime.rows import read_all, space
from state.agent import AgentSpec, Brief, Limits
from state.signal import Cancel
from tests.journeys.below import unit
from tests.journeys.doom import THREAD
from tests.journeys.steered import PATIENCE_S, happened, under_way
from tests.runs import agent, all_approved, opened, plan

BELOW = plan({"id": "a", "role": "mid"}, "b")


def two_levels(ada: AgentSpec, *tasks: str, **policy: Any) -> list[AgentSpec]:
    """In the outermost run and in both below it there is an agent called ada."""
    low = unit("low", ada, tasks=tasks, **policy)
    return [unit("mid", ada, low, tasks=("n", "m: low")), ada]


async def counted(sup: Supervisor) -> dict[str, tuple[int, int]]:
    """Tasks completed and failed, by agent."""
    return {name: (trust.tasks_completed, trust.tasks_failed) for name, trust in (await sup.trust()).items()}


async def test_agents_of_all_levels_are_counted_at_the_end_of_each_run_once() -> None:
    async def work(brief: Brief, desk: Desk) -> str:
        if brief.task.id == "bad":
            raise NotImplementedError("no ships")
        return "Fine."

    async with opened(*two_levels(agent(work), "x", "y", "bad"), max_iterations=0) as sup:
        assert (await sup.start("Q", plan=BELOW)).status == "complete"
        first = await counted(sup)
        await sup.start("Q", plan=BELOW)
        second = await counted(sup)
        [run, _] = await sup.runs()
        assert sup.graph.store is not None
        assert await read_all(sup.graph.store, space("nested", run.thread_id)) == []  # nothing is left to be counted

    assert first == {"ada": (4, 1), "mid": (1, 0), "low": (1, 0)}
    assert second == {"ada": (8, 2), "mid": (2, 0), "low": (2, 0)}


class Halts:
    """Does its tasks at once, but `hang`, at which it stays until the run is over."""

    def __init__(self) -> None:
        self.hangs = asyncio.Event()

    async def __call__(self, brief: Brief, desk: Desk) -> str:
        if brief.task.id == "hang":
            self.hangs.set()
            await asyncio.Event().wait()
        return "Fine."


async def test_what_was_delivered_in_a_nested_run_that_is_cancelled_is_counted_with_the_outermost() -> None:
    work = Halts()
    async with opened(*two_levels(agent(work), "x", "y", "hang"), max_iterations=0) as sup:
        async with under_way(sup, BELOW) as running:
            await asyncio.wait_for(work.hangs.wait(), PATIENCE_S)
            await happened(sup, "task_finished", times=4)  # b, n, x and y
            assert (await counted(sup))["ada"] == (0, 0)
            await sup.signal(THREAD, Cancel())
        assert running.result().status == "cancelled"
        assert (await counted(sup)) == {"ada": (4, 0), "mid": (0, 0)}


async def test_what_was_delivered_in_a_nested_run_that_ran_out_of_time_is_counted_with_the_outermost() -> None:
    mid, ada = two_levels(agent(Halts()), "x", "y", "hang")
    late = mid.model_copy(update={"limits": Limits(timeout_s=1.5)})
    async with opened(late, ada, max_iterations=0, max_attempts=1) as sup:
        run = await sup.start("Q", plan=BELOW)
        found = await counted(sup)

    assert (run.status, run.tasks[0].status) == ("partial", "failed")
    assert found == {"ada": (4, 0), "mid": (0, 1)}


@pytest.mark.parametrize("days", [(), (0, 1, 2, 3, 7)])
async def test_auto_takes_the_mode_of_an_agent_from_its_trust_inside_too(days: tuple[float, ...]) -> None:
    clock, tasks = HeldClock(), [f"t{n}" for n in range(10)]
    mid = unit("mid", unit("low", agent(), tasks=tasks, oversight="auto"), tasks=("m: low",))
    async with opened(mid, clock=clock, max_iterations=0) as sup:
        start = clock.time
        for day in days:
            clock.time = start + day * DAY_S
            await all_approved(sup, await sup.start("Q", plan=plan({"id": "a", "role": "mid"})), by="ana")
        asked = (await sup.start("Q", plan=plan({"id": "a", "role": "mid"}))).approvals
        level = (await sup.trust()).get("ada")

    if not days:  # a novice: everything waits, the plan first
        assert [one.id for one in asked] == ["a.0.mid/m.0.low/plan.0"]
    else:
        assert (asked, level.level if level else "") == ([], "proficient")
