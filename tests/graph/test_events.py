"""What happens in a run is numbered, recorded and streamed; nothing waits for a wave."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from graph.testing import HeldClock
from state.agent import Brief, Limits
from tests.runs import Turns, agent, opened, plan, statuses


async def test_events_are_numbered_without_gaps_also_after_a_resume() -> None:
    async def asks(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch")).type)

    async with opened(agent(asks)) as sup:
        waiting = await sup.start("Q", thread_id="t", plan=plan("a", "b"))
    async with opened(agent(asks)) as sup:
        await sup.answer("t", {question.id: True for question in waiting.approvals})
        events = await sup.events("t")
        later = await sup.events("t", after=5)

    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert later == events[5:]
    assert Counter(event.kind for event in events)["approval_answered"] == 2


async def test_the_stream_is_what_is_recorded() -> None:
    async with opened() as sup:
        streamed = [event async for event in sup.stream("Q", thread_id="t", plan=plan("a", "b <- a"))]
        recorded = await sup.events("t")

    assert streamed == [event.model_dump(mode="json") for event in recorded]
    assert [event.kind for event in recorded if event.kind != "phase_entered"] == [
        "task_started",
        "task_finished",
        "task_started",
        "task_finished",
        "run_finished",
    ]


@pytest.mark.parametrize("has_work_for_a_reviewer", [True, False])
async def test_phases_are_entered_in_their_order_but_for_a_review_of_nothing(has_work_for_a_reviewer: bool) -> None:
    async def cites(brief: Brief, desk: Any) -> str:
        return "It is said so [guide.md#L1]." if has_work_for_a_reviewer else "It is so."

    async with opened(agent(cites)) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)
    phases = [event.phase for event in events if event.kind == "phase_entered"]

    once_or_more = list(dict.fromkeys(phases))
    review = ["reviewing"] if has_work_for_a_reviewer else []
    assert once_or_more == ["decomposing", "routing", "executing", *review, "assembling"]
    assert (events[-1].kind, events[-1].phase, events[-1].data["status"]) == ("run_finished", "complete", "complete")


async def test_a_stream_ends_with_the_question_that_waits() -> None:
    async def asks(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch", {"n": 1}, risk="high")).type)

    async with opened(agent(asks)) as sup:
        events: list[Any] = [event async for event in sup.stream("Q", plan=plan("a"))]

    assert [event["kind"] for event in events[-2:]] == ["task_parked", "approval_requested"]
    assert (events[-1]["data"]["action"], events[-1]["data"]["risk"]) == ("launch", "high")


async def test_who_only_wants_the_result_can_still_listen() -> None:
    heard: list[Any] = []
    async with opened() as sup:
        run = await sup.start("Q", plan=plan("a"), on_event=heard.append)
        recorded = await sup.events(run.thread_id)

    assert [event["seq"] for event in heard] == [event.seq for event in recorded]


async def test_who_stops_listening_stops_the_run_which_can_be_resumed() -> None:
    work = Turns("So.")
    async with opened(agent(work)) as sup:
        stream = sup.stream("Q", thread_id="t", plan=plan("a", "b <- a"))
        async for event in stream:
            if event["kind"] == "task_finished":
                break
        await stream.aclose()  # type: ignore[attr-defined]
        left = await sup.view("t")
        run = await sup.resume("t")

    assert left.status == "paused"
    assert (run.status, work.tasks) == ("complete", ["a", "b"])


async def test_a_task_starts_when_its_inputs_exist_not_when_the_wave_is_over() -> None:
    reached = asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "slow":
            await reached.wait()
        if brief.task.id == "after-quick":
            reached.set()
        return brief.task.id

    async with opened(agent(work, limits=Limits(timeout_s=60)), max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan("slow", "quick", "after-quick <- quick", "end <- slow after-quick"))

    assert statuses(run) == dict.fromkeys(["slow", "quick", "after-quick", "end"], "done")


async def test_no_more_tasks_work_at_once_than_the_policy_allows() -> None:
    now, peak = 0, 0
    three = asyncio.Barrier(3)

    async def work(brief: Brief, desk: Any) -> str:
        nonlocal now, peak
        now += 1
        peak = max(peak, now)
        await three.wait()
        now -= 1
        return "So."

    async with opened(agent(work), max_parallel=3) as sup:
        await sup.start("Q", plan=plan(*(f"t{n}" for n in range(9))))

    assert peak == 3


async def test_times_come_from_the_clock() -> None:
    clock = HeldClock(start=500.0)

    async def work(brief: Brief, desk: Any) -> str:
        await clock.sleep(7)
        return "So."

    async with opened(agent(work), clock=clock) as sup:
        run = await sup.start("Q", plan=plan("a", "b <- a"))
        events = await sup.events(run.thread_id)

    assert [(task.started_at, task.finished_at) for task in run.tasks] == [(500, 507), (507, 514)]
    assert (run.started_at, run.finished_at) == (500, 514)
    assert {event.ts for event in events} == {500, 507, 514}
