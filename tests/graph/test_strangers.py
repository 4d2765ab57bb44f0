"""Two programs with different teams on one database: who lacks a run's agents may answer it, and leaves it alone."""

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from graph.testing import HeldClock
from state.agent import Brief
from state.errors import AgentsMissing, BadInput
from state.run import Run
from state.signal import Cancel, HandBack, Pause, Resume, SendMail, Signal, Takeover
from tests.runs import Turns, agent, opened, plan, statuses

HALF_AN_HOUR = 1800.0
STRANGER = agent(name="zoe", role="writer")
TASKS = plan({"id": "a", "role": "asker"}, {"id": "b", "role": "helper", "depends_on": ["a"]})
REFUSAL = (
    "thread t needs agents that are not in this team: slow, bo; "
    "go on with the program that started it, or give its team file (--team, or BATON_TEAM)"
)


class Owner:
    """A team of two: one asks and then works, the other helps; what they did."""

    def __init__(self, *questions: str) -> None:
        self.questions = questions or ("launch",)
        self.helps = Turns("Helped.")
        self.asked: list[str] = []
        self.team = (agent(self.asks, "slow", "asker"), agent(self.helps, "bo", "helper"))

    async def asks(self, brief: Brief, desk: Any) -> str:
        said = [await desk.ask(question) for question in self.questions]
        self.asked.append(brief.task.id)
        return ", ".join(f"{decision.type} by {decision.by}" for decision in said)

    async def starts(self, **more: Any) -> Run:
        async with opened(*self.team, **more) as sup:
            return await sup.start("Q", thread_id="t", plan=TASKS)


async def dies(owner: Owner) -> None:
    """A run whose process stops while it works."""
    begun = asyncio.Event()

    async def works(brief: Brief, desk: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async with opened(agent(works, "slow", "asker"), owner.team[1]) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=TASKS))
        await begun.wait()
        running.cancel()
        await asyncio.wait({running})


def on_disk() -> list[str]:
    """All that the database has."""
    with closing(sqlite3.connect("runs.db")) as database:
        return list(database.iterdump())


async def test_an_answer_from_a_process_with_another_team_is_kept_once_and_the_owner_goes_on() -> None:
    owner = Owner()
    asked = (await owner.starts()).approvals[0].id
    async with opened(STRANGER) as stranger:
        answered = await stranger.answer("t", {asked: True}, by="ana", door="command line")
        with pytest.raises(BadInput, match="was answered before: ana said approve; the first answer stands"):
            await stranger.answer("t", {asked: False}, by="eve")
        entries, broken = await stranger.audit("t")
        events = [event for event in await stranger.events("t") if event.kind == "approval_answered"]
    assert owner.asked == []
    async with opened(*owner.team) as sup:
        run = await sup.resume("t")
        after = len((await sup.audit("t"))[0])

    assert (answered.status, answered.approvals) == ("paused", [])
    assert (answered.waits_for, answered.missing_agents, answered.hint) == ("team", ["slow", "bo"], [])
    assert (answered.can_go_on, answered.error) == (False, None)
    assert [(entry.kind, entry.by, entry.door) for entry in entries[1:]] == [("answered", "ana", "command line")]
    assert (broken, len(events), after) == ("", 1, len(entries))
    assert (run.status, statuses(run)) == ("complete", {"a": "done", "b": "done"})
    assert (owner.asked, owner.helps.tasks, run.tasks[0].result) == (["a"], ["b"], "approve by ana")


