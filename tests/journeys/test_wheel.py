"""The wheel is taken and given back, with results and with a changed plan; the run ends with both.

That it can be taken in every phase is shown in `test_every_phase`.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command
from pydantic import JsonValue

from graph.runs import config
from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import BadInput
from state.run import Run
from state.signal import Cancel, Pause, Takeover
from tests.journeys.doom import THREAD, Doom, die, live, notes
from tests.journeys.stories import twelve
from tests.runs import agent, opened, plan, statuses

TAKEOVER = Takeover(reason="I know this one", by="ana")
CONTEXT = {
    "by", "reason", "current_step", "total_steps", "completed_tasks", "failed_tasks", "pending_tasks",
    "intermediate_results", "conversations", "suggested_next_action", "failure_reason",
}  # fmt: skip


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(90):
        while not holds():  # noqa: ASYNC110 # what it waits for happens in an agent or a model, which know no event
            await asyncio.sleep(0.005)


class Work:
    """An agent that does tasks at once, except those it is told to ask about or to hold until it is let go."""

    def __init__(self, *, asks: str = "", holds: str = "") -> None:
        self.asks, self.holds = asks, holds
        self.did: list[str] = []
        self.holding = False

    async def __call__(self, brief: Brief, desk: Any) -> str:
        if brief.task.id == self.asks:
            await desk.ask("launch")
        while brief.task.id == self.holds:
            self.holding = True
            await asyncio.sleep(0.005)
            await desk.pause_point()
        self.did.append(brief.task.id)
        return f"{brief.task.id} of {sorted(brief.inputs.items())}"


async def taken(sup: Supervisor, starting: Any, when: Callable[[], bool]) -> Run:
    """The run after somebody took the wheel while it was at work."""
    running = asyncio.create_task(starting)
    await until(when)
    await sup.signal(THREAD, TAKEOVER)
    run: Run = await running
    return run


def check(run: Run, done: list[str], pending: list[str]) -> None:
    assert (run.status, run.phase) == ("handed_over", "handed_over")
    assert run.handover is not None
    assert set(run.handover) == CONTEXT
    assert (run.handover["completed_tasks"], run.handover["pending_tasks"]) == (done, pending)


async def test_whoever_takes_the_wheel_sees_who_and_why_what_failed_and_what_agents_said_so_far() -> None:
    async def breaks(brief: Brief, desk: Any) -> str:
        raise ValueError("no such market")

    call = {"name": "publish", "args": {"name": "a.md", "text": "Prices rise."}, "id": "c1"}
    writer = AgentSpec(name="wil", role="writer", tools=["publish"])
    team = [agent(breaks), writer]
    asking = plan("a", {"id": "b", "role": "writer"})
    async with opened(*team, model=ScriptedModel([call]), max_attempts=1, failure_threshold={"default": 1}) as sup:
        await sup.start("Q", thread_id=THREAD, plan=asking)
        run = await sup.signal(THREAD, TAKEOVER)

    assert run.handover is not None
    assert (run.handover["by"], run.handover["reason"]) == ("ana", "I know this one")
    assert (run.handover["completed_tasks"], run.handover["failed_tasks"]) == ([], ["a"])
    assert "no such market" in str(run.handover["failure_reason"])
    said: Any = run.handover["conversations"]
    assert (said["b"][-1]["by"], said["b"][-1]["calls"][0]["args"]["name"]) == ("ai", "a.md")


async def test_whoever_takes_the_wheel_is_shown_nothing_that_is_meant_for_a_model() -> None:
    calls = [{"name": "publish", "args": {"name": name, "content": "Prices rise."}, "id": name} for name in ("a", "b")]
    writer = AgentSpec(name="wil", role="writer", tools=["publish"])
    async with opened(writer, model=ScriptedModel(calls)) as sup:
        asking = await sup.start("Q", thread_id=THREAD, plan=plan({"id": "a", "role": "writer"}))
        await sup.answer(THREAD, {asking.approvals[0].id: {"type": "reject", "message": "too early"}}, by="ana")
        run = await sup.signal(THREAD, TAKEOVER)

    assert run.handover is not None
    said: Any = run.handover["conversations"]
    assert [(one["by"], one["text"]) for one in said["a"]] == [
        ("ai", ""),
        ("tool", "ana did not allow this: too early"),
        ("ai", ""),
    ]


async def test_taken_while_the_plan_waits_for_a_human_and_given_back_with_another() -> None:
    work = Work()
    async with opened(agent(work), oversight="in_command") as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        check(await sup.signal(THREAD, TAKEOVER), [], ["a"])
        again = await sup.resume(THREAD)
        assert (again.status, [approval.action for approval in again.approvals]) == ("waiting", ["plan"])
        await sup.signal(THREAD, TAKEOVER)
        run = await sup.hand_back(THREAD, {"x": "mine"}, plan("x"), by="ana")

    assert (run.status, statuses(run), work.did) == ("complete", {"x": "done"}, [])


async def test_taken_while_tasks_are_at_work_and_given_back_with_their_results() -> None:
    work = Work(holds="b")
    async with opened(agent(work)) as sup:
        starting = sup.start("Q", thread_id=THREAD, plan=plan("a", "b", "c <- a b"))
        check(await taken(sup, starting, lambda: work.holding), ["a"], ["b", "c"])
        run = await sup.hand_back(THREAD, {"b": "B by hand"}, by="ana")

    assert (run.status, work.did) == ("complete", ["a", "c"])
    assert [task.agent for task in run.tasks] == ["ada", "human", "ada"]
    assert "B by hand" in (run.report or "")
    assert "by ada, human" in (run.report or "")


async def test_taken_while_a_question_is_open_and_given_back_with_its_result() -> None:
    work = Work(asks="a")
    async with opened(agent(work)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a", "b <- a"))
        run = await sup.signal(THREAD, TAKEOVER)
        check(run, [], ["a", "b"])
        assert [approval.task_id for approval in run.approvals] == ["a"]
        run = await sup.hand_back(THREAD, {"a": "done by hand"}, by="ana")

    assert (run.status, work.did, run.approvals) == ("complete", ["b"], [])


async def test_a_question_that_is_still_open_after_handing_back_can_be_answered() -> None:
    work = Work(asks="a")
    async with opened(agent(work)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a", "b"))
        await sup.signal(THREAD, TAKEOVER)
        run = await sup.hand_back(THREAD, plan=plan("a", "c"))
        assert (run.status, statuses(run)) == ("waiting", {"a": "parked", "c": "done"})
        run = await sup.answer(THREAD, {run.approvals[0].id: True})

    assert (run.status, work.did) == ("complete", ["b", "c", "a"])


async def test_taken_while_it_is_paused() -> None:
    work = Work(asks="a")
    async with opened(agent(work)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        assert (await sup.signal(THREAD, Pause())).status == "paused"
        check(await sup.signal(THREAD, TAKEOVER), [], ["a"])
        run = await sup.hand_back(THREAD, {"a": "by hand"})

    assert (run.status, run.tasks[0].result) == ("complete", "by hand")


async def test_taken_from_a_process_that_died(tmp_path: Path) -> None:
    async def by_hand(sup: Supervisor) -> Run:
        run = await sup.signal(THREAD, TAKEOVER)
        assert run.status == "handed_over"
        assert run.handover is not None
        pending = run.handover["pending_tasks"]
        assert isinstance(pending, list)
        assert pending
        return await sup.hand_back(THREAD, {str(task): f"{task} by hand" for task in pending})

    assert await die(twelve, tmp_path, Doom("event", 12))
    before = len(notes(tmp_path))
    run = await live(twelve, tmp_path, onwards=by_hand)
    assert run.status == "complete"
    assert len(notes(tmp_path)) == before
    assert "l by hand" in (run.report or "")


async def test_a_changed_plan_keeps_what_still_fits_and_does_the_rest() -> None:
    work = Work(asks="c")
    async with opened(agent(work)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a", "b", "c <- a", "d <- c"))
        await sup.signal(THREAD, TAKEOVER)
        changed = plan("a", {"id": "b", "description": "Do b better."}, "x <- a b", "d <- x")
        run = await sup.hand_back(THREAD, {"x": "X by hand"}, changed, by="ana")
        used = await sup.plan(THREAD)

    assert (run.status, work.did) == ("complete", ["a", "b", "b", "d"])
    assert statuses(run) == {"a": "done", "b": "done", "x": "done", "d": "done"}
    assert run.approvals == []
    assert [task["id"] for task in used["tasks"]] == ["a", "b", "x", "d"]  # type: ignore[union-attr,index,call-overload]
    assert "d of [('x', 'X by hand')]" in (run.report or "")


@pytest.mark.parametrize(
    ("results", "changed", "fault"),
    [
        ({"zoe": "x"}, None, "there is no task 'zoe' to give a result for; there are a, b"),
        ({}, plan("a", "b <- zoe"), "task 'b' depends on unknown task 'zoe'"),
        ({}, plan("a", "a"), "task id 'a' is used 2 times"),
        ({"b": "x"}, plan("a"), "there is no task 'b'"),
        ({"b": ""}, None, "the result of 'b' is empty"),
    ],
)
async def test_what_does_not_fit_is_refused_and_the_run_stays_in_the_humans_hands(
    results: dict[str, Any], changed: Any, fault: str
) -> None:
    async with opened(agent(Work(asks="a"))) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a", "b <- a"))
        before = await sup.signal(THREAD, TAKEOVER)
        with pytest.raises(BadInput, match=fault) as caught:
            await sup.hand_back(THREAD, results, changed)
        assert await sup.view(THREAD) == before

    assert "\n" not in str(caught.value)


async def test_only_a_run_in_a_humans_hands_can_be_handed_back() -> None:
    async with opened(agent(Work(asks="a"))) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        with pytest.raises(BadInput, match="is not in a human's hands"):
            await sup.hand_back(THREAD, {"a": "x"})


async def test_a_wheel_that_is_taken_twice_is_handed_back_twice() -> None:
    work = Work(asks="c")
    async with opened(agent(work)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a", "b <- a", "c <- b"))
        await sup.signal(THREAD, TAKEOVER)
        await sup.hand_back(THREAD, {"a": "A by hand"})
        await sup.signal(THREAD, TAKEOVER)
        run = await sup.hand_back(THREAD, {"c": "C by hand"})

    assert (run.status, work.did) == ("complete", ["a", "b", "b"])
    assert [task.agent for task in run.tasks] == ["human", "ada", "human"]


async def test_a_human_may_end_what_he_has_taken() -> None:
    async with opened(agent(Work(asks="a"))) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a", "b"))
        await sup.signal(THREAD, TAKEOVER)
        run = await sup.signal(THREAD, Cancel(by="bob"))

    assert (run.status, statuses(run)) == ("cancelled", {"a": "cancelled", "b": "done"})


async def asked_and_taken(sup: Supervisor) -> str:
    """A run that waits for an answer, and then somebody takes it; the question's id."""
    run = await sup.start("Q", thread_id="t", plan=plan("a"))
    await sup.signal("t", Takeover(reason="I know this one", by="ana"))
    return run.approvals[0].id


