"""Deadlines, escalation and notes of questions levels down are the outermost run's: its clock, its policy, once."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool

from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel, Step
from state.agent import AgentSpec
from state.approval import Decision
from state.replies import PlanDraft
from state.signal import Decide, Pause, Resume, Signal, Takeover
from tests.journeys.below import IDS, PLAN, Levels, Postbox, drafts, once, recorded, unit, until_asked
from tests.journeys.doom import THREAD
from tests.journeys.steered import happened, under_way
from tests.runs import opened, plan

HALF_AN_HOUR = 1800.0
TITLES = {task: f"Baton asks: Send {task}? (high risk, thread {THREAD})" for task in IDS}


def levels_of(risk: str) -> Levels:
    """Levels whose nested supervisors would decide otherwise, and later: it is not for them."""
    return Levels(risk, approval_timeout_s=7200, on_timeout={"default": "reject" if risk == "low" else "approve"})


@pytest.mark.parametrize(("risk", "verb"), [("low", "approve"), ("medium", "reject"), ("critical", "reject")])
async def test_it_is_decided_by_the_clock_in_hand_while_others_work_on_every_level(risk: str, verb: str) -> None:
    clock, levels, postbox = HeldClock(), levels_of(risk), Postbox()
    async with opened(*levels.team, clock=clock, notifier=postbox, max_iterations=0) as sup:
        async with under_way(sup, PLAN) as running:
            asked = await until_asked(sup, *IDS.values())
            assert {one.expires_at for one in asked.approvals} == {clock.time + HALF_AN_HOUR}
            clock.time += HALF_AN_HOUR - 1
            await asyncio.sleep(0.15)  # longer than the pause between two looks
            assert levels.said == {}
            clock.time += 1
            await levels.until_done(*IDS)
            levels.let_go.set()
        records, entries = await recorded(sup), (await sup.audit(THREAD))[0]

    assert running.result().status == "complete"
    assert levels.said == dict.fromkeys(IDS, f"{verb} by policy")
    assert records == {name: once("policy", verb) for name in IDS.values()}
    assert {entry.door for entry in entries if entry.kind == "answered"} == {"deadline"}
    assert len(postbox.told) == 3


async def test_no_process_was_up_at_the_deadline_and_the_next_one_goes_on_levels_down() -> None:
    clock, before = HeldClock(), levels_of("low")
    before.let_go.set()
    async with opened(*before.team, clock=clock, max_iterations=0) as sup:
        assert (await sup.start("Q", thread_id=THREAD, plan=PLAN)).status == "waiting"
    clock.time += HALF_AN_HOUR
    after = levels_of("low")
    after.let_go.set()
    async with opened(*after.team, clock=clock, max_iterations=0) as sup:
        seen = await sup.view(THREAD)
        assert (seen.status, seen.approvals) == ("paused", [])
        run = await sup.resume(THREAD)
        records = await recorded(sup)

    assert (run.status, after.said) == ("complete", dict.fromkeys(IDS, "approve by policy"))
    assert records == {name: once("policy") for name in IDS.values()}


@pytest.mark.parametrize("stop", [Pause(by="ana"), Takeover(by="ana")], ids=["paused", "taken over"])
async def test_looking_decides_it_where_the_run_was_stopped_at_work(stop: Signal) -> None:
    clock, levels = HeldClock(), levels_of("low")
    async with opened(*levels.team, clock=clock, max_iterations=0) as sup:
        async with under_way(sup, PLAN) as running:
            await until_asked(sup, *IDS.values())
            await sup.signal(THREAD, stop)
        clock.time += HALF_AN_HOUR
        seen = [await sup.view(THREAD), await sup.view(THREAD)]
        levels.let_go.set()
        run = await sup.signal(THREAD, Resume())
        records = await recorded(sup)

    assert [(one.status, one.approvals) for one in seen] == [(running.result().status, [])] * 2
    assert (run.status, levels.said) == ("complete", dict.fromkeys(IDS, "approve by policy"))
    assert records == {name: once("policy") for name in IDS.values()}


async def test_looking_decides_it_where_the_process_died_at_work() -> None:
    clock, levels = HeldClock(), levels_of("low")
    async with opened(*levels.team, clock=clock, max_iterations=0) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id=THREAD, plan=PLAN))
        await until_asked(sup, *IDS.values())
        running.cancel()
        await asyncio.wait({running})
        clock.time += HALF_AN_HOUR
        seen = [await sup.view(THREAD), await sup.view(THREAD)]
        levels.let_go.set()
        run = await sup.resume(THREAD)
        records = await recorded(sup)

    assert [(one.status, one.approvals) for one in seen] == [("paused", [])] * 2
    assert (run.status, levels.said) == ("complete", dict.fromkeys(IDS, "approve by policy"))
    assert records == {name: once("policy") for name in IDS.values()}


async def test_somebody_else_is_told_once_with_a_new_deadline_before_it_is_rejected() -> None:
    clock, levels, postbox = HeldClock(), levels_of("high"), Postbox()
    escalating: Any = {"high": "escalate", "default": "approve"}
    async with opened(*levels.team, clock=clock, notifier=postbox, max_iterations=0, on_timeout=escalating) as sup:
        async with under_way(sup, PLAN):
            await until_asked(sup, *IDS.values())
            clock.time += HALF_AN_HOUR
            await happened(sup, "approval_requested", times=6)  # a look at the run would find its lease run out
            levels.let_go.set()
        waiting = await sup.view(THREAD)
        assert {one.expires_at for one in waiting.approvals} == {clock.time + HALF_AN_HOUR}
        clock.time += HALF_AN_HOUR
        run = await sup.resume(THREAD)
        entries, broken = await sup.audit(THREAD)

    assert (run.status, levels.said) == ("complete", dict.fromkeys(IDS, "reject by policy"))
    assert sorted(postbox.told) == sorted([*TITLES.values(), *(f"next person: {title}" for title in TITLES.values())])
    assert broken == ""
    for name in IDS.values():
        kinds = [entry.kind for entry in entries if entry.approval == name]
        assert kinds == ["requested", "escalated", "answered"]


@pytest.mark.parametrize(("sent_after", "by"), [(-1, "ana"), (0, "policy")])
async def test_of_an_answer_and_the_deadline_the_first_wins_also_levels_down(sent_after: float, by: str) -> None:
    """Both are there when the run looks: the answer counts if it was sent before the deadline."""
    clock, levels = HeldClock(), levels_of("medium")
    async with opened(*levels.team, clock=clock, max_iterations=0) as sup:
        async with under_way(sup, PLAN):
            await until_asked(sup, *IDS.values())
            clock.time += HALF_AN_HOUR + sent_after
            decision = Decision(type="approve", by="ana")
            await sup._runs.signal(THREAD, Decide(approval=IDS["two"], decision=decision))
            clock.time += HALF_AN_HOUR
            await levels.until_done(*IDS)
            levels.let_go.set()
        records = await recorded(sup)

    assert levels.said["two"] == ("approve by ana" if by == "ana" else "reject by policy")
    assert records[IDS["two"]] == once(by, "approve" if by == "ana" else "reject")


def sends_below() -> AgentSpec:
    """Two levels down an agent calls a sensitive tool, and nobody is to be asked about it, only told."""

    @tool
    async def send_note(to: str) -> str:
        """Send a note."""
        return f"sent to {to}"

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        if "PlanDraft" in tools:
            return PlanDraft(tasks=drafts("n"), complexity=0.5)
        done = any(isinstance(message, ToolMessage) for message in messages)
        return "Sent.\nConfidence: 0.9" if done else {"name": "send_note", "args": {"to": "bob"}, "id": "c1"}

    ada = AgentSpec(name="ada", role="generalist", tools=[send_note])
    watched: Any = {"oversight": "on_the_loop", "model": ScriptedModel({lambda _: True: reply})}
    return unit("mid", unit("low", ada, tasks=(), **watched), tasks=("m: low",))


async def test_what_is_done_without_asking_is_noted_and_told_once_in_the_outermost_run() -> None:
    postbox = Postbox()
    async with opened(sends_below(), notifier=postbox) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan({"id": "a", "role": "mid"}))
        entries, broken = await sup.audit(THREAD)
        events = [event for event in await sup.events(THREAD) if event.kind.startswith("approval")]

    assert run.status == "complete"
    [entry] = entries
    assert (entry.kind, entry.action, entry.args, broken) == ("noted", "send_note", {"to": "bob"}, "")
    assert (entry.approval.startswith("a.0.mid/m.0.low/n."), entry.path) == (True, ["mid", "low", "ada"])
    assert [(event.kind, event.data["id"], event.path) for event in events] == [
        ("approval_answered", entry.approval, ["mid", "low", "ada"])
    ]
    assert postbox.told == [f"Baton goes on without asking: Send note bob? (high risk, thread {THREAD})"]
