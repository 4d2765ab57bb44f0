"""Tries, substitutes, skips and the end of a run that fails too much (row M5). Tried through the facade."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.graph import StateGraph

from graph.testing import HeldClock
from nodes.llm.scripted import Delay, ScriptedModel, Step
from state.agent import AgentSpec, Brief, Limits
from state.errors import AgentFailed
from tests.runs import Turns, agent, opened, plan, statuses


async def test_a_second_try_may_do() -> None:
    work, clock = Turns(RuntimeError("net"), "So."), HeldClock()
    async with opened(agent(work), clock=clock) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)
    retried = [event for event in events if event.kind == "task_retried"]

    assert (run.status, run.tasks[0].result, run.tasks[0].attempts) == ("complete", "So.", 2)
    assert clock.slept == [0.5]
    assert [(event.data["attempt"], event.data["reason"]) for event in retried] == [(2, "RuntimeError: net")]


async def test_the_number_of_tries_is_the_policys() -> None:
    work = Turns(RuntimeError("net"))
    async with opened(agent(work), max_attempts=5) as sup:
        await sup.start("Q", plan=plan("a"))

    assert len(work.briefs) == 5


async def test_a_function_that_is_too_slow_is_stopped_and_tried_again() -> None:
    times = 0

    async def slow_once(brief: Brief, desk: Any) -> str:
        nonlocal times
        times += 1
        if times == 1:
            await asyncio.Event().wait()
        return "So."

    async with opened(agent(slow_once, limits=Limits(timeout_s=0.05))) as sup:
        run = await sup.start("Q", plan=plan("a"))
        [retried] = [event for event in await sup.events(run.thread_id) if event.kind == "task_retried"]

    assert (run.tasks[0].result, run.tasks[0].attempts) == ("So.", 2)
    assert "no result within 0.05 seconds" in retried.data["reason"]  # type: ignore[operator]


async def test_who_works_with_the_same_slow_server_does_not_take_over() -> None:
    model = ScriptedModel({lambda _: True: Delay(60, "never")})
    team = [AgentSpec(name=name, role="generalist", limits=Limits(timeout_s=0.2)) for name in ("ada", "bo")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.tasks[0].error, run.tasks[0].attempts) == ("no result within 0.2 seconds", 1)


async def test_a_graph_that_ran_out_of_time_goes_on_where_it_stood() -> None:
    done: list[str] = []

    async def first(state: dict[str, Any]) -> dict[str, Any]:
        done.append("first")
        return {"result": "half"}

    async def second(state: dict[str, Any]) -> dict[str, Any]:
        done.append("second")
        if done.count("second") == 1:
            await asyncio.Event().wait()
        return {"result": f"{state['result']} and half"}

    builder: Any = StateGraph(dict)
    builder.add_sequence([first, second]).set_entry_point("first")
    async with opened(agent(builder.compile(), limits=Limits(timeout_s=2.0))) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.tasks[0].result, run.tasks[0].attempts) == ("half and half", 2)
    assert done == ["first", "second", "second"]


async def test_after_three_failures_the_next_best_agent_takes_over() -> None:
    first, second, third = Turns(RuntimeError("broke")), Turns("Done by bo."), Turns("Not asked.")
    team = [
        agent(first, skills={"kinds": {"general": 0.9}}),
        agent(third, name="cy", role="other", skills={"kinds": {"general": 0.5}}),
        agent(second, name="bo", role="other", skills={"kinds": {"general": 0.6}}),
    ]
    async with opened(*team) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)

    last = [event for event in events if event.kind == "task_retried"][-1]
    assert (last.agent, last.data["attempt"], last.data["reason"]) == ("bo", 4, "ada stopped: RuntimeError: broke")
    assert (run.status, run.tasks[0].agent, run.tasks[0].result) == ("complete", "bo", "Done by bo.")
    assert (len(first.briefs), len(second.briefs), len(third.briefs), run.tasks[0].attempts) == (3, 1, 0, 4)


async def test_nobody_who_is_no_good_at_it_takes_over() -> None:
    idle = Turns("Not asked.")
    team = [agent(Turns(RuntimeError("broke"))), agent(idle, name="bo", role="diver", skills={"kinds": {"dive": 1.0}})]
    async with opened(*team, consecutive_failures=4) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, idle.briefs) == ("failed", [])


async def test_an_optional_task_that_fails_is_skipped_and_the_rest_goes_on() -> None:
    async def work(brief: Brief, desk: Any) -> object:
        if brief.task.id == "extra":
            raise AgentFailed("no luck", "permanent")
        return f"{sorted(brief.inputs)} without {brief.missing}"

    async with opened(agent(work)) as sup:
        run = await sup.start("Q", plan=plan("a", {"id": "extra", "required": False}, "end <- a extra"))

    assert (run.status, statuses(run)) == ("complete", {"a": "done", "extra": "skipped", "end": "done"})
    assert run.tasks[2].result == "['a'] without ['extra']"
    assert "- `extra` (skipped), Do extra.: no luck" in (run.report or "")


async def test_what_builds_only_on_failures_is_skipped() -> None:
    work = Turns(AgentFailed("broke", "permanent"))
    async with opened(agent(work), failure_threshold={"default": 1.0}) as sup:
        run = await sup.start("Q", plan=plan("a", "b <- a", "c <- b"))

    assert statuses(run) == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert work.tasks == ["a"]
    assert (run.status, run.error) == ("failed", "no task delivered a result: broke")


@pytest.mark.parametrize(
    ("total", "failing", "status"),
    [
        (6, 2, "partial"),
        (6, 3, "partial"),
        (6, 4, "failed"),
        (8, 2, "partial"),
        (8, 4, "partial"),
        (8, 5, "failed"),
    ],
)
async def test_a_run_gives_up_when_too_many_of_its_tasks_failed(total: int, failing: int, status: str) -> None:
    async def work(brief: Brief, desk: Any) -> str:
        number = int(brief.task.id.removeprefix("t"))
        if number < failing:
            raise AgentFailed(f"broke {number}", "permanent")
        return "Fine."

    async with opened(agent(work), max_parallel=1, consecutive_failures=9) as sup:
        run = await sup.start("Q", plan=plan(*(f"t{n}" for n in range(total))))

    assert run.status == status
    assert list(statuses(run).values()).count("failed") == failing


async def test_a_run_that_gave_up_delivers_what_was_finished() -> None:
    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id in ("b", "c"):
            raise AgentFailed("broke", "permanent")
        return f"The result of {brief.task.id}."

    async with opened(agent(work), max_parallel=1) as sup:
        run = await sup.start("Q", plan=plan("a", {"id": "b", "kind": "critical"}, "c", "d"))

    reason = "1 of 1 critical tasks failed; at 1 the run stops (threshold 0%)"
    assert (run.status, run.phase) == ("failed", "failed")
    assert (run.error or "").startswith(reason)
    assert statuses(run) == {"a": "done", "b": "failed", "c": "cancelled", "d": "cancelled"}
    assert f"**Stopped early:** {reason}" in (run.report or "")
    assert "The result of a." in (run.report or "")
    assert "- `d` (cancelled)" in (run.report or "")


async def test_what_runs_while_the_run_gives_up_is_stopped() -> None:
    stopped = asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "bad":
            raise AgentFailed("broke", "permanent")
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    async with opened(agent(work)) as sup:
        run = await sup.start("Q", plan=plan("long", {"id": "bad", "kind": "critical"}))

    assert stopped.is_set()
    assert statuses(run) == {"long": "cancelled", "bad": "failed"}


async def test_what_fails_because_a_human_refused_its_action_is_not_tried_again() -> None:
    @tool
    def send_word(text: str) -> str:
        """Send it."""
        return text

    asks: Step = {"name": "send_word", "args": {"text": "hi"}, "id": "c"}
    model, other = ScriptedModel([asks, "Failed: it was not allowed.", "again"]), Turns("In its place.")
    team = [AgentSpec(name="ada", role="generalist", tools=[send_word]), agent(other, name="bo", role="other")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: "no: too early"}, by="ana")

    assert (run.tasks[0].status, run.tasks[0].agent, run.tasks[0].attempts) == ("failed", "ada", 1)
    assert (run.tasks[0].error, len(other.briefs)) == ("it was not allowed.", 0)