async def asks_first(brief: Brief, desk: Any) -> str:
    said = await desk.ask("launch", {}, "high")
    return f"{said.type} by {said.by}"


async def test_an_answer_that_arrives_when_somebody_has_taken_the_wheel_is_kept_and_the_wheel_stays_theirs() -> None:
    async with opened(agent(asks_first)) as sup:
        question = await asked_and_taken(sup)
        late: Command[Any] = Command(resume={question: {"type": "approve", "by": "bob"}})
        await sup.graph.ainvoke(late, config("t"))
        run = await sup.view("t")
        assert (run.status, run.approvals) == ("handed_over", [])
        entries, broken = await sup.audit("t")
        assert ([entry.by for entry in entries if entry.decision], broken) == (["bob"], "")
        run = await sup.resume("t")

    assert (run.status, run.tasks[0].result) == ("complete", "approve by bob")


@pytest.mark.parametrize("said", [{"type": "resume"}, "Resume", "go on", "continue."])
async def test_who_says_so_at_a_page_lets_a_taken_run_go_on(said: JsonValue) -> None:
    async with opened(agent(asks_first)) as sup:
        await asked_and_taken(sup)
        await sup.graph.ainvoke(Command(resume=said), config("t"))
        assert (await sup.view("t")).status == "waiting"


@pytest.mark.parametrize("said", [7, "perhaps", {"type": "later"}, {"q9": "yes"}])
async def test_what_does_not_say_so_leaves_the_wheel_where_it_is_and_is_told_so(said: JsonValue) -> None:
    async with opened(agent(asks_first)) as sup:
        await asked_and_taken(sup)
        asked = await sup.graph.ainvoke(Command(resume=said), config("t"))
        assert (await sup.view("t")).status == "handed_over"

    assert "could not be read" in asked["__interrupt__"][0].value["error"]
