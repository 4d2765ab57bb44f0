"""Sensitive tools of agents that bring their own loop: nobody's model has them called before a human was asked."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from pydantic import JsonValue

from nodes.llm.scripted import ScriptedModel
from tests.nodes.agents.outbox import Outbox, answered, call, own, told
from tests.runs import agent, opened, plan, statuses

TASKS = plan({"id": "a", "role": "own"}, "b")


Build = Callable[[ScriptedModel, Sequence[BaseTool]], Any]


def with_tool_node(model: ScriptedModel, tools: Sequence[BaseTool]) -> Any:
    """The loop of LangGraph's tutorials: all calls of a turn in one node."""
    thinking = model.bind_tools(tools)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await thinking.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile()


def below_a_graph(model: ScriptedModel, tools: Sequence[BaseTool]) -> Any:
    """An agent that is a node of a graph."""
    builder = StateGraph(MessagesState)
    builder.add_node("inner", create_agent(model, list(tools)))
    builder.add_edge(START, "inner")
    return builder.compile()


KINDS: dict[str, Build] = {
    "create_agent": lambda model, tools: create_agent(model, list(tools)),
    "a graph with a ToolNode": with_tool_node,
    "an agent in a graph": below_a_graph,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["post", "mail"])
@pytest.mark.parametrize(
    ("answer", "done", "said"),
    [
        ("approve", ["{} bob"], "{}ed to bob"),
        ("reject: not him", [], "ana did not allow this: not him; do not call it again, go on without it"),
        ({"type": "edit", "args": {"to": "eve"}}, ["{} eve"], '(ana had it called with {{"to": "eve"}})\n{}ed to eve'),
    ],
    ids=["approve", "reject", "edit"],
)
async def test_it_waits_at_the_call_and_goes_on_from_there(
    kind: str, name: str, answer: JsonValue, done: list[str], said: str
) -> None:
    box, model = Outbox(), ScriptedModel([call(name, to="bob"), "Done."])
    async with opened(own(KINDS[kind](model, box.tools())), agent(), model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=TASKS)
        assert (waiting.status, statuses(waiting)) == ("waiting", {"a": "parked", "b": "done"})
        [question] = waiting.approvals
        assert (question.action, question.args, question.risk) == (name, {"to": "bob"}, "high")
        assert question.reason == f"sensitive operation requires approval: {name}"
        assert (box.done, len(model.calls)) == ([], 1)
        run = await sup.answer(waiting.thread_id, {question.id: answer}, by="ana")

    assert (run.status, run.tasks[0].result) == ("complete", "Done.")
    assert box.done == [line.format(name) for line in done]
    assert told(model) == [said.format(name)]
    assert len(model.calls) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_the_calls_of_one_turn_are_asked_at_once_and_each_is_done_once(kind: str) -> None:
    turn = [call("post", to="ann"), call("look", at="it"), call("mail", to="bob"), call("post", to="eve")]
    box, model = Outbox(), ScriptedModel([turn, "Done."])
    async with opened(own(KINDS[kind](model, box.tools())), model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        assert [question.args["to"] for question in waiting.approvals] == ["ann", "bob", "eve"]
        assert box.done == []
        run = await answered(sup, waiting, ann="approve", bob="approve", eve="reject")

    assert (run.status, sorted(box.done)) == ("complete", ["look it", "mail bob", "post ann"])
    assert told(model)[:3] == ["posted to ann", "saw it", "mailed to bob"]
    assert told(model)[3].startswith("ana did not allow this")


@pytest.mark.parametrize(
    ("oversight", "marks", "asked", "done"),
    [
        ("in_command", {}, ["look", "post"], []),
        ("in_the_loop", {}, ["post"], []),
        ("in_the_loop", {"sensitive": False}, [], ["look it", "post bob"]),
        ("in_the_loop", {"sensitive": False, "risk": "critical"}, ["post"], []),
        ("in_the_loop", {"sensitive": False, "cost": 5.0}, ["post"], []),
        ("in_the_loop", {"sensitive": False, "risk": "high"}, ["post"], []),
        ("on_the_loop", {"sensitive": False, "risk": "high"}, [], ["look it", "post bob"]),
        ("on_the_loop", {}, [], ["look it", "post bob"]),
        ("on_the_loop", {"sensitive": False, "risk": "critical"}, ["post"], []),
        ("auto", {"sensitive": False}, ["look", "post"], []),
    ],
)
async def test_the_mode_decides_what_waits(
    oversight: str, marks: dict[str, Any], asked: list[str], done: list[str]
) -> None:
    box, model = Outbox(**marks), ScriptedModel([[call("look", at="it"), call("post", to="bob")], "Done."])
    graph = create_agent(model, box.tools())
    async with opened(own(graph), model=model, max_iterations=0, oversight=oversight) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        while run.status == "waiting" and run.approvals[0].subject != "action":  # the plan, and whether it may begin
            run = await sup.answer(run.thread_id, {run.approvals[0].id: "approve"})

        assert sorted(question.action for question in run.approvals) == asked
        entries, _ = await sup.audit(run.thread_id)

    assert sorted(box.done) == done
    is_noted = oversight == "on_the_loop" and "post bob" in done
    assert [one.action for one in entries if one.kind == "noted"] == (["post"] if is_noted else [])


async def test_a_name_in_the_policys_list_is_enough() -> None:
    box, model = Outbox(sensitive=False), ScriptedModel([call("mail", to="bob"), "Done."])
    async with opened(own(create_agent(model, box.tools())), model=model, sensitive_actions=["mail"]) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))

    assert ([question.action for question in run.approvals], box.done) == (["mail"], [])


