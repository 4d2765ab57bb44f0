"""LangGraph's `interrupt()` in agents that are no graphs is a question like any other."""

import asyncio
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import JsonValue
from typing_extensions import TypedDict

from graph.app import build_supervisor
from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.run import Run
from tests.runs import agent, opened, plan, statuses

ASKER = {"id": "ask", "role": "asker"}


def asker(run: Any, **fields: Any) -> AgentSpec:
    return AgentSpec(name="asker", role="asker", run=run, **fields)


async def asks(brief: Brief, desk: Desk) -> str:
    return f"{interrupt({'may': 'I?'})!r}"


def asks_in_a_thread(brief: Brief, desk: Desk) -> str:
    return f"{interrupt({'may': 'I?'})!r}"


def asks_of_what_it_is_given(given: Any) -> str:
    return f"{interrupt({'may': 'I?'})!r}"


KINDS = {
    "an async function": asks,
    "a function": asks_in_a_thread,
    "a Runnable": RunnableLambda(asks_of_what_it_is_given),
}
EDIT: dict[str, JsonValue] = {"type": "edit", "args": {"answer": [1, None]}}


async def answered(sup: Supervisor, run: Run, *answers: JsonValue) -> Run:
    """The run after these answers, one after the other."""
    for answer in answers:
        [question] = run.approvals
        run = await sup.answer(run.thread_id, {question.id: answer}, by="ana")
    return run


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("answer", "returned"), [("approve", "True"), ("reject", "False"), (EDIT, "[1, None]")])
async def test_it_waits_beside_others_and_returns_the_answer(kind: str, answer: JsonValue, returned: str) -> None:
    async with opened(asker(KINDS[kind]), agent(), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan(ASKER, "b", "c <- ask"))
        assert (waiting.status, statuses(waiting)) == ("waiting", {"ask": "parked", "b": "done", "c": "pending"})
        [question] = waiting.approvals
        assert (question.id, question.args, question.path) == ("ask.0.asker/i0", {"may": "I?"}, ["asker"])
        run = await answered(sup, waiting, answer)

    assert (run.status, run.tasks[0].result) == ("complete", returned)


async def test_several_are_answered_one_after_the_other_without_using_up_a_try() -> None:
    ran: list[str] = []

    async def asks_much(brief: Brief, desk: Desk) -> str:
        ran.append("began")
        first = interrupt("first?")
        second = await desk.ask("second")
        third = interrupt("third?")
        return f"{first} {second.type} {third}"

    async with opened(asker(asks_much), max_iterations=0, max_attempts=1) as sup:
        first = await sup.start("Q", plan=plan(ASKER))
        second = await answered(sup, first, "approve")
        assert [question.action for question in second.approvals] == ["second"]
        third = await answered(sup, second, "approve")
        assert [question.args for question in third.approvals] == [{"question": "third?"}]
        run = await answered(sup, third, "reject")

    assert (run.status, run.tasks[0].result) == ("complete", "True approve False")
    assert (run.tasks[0].attempts, len(ran)) == (1, 4)


async def test_the_actions_of_langchains_middleware_are_asked_one_by_one() -> None:
    async def acts(brief: Brief, desk: Desk) -> str:
        wanted = [{"name": name, "args": {"to": name}, "description": f"about {name}"} for name in ("ann", "bob")]
        return str(interrupt({"action_requests": wanted, "review_configs": []})["decisions"])

    async with opened(asker(acts), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan(ASKER))
        assert [(question.action, question.args) for question in waiting.approvals] == [
            ("ann", {"to": "ann"}),
            ("bob", {"to": "bob"}),
        ]
        first, second = waiting.approvals
        half = await sup.answer(waiting.thread_id, {first.id: "approve"})
        assert half.status == "waiting"
        run = await sup.answer(waiting.thread_id, {second.id: "reject: not him"})

    assert run.tasks[0].result == "[{'type': 'approve'}, {'type': 'reject', 'message': 'not him'}]"


