"""Failing well: what is tried again, who takes over, when a run gives up, and what it still delivers."""

from typing import Any

import pytest

from graph.testing import HeldClock
from nodes.runtime.desk import Desk
from state.agent import Brief, Skills
from state.errors import AgentFailed
from tests.journeys.steered import THREAD, happened
from tests.runs import Turns, agent, opened, plan, statuses


async def fails_if_told(brief: Brief, desk: Desk) -> str:
    """Fails for good where the task says so."""
    if brief.task.description.startswith("Fail"):
        raise AgentFailed(f"{brief.task.id} broke", "permanent")
    return f"result of {brief.task.id}"


def failing(count: int, of: int) -> dict[str, Any]:
    return plan(*({"id": f"t{n}", "description": f"{'Fail' if n < count else 'Do'} t{n}."} for n in range(of)))


@pytest.mark.parametrize(
    ("count", "of", "status"), [(3, 6, "partial"), (4, 6, "failed"), (4, 8, "partial"), (5, 8, "failed")]
)
async def test_a_run_gives_up_when_more_than_half_of_its_tasks_failed(count: int, of: int, status: str) -> None:
    async with opened(agent(fails_if_told), max_parallel=1) as sup:
        run = await sup.start("Q", plan=failing(count, of))

    assert run.status == status
    assert run.report is not None
    if status == "partial":
        assert run.error == "not done: " + ", ".join(f"t{n} (t{n} broke)" for n in range(count))
        assert statuses(run) == {f"t{n}": "failed" if n < count else "done" for n in range(of)}
        assert "## What is missing" in run.report
        assert all(f"`t{n}` (failed), Fail t{n}.: t{n} broke" in run.report for n in range(count))
        assert all(f"result of t{n}" in run.report for n in range(count, of))
    else:
        assert run.error is not None
        assert run.error.startswith(f"{count} of {of} tasks failed; at {count} the run stops (threshold 50%)")


async def test_a_run_that_gives_up_delivers_what_was_finished() -> None:
    tasks = plan("first", *({"id": f"t{n}", "description": "Fail.", "depends_on": ["first"]} for n in range(3)))
    async with opened(agent(fails_if_told), max_parallel=1) as sup:
        run = await sup.start("Q", plan=tasks)

    assert (run.status, statuses(run)["first"]) == ("failed", "done")
    assert run.report is not None
    assert "result of first" in run.report
    assert "**Stopped early:**" in run.report


async def test_results_belong_to_their_tasks_whatever_failed_or_was_recruited_in_between() -> None:
    async def work(brief: Brief, desk: Desk) -> str:
        if brief.task.id == "b":
            await desk.recruit("generalist", "Help b.")
        return await fails_if_told(brief, desk)

    tasks = plan("a", "b", {"id": "c", "description": "Fail c."}, "d", "e <- a b c d")
    async with opened(agent(work)) as sup:
        run = await sup.start("Q", plan=tasks)

    assert run.status == "partial"
    assert {task.id: task.result for task in run.tasks if task.status == "done"} == {
        task: f"result of {task}" for task in ("a", "b", "d", "e", "b.r1")
    }
    assert statuses(run)["c"] == "failed"


async def test_what_may_pass_is_tried_again_after_waits_that_grow() -> None:
    clock, work = HeldClock(), Turns(ConnectionError("gone"), ConnectionError("gone"), "there")
    async with opened(agent(work), clock=clock) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        retries = [(event.data["attempt"], event.data["delay_s"]) for event in await happened(sup, "task_retried")]

    assert (run.status, run.tasks[0].result, run.tasks[0].attempts) == ("complete", "there", 3)
    assert clock.slept == [0.5, 1.0]
    assert retries == [(2, 0.5), (3, 1.0)]


@pytest.mark.parametrize(
    "error", [TypeError("a defect"), AgentFailed("no", "permanent"), AgentFailed("no", "rejected")]
)
async def test_what_will_not_pass_is_not_tried_again(error: Exception) -> None:
    clock, work = HeldClock(), Turns(error, "never")
    async with opened(agent(work), clock=clock) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.tasks[0].attempts, clock.slept) == ("failed", 1, [])


async def test_the_next_best_agent_takes_over_and_the_result_is_its_own() -> None:
    skilled = Skills(kinds={"general": 0.9})
    team = [
        agent(Turns(AgentFailed("no", "permanent")), skills=skilled),
        agent(name="bob", role="other", skills=skilled),
    ]
    async with opened(*team) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.tasks[0].agent, run.tasks[0].attempts) == ("complete", "bob", 2)


@pytest.mark.parametrize(("policy", "status"), [("degrade", "done"), ("skip", "skipped")])
async def test_a_task_whose_input_failed_works_with_the_rest_or_is_skipped(policy: str, status: str) -> None:
    work = Turns("fine")

    async def either(brief: Brief, desk: Desk) -> object:
        return await work(brief, desk) if brief.task.id == "c" else await fails_if_told(brief, desk)

    tasks = plan("a", {"id": "b", "description": "Fail b."}, "c <- a b", "d")
    async with opened(agent(either), on_failed_input=policy) as sup:
        run = await sup.start("Q", plan=tasks)

    assert (run.status, statuses(run)["c"]) == ("partial", status)
    assert [brief.missing for brief in work.briefs] == ([["b"]] if policy == "degrade" else [])


async def test_a_task_that_is_not_required_may_fail_without_counting() -> None:
    tasks = plan("a", {"id": "b", "description": "Fail b.", "required": False})
    async with opened(agent(fails_if_told), failure_threshold={"default": 0.0}) as sup:
        run = await sup.start("Q", plan=tasks)

    assert (run.status, statuses(run)) == ("complete", {"a": "done", "b": "skipped"})