async def test_a_no_ends_the_task_where_the_policy_says_so() -> None:
    box, model = Outbox(), ScriptedModel([call("post", to="bob"), "never said"])
    fails = opened(own(create_agent(model, box.tools())), model=model, max_iterations=0, on_reject="fail")
    async with fails as sup:
        run = await answered(sup, await sup.start("Q", plan=plan({"id": "a", "role": "own"})), bob="reject: not him")

    assert (run.status, run.tasks[0].error, box.done) == ("failed", "ana did not allow post: not him", [])
    assert len(model.calls) == 1


async def test_what_was_done_is_not_done_again_when_the_agent_begins_anew() -> None:
    box, model = Outbox(), ScriptedModel([call("post", to="bob"), "", call("post", to="bob"), "Done."])
    async with opened(own(create_agent(model, box.tools())), model=model, max_iterations=0) as sup:
        run = await answered(sup, await sup.start("Q", plan=plan({"id": "a", "role": "own"})), bob="approve")

    assert (run.status, run.tasks[0].result) == ("complete", "Done.")
    assert (box.done, told(model)) == (["post bob"], ["posted to bob"])


async def test_the_same_call_made_again_is_asked_about_again() -> None:
    box, model = Outbox(), ScriptedModel([call("post", to="bob"), call("post", to="bob"), "Done."])
    async with opened(own(create_agent(model, box.tools())), model=model, max_iterations=0) as sup:
        first = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        second = await answered(sup, first, bob="approve")
        assert (second.status, box.done) == ("waiting", ["post bob"])
        run = await answered(sup, second, bob="approve")

    assert (run.status, box.done) == ("complete", ["post bob", "post bob"])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_tool_with_a_question_of_its_own_is_allowed_first(kind: str) -> None:
    done: list[str] = []

    @tool
    def order(to: str) -> str:
        """Order it."""
        done.append(f"{to}: {interrupt('how many?')}")
        return "ordered"

    order.metadata = {"sensitive": True}
    model = ScriptedModel([call("order", to="bob"), "Done."])
    async with opened(own(KINDS[kind](model, [order])), model=model, max_iterations=0) as sup:
        allowed = await answered(sup, await sup.start("Q", plan=plan({"id": "a", "role": "own"})), bob="approve")
        [question] = allowed.approvals
        assert question.args == {"question": "how many?"}
        run = await sup.answer(allowed.thread_id, {question.id: {"type": "edit", "args": {"answer": 3}}})

    assert (run.status, run.tasks[0].result, done) == ("complete", "Done.", ["bob: 3"])


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_what_the_agents_own_middleware_asks_is_not_asked_twice(mode: Any) -> None:
    turn = [call("post", to=name) for name in ("ann", "bob", "eve")]
    box, model = Outbox(), ScriptedModel([[*turn, call("mail", to="zoe")], "Done."])
    middleware = HumanInTheLoopMiddleware(interrupt_on={"post": True}, interrupt_mode=mode)
    graph = create_agent(model, box.tools(), middleware=[middleware])
    async with opened(own(graph), model=model, max_iterations=0) as sup:
        first = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        assert {question.args["to"] for question in first.approvals} >= {"ann", "bob", "eve"}
        edit: JsonValue = {"type": "edit", "args": {"to": "max"}}
        run = await answered(sup, first, ann="approve", bob=edit, eve="reject: not her", zoe="approve")
        if run.status == "waiting":  # what the middleware does not ask about
            run = await answered(sup, run, zoe="approve")

    assert (run.status, sorted(box.done)) == ("complete", ["mail zoe", "post ann", "post max"])
    assert "not her" in "\n".join(told(model))
