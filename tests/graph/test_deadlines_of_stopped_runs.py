"""A deadline passes while a human has paused the run or has the wheel: it is decided, and the run stays where it is."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from state.agent import Brief
from state.errors import BadInput, ThreadUnknown
from state.run import Run
from state.signal import Pause, Resume, Signal, Takeover
from tests.runs import Turns, agent, opened, plan

HALF_AN_HOUR = 1800.0
STOPS = [Pause(by="ana"), Takeover(by="ana")]


async def asks(brief: Brief, desk: Any) -> str:
    decision = await desk.ask("launch", risk=brief.task.id)
    return f"{decision.type} by {decision.by}"


async def stopped(sup: Supervisor, stop: Signal, *tasks: str) -> Run:
    """A run that waits for answers, then paused or taken over."""
    await sup.start("Q", thread_id="t", plan=plan(*tasks))
    return await sup.signal("t", stop)


async def recorded(sup: Supervisor, kind: str) -> list[str]:
    """The decisions, or the questions passed on, as the audit log and the events have them."""
    entries, broken = await sup.audit("t")
    events = [event for event in await sup.events("t") if event.kind == "approval_answered"]
    assert broken == ""
    assert len([entry for entry in entries if entry.kind == "answered"]) == len(events)
    return [f"{entry.task_id} {entry.decision}".strip() for entry in entries if entry.kind == kind]


@pytest.mark.parametrize("stop", STOPS, ids=["paused", "taken over"])
async def test_the_policy_decides_and_the_run_stays_stopped_until_it_is_let_go_on(stop: Signal) -> None:
    clock = HeldClock()
    timeouts: Any = {"low": "approve", "critical": "approve", "default": "reject"}
    async with opened(agent(asks), clock=clock, on_timeout=timeouts) as sup:
        before = await stopped(sup, stop, "low", "critical")
        clock.time += HALF_AN_HOUR
        seen = [await sup.view("t"), await sup.view("t"), (await sup.runs())[0]]
        due = await sup.due()
        made = await recorded(sup, "answered")
        run = await sup.signal("t", Resume(by="ana"))
        after = await recorded(sup, "answered")

    assert [question.task_id for question in before.approvals] == ["critical", "low"]
    assert {(run.status, run.waits_for, len(run.approvals)) for run in seen} == {(before.status, "release", 0)}
    assert due == []
    assert sorted(made) == ["critical reject", "low approve"]
    assert after == made
    assert (run.status, [task.result for task in run.tasks]) == ("complete", ["approve by policy", "reject by policy"])


@pytest.mark.parametrize("stop", STOPS, ids=["paused", "taken over"])
async def test_it_is_passed_on_to_somebody_else_where_the_policy_says_so(stop: Signal) -> None:
    clock = HeldClock()
    async with opened(agent(asks), clock=clock, on_timeout={"high": "escalate"}) as sup:
        before = await stopped(sup, stop, "high", "low")
        clock.time += HALF_AN_HOUR
        passed_on = await sup.view("t")
        clock.time += HALF_AN_HOUR
        decided = await sup.view("t")
        made, escalated = await recorded(sup, "answered"), await recorded(sup, "escalated")

    assert (passed_on.status, passed_on.approvals[0].escalated) == (before.status, True)
    assert [question.expires_at for question in passed_on.approvals] == [clock.time]
    assert (decided.status, decided.approvals) == (before.status, [])
    assert (made, escalated) == (["low reject", "high reject"], ["high"])


async def test_an_answer_after_the_deadline_is_too_late_also_where_the_run_is_paused() -> None:
    clock = HeldClock()
    async with opened(agent(asks), clock=clock) as sup:
        paused = await stopped(sup, Pause(), "medium")
        clock.time += HALF_AN_HOUR
        with pytest.raises(BadInput, match="was answered before: policy said reject"):
            await sup.answer("t", {paused.approvals[0].id: True})


async def test_what_a_human_paused_is_not_taken_up_by_who_looks_for_work() -> None:
    clock = HeldClock()
    async with opened(agent(asks), clock=clock) as sup:
        await stopped(sup, Pause(), "medium")
        clock.time += HALF_AN_HOUR
        assert await sup.due() == []
        clock.time += HALF_AN_HOUR
        assert await sup.due() == []
        assert (await sup.view("t")).status == "paused"


@pytest.mark.parametrize("stop", STOPS, ids=["paused", "taken over"])
async def test_a_plan_that_waits_expires_while_the_run_is_stopped(stop: Signal) -> None:
    clock, work = HeldClock(), Turns("So.")
    async with opened(agent(work), clock=clock, oversight="in_command") as sup:
        before = await stopped(sup, stop, "a")
        clock.time += HALF_AN_HOUR
        seen = await sup.view("t")
        made = await recorded(sup, "answered")
        run = await sup.signal("t", Resume())

    assert ([question.action for question in before.approvals], seen.approvals) == (["plan"], [])
    assert (seen.status, made) == (before.status, ["reject"])
    assert (run.status, work.tasks) == ("failed", [])
    assert str(run.error).startswith("the plan was not carried out: nobody answered within 30 minutes")


async def test_a_plan_can_be_approved_while_the_run_is_paused_and_is_not_asked_about_again() -> None:
    work = Turns({"result": "So.", "confidence": 1.0})
    async with opened(agent(work), oversight="in_command") as sup:
        paused = await stopped(sup, Pause(), "a")
        still = await sup.answer("t", {paused.approvals[0].id: True}, by="ana")
        run = await sup.resume("t")

    assert (still.status, still.approvals) == ("paused", [])
    assert run.status == "waiting"
    assert [question.subject for question in run.approvals] == ["task"]


async def test_a_question_that_a_dead_process_asked_at_work_expires_too() -> None:
    """Nobody has taken the run up yet; looking decides, and who takes it up finds the decision."""
    clock, dies = HeldClock(), asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "low":
            return await asks(brief, desk)
        await dies.wait()
        return "So."

    async with opened(agent(work), clock=clock) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("low", "b")))
        while not await asked(sup):  # noqa: ASYNC110 # what is awaited is in the database
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running})
        clock.time += HALF_AN_HOUR
        seen = [await sup.view("t"), await sup.view("t")]
        made, due = await recorded(sup, "answered"), await sup.due()
        dies.set()
        run = await sup.resume("t")
        after = await recorded(sup, "answered")

    assert [(run.status, run.approvals) for run in seen] == [("paused", [])] * 2
    assert (made, due) == (["low approve"], ["t"])
    assert (run.status, run.tasks[0].result, after) == ("complete", "approve by policy", made)


async def asked(sup: Supervisor) -> bool:
    """Whether the run has a question by now."""
    with suppress(ThreadUnknown):
        return bool((await sup.view("t")).approvals)
    return False
