"""A supervisor as an agent of another one: its own scope; one budget, one control, one journal."""

import asyncio
from typing import Any

import pytest

from graph.app import build_supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.approval import Decision
from state.replies import PlanDraft, TaskDraft
from state.signal import Cancel, Decide, Pause, Resume
from tests.runs import agent, opened, plan, statuses


def drafted(*names: str) -> PlanDraft:
    return PlanDraft(tasks=[TaskDraft(id=name, description=f"Do {name}.") for name in names], complexity=0.5)


def inner(*team: AgentSpec, tasks: tuple[str, ...] = ("n", "s"), model: Any = None, **policy: Any) -> Any:
    """A supervisor whose plan has these tasks."""
    thinks = model or ScriptedModel({lambda _: True: drafted(*tasks)}, usage=(10, 1))
    return build_supervisor(team, policy={"max_iterations": 0, **policy}, model=thinks)


def nested(graph: Any, name: str = "unit", role: str = "generalist") -> AgentSpec:
    return AgentSpec(name=name, role=role, run=graph)


async def says(brief: Brief, desk: Desk) -> str:
    return f"{brief.task.id} is done"


async def test_it_plans_and_works_by_itself_and_its_answer_comes_back() -> None:
    async with opened(nested(inner(agent(says, "eve")))) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)
        runs = await sup.runs()

    assert (run.status, run.tasks[0].agent) == ("complete", "unit")
    assert "n is done" in str(run.tasks[0].result)
    assert "s is done" in str(run.tasks[0].result)
    assert [one.thread_id for one in runs] == [run.thread_id]
    told = [(e.kind, e.task_id, e.path) for e in events if e.is_nested and e.kind.startswith("task_started")]
    assert sorted(told, key=str) == [("task_started", "a/n", ["unit", "eve"]), ("task_started", "a/s", ["unit", "eve"])]
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert all(e.path == ["unit"] for e in events if e.kind == "run_finished" and e.is_nested)
    assert events[-1].kind == "run_finished"
    assert not events[-1].is_nested


async def test_what_it_uses_is_on_the_outer_budget_once() -> None:
    script: dict[Any, Any] = {"<task": "Done.", lambda _: True: drafted("n", "s")}
    model = ScriptedModel(script, usage=(10, 1))
    eve = AgentSpec(name="eve", role="generalist")
    async with opened(nested(inner(eve, model=model)), max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == "complete"
    assert run.usage.total_tokens == 11 * len(model.calls)
    assert run.usage.calls == len(model.calls) >= 3
    assert run.tasks[0].tokens == run.usage.total_tokens


async def test_the_outer_budget_stops_it() -> None:
    model = ScriptedModel({lambda text: "<task" in text: {"name": "calculate", "args": {"expression": "1"}},
                           lambda _: True: drafted("n")})  # fmt: skip
    eve = AgentSpec(name="eve", role="generalist", tools=["calculate"])
    async with opened(nested(inner(eve, model=model)), max_iterations=0, max_agent_iterations=4) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert len(model.calls) == 4
    assert run.status == "failed"
    assert "max_agent_iterations" in str(run.error)


async def test_mutual_supervisors_stop_at_the_outermost_ones_depth() -> None:
    first, second = nested(None, "a"), nested(None, "b")
    thinks: dict[Any, Any] = {lambda _: True: drafted("n")}
    graph_a = build_supervisor([second], policy={"max_iterations": 0, "max_attempts": 1}, model=ScriptedModel(thinks))
    graph_b = build_supervisor([first], policy={"max_iterations": 0, "max_attempts": 1}, model=ScriptedModel(thinks))
    first.run, second.run = graph_a, graph_b
    async with opened(first, max_delegation_depth=3, max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan("t"))
        events = await sup.events(run.thread_id)

    assert run.status == "failed"
    assert "nested too deep" in str(run.error)
    assert max(len(event.path) for event in events) == 4
    started = [event.path for event in events if event.kind == "task_started"]
    assert started == [["a"], ["a", "b"], ["a", "b", "a"], ["a", "b", "a", "b"]]


async def test_a_question_at_the_bottom_of_three_levels_is_asked_once_and_its_answer_goes_down() -> None:
    began: list[str] = []

    async def asks(brief: Brief, desk: Desk) -> str:
        began.append(brief.task.id)
        return f"launch: {(await desk.ask('launch', {'n': 1}, 'critical')).type}"

    bottom = inner(agent(asks, "eve"), tasks=("n",))
    middle = inner(nested(bottom, "low"), tasks=("m",))
    async with opened(nested(middle, "mid"), agent(says, "other", "other")) as sup:
        waiting = await sup.start("Q", plan=plan("a", {"id": "b", "role": "other"}))
        events = await sup.events(waiting.thread_id)
        assert statuses(waiting) == {"a": "parked", "b": "done"}
        [question] = waiting.approvals
        assert (question.action, question.args, question.risk) == ("launch", {"n": 1}, "critical")
        assert question.path == ["mid", "low", "eve"]
        run = await sup.answer(waiting.thread_id, {question.id: "approve"}, by="ana")
        events = await sup.events(waiting.thread_id)

    assert [event.data["id"] for event in events if event.kind == "approval_answered"] == [question.id]
    asked = [(event.data["id"], event.path) for event in events if event.kind == "approval_requested"]
    assert asked == [(question.id, ["mid", "low", "eve"])]
    assert (run.status, run.tasks[0].result) == ("complete", "launch: approve")
    assert began == ["n", "n"]


async def test_an_answer_that_comes_while_others_work_is_taken_inside_at_once() -> None:
    answered = asyncio.Event()

    async def work(brief: Brief, desk: Desk) -> str:
        if brief.task.id == "n":
            said = await desk.ask("launch")
            answered.set()
            return said.type
        while not answered.is_set():
            await desk.pause_point()
        return "waited for n"

    low = inner(agent(work, "eve"))
    async with opened(nested(inner(nested(low, "low"), tasks=("m",)), "mid")) as sup:
        begun = False

        def hear(event: Any) -> None:
            nonlocal begun
            if event["kind"] == "approval_requested" and not begun:
                begun = True
                asked.set_result(event["data"]["id"])

        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        started = asyncio.create_task(sup.start("Q", plan=plan("a"), thread_id="t", on_event=hear))
        question = await asked
        while not answered.is_set():
            await sup.signal("t", Decide(approval=question, decision=Decision(type="approve")))
        run = await started
        events = await sup.events("t")

    assert run.status == "complete"
    assert "waited for n" in str(run.tasks[0].result)
    assert [event.data["id"] for event in events if event.kind == "approval_answered"] == [question]
    assert not any(event.kind == "task_parked" and event.task_id == "a" for event in events)


async def test_questions_of_parallel_nested_supervisors_are_asked_at_once() -> None:
    async def asks(brief: Brief, desk: Desk) -> str:
        return f"{brief.task.id}: {(await desk.ask(brief.task.id)).type}"

    units = [nested(inner(agent(asks, "eve")), name, name) for name in ("one", "two")]
    async with opened(*units) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "one"}, {"id": "b", "role": "two"}))
        assert [question.action for question in run.approvals] == ["n", "s", "n", "s"]
        for question in reversed(run.approvals):
            run = await sup.answer(run.thread_id, {question.id: "approve"})

    assert run.status == "complete"
    assert all("n: approve" in str(task.result) and "s: approve" in str(task.result) for task in run.tasks)