async def test_a_run_with_other_open_questions_still_waits_after_an_answer_from_another_team() -> None:
    async def asks(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch")).by)

    async with opened(agent(asks, "slow", "asker")) as sup:
        waiting = await sup.start(
            "Q", thread_id="t", plan=plan({"id": "a", "role": "asker"}, {"id": "b", "role": "asker"})
        )
    first, second = waiting.approvals
    async with opened(STRANGER) as stranger:
        with pytest.raises(BadInput, match="'nothing'"):
            await stranger.answer("t", {"nothing": True})
        still = await stranger.answer("t", {first.id: True}, by="ana")
        done = await stranger.answer("t", {second.id: True}, by="bob")
    async with opened(agent(asks, "slow", "asker")) as sup:
        run = await sup.resume("t")

    assert (still.status, [question.id for question in still.approvals]) == ("waiting", [second.id])
    assert done.status == "paused"
    assert sorted(str(task.result) for task in run.tasks) == ["ana", "bob"]


async def test_a_plan_can_be_answered_by_a_process_with_another_team() -> None:
    owner = Owner()
    asked = (await owner.starts(oversight="in_command")).approvals
    async with opened(STRANGER) as stranger:
        answered = await stranger.answer("t", {asked[0].id: True}, by="ana")
        with pytest.raises(AgentsMissing, match="slow, bo"):
            await stranger.resume("t")
    async with opened(*owner.team) as sup:
        run = await sup.resume("t")

    assert ([question.subject for question in asked], answered.status) == (["plan"], "paused")
    assert [question.subject for question in run.approvals] == ["task"]


@pytest.mark.parametrize("stop", [Pause(), Takeover()], ids=["paused", "taken over"])
async def test_a_stopped_run_can_be_answered_by_another_team_and_stays_stopped(stop: Signal) -> None:
    owner = Owner()
    asked = (await owner.starts()).approvals[0].id
    async with opened(*owner.team) as sup:
        stopped = await sup.signal("t", stop)
    async with opened(STRANGER) as stranger:
        answered = await stranger.answer("t", {asked: True}, by="ana")
    async with opened(*owner.team) as sup:
        run = await sup.resume("t")

    assert (answered.status, answered.approvals) == (stopped.status, [])
    assert (run.status, owner.asked) == ("complete", ["a"])


SIGNALS: list[Signal] = [Pause(), Takeover(), Cancel(), Resume(), SendMail(to="all", text="Hi.")]


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.kind)
async def test_who_lacks_the_agents_can_neither_resume_nor_steer_a_run_and_nothing_is_written(signal: Signal) -> None:
    owner = Owner()
    await dies(owner)
    async with opened(STRANGER) as stranger:
        before = on_disk()
        with pytest.raises(AgentsMissing) as resumed:
            await stranger.resume("t")
        with pytest.raises(AgentsMissing) as steered:
            await stranger.signal("t", signal)
        assert on_disk() == before

    assert (str(resumed.value), str(steered.value)) == (REFUSAL, REFUSAL)


async def test_who_lacks_the_agents_cannot_hand_a_run_back() -> None:
    owner = Owner()
    await owner.starts()
    async with opened(*owner.team) as sup:
        await sup.signal("t", Takeover())
    async with opened(STRANGER) as stranger:
        with pytest.raises(AgentsMissing):
            await stranger.hand_back("t", {"a": "A by hand"})
        with pytest.raises(AgentsMissing):
            await stranger.signal("t", HandBack(results={"a": "A by hand"}))
    async with opened(*owner.team) as sup:
        run = await sup.hand_back("t", {"a": "A by hand"})

    assert [task.result for task in run.tasks] == ["A by hand", "Helped."]


async def test_a_dead_run_goes_on_with_a_team_that_has_more_agents() -> None:
    owner = Owner()
    await dies(owner)
    async with opened(*owner.team, STRANGER) as sup:
        waiting = await sup.resume("t")
        run = await sup.answer("t", {waiting.approvals[0].id: True})

    assert (run.status, owner.asked, owner.helps.tasks) == ("complete", ["a"], ["b"])


async def test_only_agents_with_unfinished_tasks_are_needed() -> None:
    owner = Owner()
    plan_ = plan({"id": "b", "role": "helper"}, {"id": "a", "role": "asker", "depends_on": ["b"]})
    async with opened(*owner.team) as sup:
        waiting = await sup.start("Q", thread_id="t", plan=plan_)
    async with opened(owner.team[0]) as smaller:
        run = await smaller.answer("t", {waiting.approvals[0].id: True})

    assert (run.status, owner.asked) == ("complete", ["a"])


async def test_a_deadline_is_applied_by_another_team_and_the_run_left_to_its_owner() -> None:
    clock, owner = HeldClock(), Owner()
    await owner.starts(clock=clock)
    clock.time += HALF_AN_HOUR
    async with opened(STRANGER, clock=clock) as stranger:
        seen = await stranger.view("t")
        with pytest.raises(AgentsMissing):
            await stranger.resume("t")
    async with opened(*owner.team, clock=clock) as sup:
        run = await sup.resume("t")

    assert (seen.status, run.status, run.tasks[0].result) == ("paused", "complete", "reject by policy")
