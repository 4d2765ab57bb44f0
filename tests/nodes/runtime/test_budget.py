"""The meter: room is reserved before a call and settled after, so that no two calls get the same room."""

import asyncio

import pytest
from langgraph.store.memory import InMemoryStore

from nodes.runtime.budget import Budget
from nodes.runtime.rows import read_ledger
from state.errors import AgentFailed
from state.record import Usage
from tests.nodes.runtime.executions import THREAD, make_run

CALL = Usage(input_tokens=8, output_tokens=2, calls=1)


async def call(budget: Budget, used: Usage | None = CALL, task: str = "t1") -> None:
    async with budget.call(task, "ada", 40) as room:
        await asyncio.sleep(0)
        room.used = used


async def tried(budget: Budget, count: int) -> int:
    """How many of so many calls at once there was room for."""
    made = await asyncio.gather(*(call(budget) for _ in range(count)), return_exceptions=True)
    assert all(error is None or isinstance(error, AgentFailed) for error in made)
    return made.count(None)


@pytest.mark.parametrize("limit", [1, 7, 20])
async def test_of_fifty_calls_at_once_exactly_as_many_are_made_as_there_is_room_for(limit: int) -> None:
    budget = Budget(make_run(max_agent_iterations=limit))
    assert await tried(budget, 50) == limit
    assert budget.used().calls == limit


@pytest.mark.parametrize("limit", [400, 405, 409])
async def test_a_budget_of_tokens_is_used_up_to_the_last_call_that_fits(limit: int) -> None:
    budget = Budget(make_run(token_budget=limit))
    await call(budget)  # from now on it is known what a call uses
    assert await tried(budget, 50) == 39
    assert budget.used().total_tokens == 400


async def test_a_call_waits_for_one_under_way_that_may_leave_room() -> None:
    budget = Budget(make_run(token_budget=300))  # two first calls are expected to use more than that
    assert await tried(budget, 2) == 2


async def test_what_was_used_is_on_the_ledger_for_run_task_and_agent_and_still_there_after_a_crash() -> None:
    store = InMemoryStore()
    budget = Budget(make_run(store))
    await call(budget, task="t1")
    await call(budget, task="t2")
    again = Budget(make_run(store))
    await again.load(Usage())

    assert set(await read_ledger(store, THREAD)) == {"run", "task:t1", "task:t2", "agent:ada"}
    assert (again.used(), again.used("task:t2"), again.used("agent:ada")) == (CALL + CALL, CALL, CALL + CALL)


async def test_a_call_that_failed_counts_as_made_and_gives_the_rest_of_its_room_back() -> None:
    budget = Budget(make_run(max_agent_iterations=2))
    with pytest.raises(ConnectionError):
        async with budget.call("t1", "ada", 40):
            raise ConnectionError
    assert budget.used() == Usage(calls=1)
    assert await tried(budget, 5) == 1


async def test_a_limit_is_reported_once_and_holds_from_then_on() -> None:
    run = make_run(max_agent_iterations=1)
    budget = Budget(run)
    await tried(budget, 5)
    limit = "the run's limit of 1 model calls (max_agent_iterations) is reached"
    assert (await budget.exhausted_by(), budget.exhausted) == (limit, limit)
    kinds = [item.value["kind"] for item in await run.store.asearch(("events", THREAD))]
    assert kinds == ["budget_exceeded"]


async def test_money_is_spent_only_where_there_is_room_for_it() -> None:
    budget = Budget(make_run(cost_budget=1.0))
    await budget.charge("t1", "ada", 0.75)
    with pytest.raises(AgentFailed, match="cost_budget"):
        await budget.charge("t1", "ada", 0.5)
    assert budget.used().cost == 0.75


async def test_the_supervisor_s_own_tokens_count_towards_the_budget_and_its_calls_do_not() -> None:
    budget = Budget(make_run(token_budget=100, max_agent_iterations=1))
    await budget.load(Usage(input_tokens=95, calls=5))
    with pytest.raises(AgentFailed, match="token_budget"):
        await call(budget)
    roomy = Budget(make_run(max_agent_iterations=1))
    await roomy.load(Usage(input_tokens=95, calls=5))
    await call(roomy)