async def test_a_pause_of_the_outer_run_stops_it_and_it_goes_on_with_the_outer_run() -> None:
    at_work, began = asyncio.Event(), list[str]()

    async def waits(brief: Brief, desk: Desk) -> str:
        began.append(brief.task.id)
        at_work.set()
        while len(began) < 2:
            await desk.pause_point()
        return "rested"

    unit = nested(inner(agent(waits, "eve"), tasks=("n",)))
    async with opened(unit) as sup:
        started = asyncio.create_task(sup.start("Q", plan=plan("a"), thread_id="t"))
        await at_work.wait()
        await sup.signal("t", Pause(reason="lunch"))
        paused = await started
        assert (paused.status, statuses(paused)) == ("paused", {"a": "parked"})
        run = await sup.signal("t", Resume())

    assert (run.status, run.tasks[0].result) == ("complete", "rested")
    assert began == ["n", "n"]


async def test_cancelling_the_outer_run_ends_it() -> None:
    at_work, ended = asyncio.Event(), asyncio.Event()

    async def hangs(brief: Brief, desk: Desk) -> str:
        at_work.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with opened(nested(inner(agent(hangs, "eve"), tasks=("n",)))) as sup:
        started = asyncio.create_task(sup.start("Q", plan=plan("a"), thread_id="t"))
        await at_work.wait()
        await sup.signal("t", Cancel())
        run = await started

    assert (run.status, ended.is_set()) == ("cancelled", True)


async def test_its_failure_is_the_tasks_failure_with_its_reason() -> None:
    async def breaks(brief: Brief, desk: Desk) -> str:
        raise NotImplementedError("no ships")

    async with opened(nested(inner(agent(breaks, "eve"), tasks=("n",)))) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == "failed"
    assert "no ships" in str(run.tasks[0].error)


@pytest.mark.parametrize("room", [1, 3])
async def test_its_agents_take_the_outer_runs_room(room: int) -> None:
    at_work = most = 0

    async def counts(brief: Brief, desk: Desk) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        while most < room:
            await desk.pause_point()
        await asyncio.sleep(0.03)  # long enough for anybody who may start to start
        at_work -= 1
        return "counted"

    units = [nested(inner(agent(counts, "eve"), tasks=("n", "m", "o")), name, name) for name in ("one", "two")]
    async with opened(*units, max_parallel=room) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "one"}, {"id": "b", "role": "two"}))

    assert run.status == "complete"
    assert most == room