async def test_it_goes_on_while_others_still_work() -> None:
    answered_now = asyncio.Event()

    async def waits(brief: Brief, desk: Desk) -> str:
        await answered_now.wait()
        return "waited"

    async def asks_and_tells(brief: Brief, desk: Desk) -> str:
        said = interrupt("now?")
        answered_now.set()
        return f"{said}"

    async with opened(asker(asks_and_tells), agent(waits), max_iterations=0) as sup:
        started = asyncio.create_task(sup.start("Q", plan=plan(ASKER, "b"), thread_id="t"))
        while not (run := await asked_by_now(sup)):  # noqa: ASYNC110 - it is another task that asks
            await asyncio.sleep(0.01)
        await sup.answer("t", {run.approvals[0].id: True})
        run = await started

    assert (run.status, [task.result for task in run.tasks]) == ("complete", ["True", "waited"])


async def asked_by_now(sup: Supervisor) -> Run | None:
    known = [run.thread_id for run in await sup.runs()]
    run = await sup.view("t") if "t" in known else None
    return run if run and run.approvals else None


async def test_it_is_asked_by_a_worker_that_another_agent_delegates_to() -> None:
    async def leads(brief: Brief, desk: Desk) -> str:
        return f"it says {await desk.delegate('asker', 'Ask.')}"

    lead = AgentSpec(name="lead", role="lead", run=leads, workers=["asker"])
    async with opened(lead, asker(asks), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "role": "lead"}))
        assert [question.path for question in waiting.approvals] == [["lead", "asker"]]
        run = await answered(sup, waiting, "approve")

    assert (run.status, run.tasks[0].result) == ("complete", "it says True")


async def test_who_is_tried_again_is_not_asked_again() -> None:
    tries: list[object] = []

    async def breaks_once(brief: Brief, desk: Desk) -> str:
        tries.append(interrupt("may I?"))
        if len(tries) == 1:
            raise ConnectionError("gone")
        return "there"

    async with opened(asker(breaks_once), max_iterations=0) as sup:
        run = await answered(sup, await sup.start("Q", plan=plan(ASKER)), "approve")

    assert (run.status, run.tasks[0].result, tries) == ("complete", "there", [True, True])


class Form(TypedDict, total=False):
    left: str
    right: str


def form(*names: str) -> Any:
    """A graph that asks for each of its fields, all at once."""
    builder = StateGraph(Form)
    for name in names:
        builder.add_node(f"ask_{name}", lambda _, name=name: {name: str(interrupt(f"{name}?"))})
        builder.add_edge(START, f"ask_{name}")
    return builder.compile()


async def test_a_graph_that_a_function_runs_asks_through_it() -> None:
    inner = form("left")

    async def fills(brief: Brief, desk: Desk) -> str:
        return f"{interrupt('may I?')} {(await inner.ainvoke({}))['left']}"

    async with opened(asker(fills), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan(ASKER))
        run = await answered(sup, waiting, "reject", {"type": "edit", "args": {"answer": "mine"}})

    assert (run.status, run.tasks[0].result) == ("complete", "False mine")


async def test_a_graph_that_a_function_runs_cannot_be_answered_with_nothing() -> None:
    inner = form("left")

    async def fills(brief: Brief, desk: Desk) -> str:
        return str(await inner.ainvoke({}))

    async with opened(asker(fills), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan(ASKER))
        run = await answered(sup, waiting, {"type": "edit", "args": {"answer": None}})

    assert "cannot be answered with nothing" in str(run.tasks[0].error)


async def test_answers_that_could_be_mixed_up_are_not_asked_for() -> None:
    inner = form("left", "right")

    async def fills(brief: Brief, desk: Desk) -> str:
        return str(await inner.ainvoke({}))

    async with opened(asker(fills), max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan(ASKER))

    assert "make that graph an agent of its own" in str(run.tasks[0].error)
    assert run.tasks[0].attempts == 1


async def test_a_plain_compiled_graph_asks_for_all_of_them_at_its_one_gate() -> None:
    async def says(brief: Brief, desk: Desk) -> str:
        return f"{brief.task.id}: {interrupt(f'may {brief.task.id}?')}"

    graph = build_supervisor([agent(says)], model=ScriptedModel([]), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"query": "Q", "plan": plan("a", "b"), "policy": {"max_iterations": 0}}, config)
    [asked] = (await graph.aget_state(config)).interrupts
    assert [one["args"] for one in asked.value["action_requests"]] == [
        {"question": "may a?", "answer": ""},
        {"question": "may b?", "answer": ""},
    ]
    ended = await graph.ainvoke(Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}), config)

    results = {task["task"]["id"]: task["outcome"]["result"] for task in ended["tasks"]}
    assert results == {"a": "a: True", "b": "b: False"}
