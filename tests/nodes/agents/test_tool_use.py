"""Sensitive tools called elsewhere than in a ToolNode of the agent: by nodes, chains, graphs inside of tools."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy, interrupt
from typing_extensions import TypedDict

from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import Brief
from state.errors import BadInput
from state.run import Run
from tests.nodes.agents.outbox import Outbox, answered, call, own, told
from tests.runs import agent, opened, plan, statuses

A = plan({"id": "a", "role": "own"}, "b")


class Form(TypedDict, total=False):
    result: str


def graph_of(*nodes: Any, **how: Any) -> Any:
    """A graph of nodes, one after the other."""
    builder = StateGraph(Form)
    names = [node.__name__ for node in nodes]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node, **how)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile()


def awaiting(post: BaseTool) -> Any:
    async def posts(state: Form) -> Form:
        return {"result": await post.ainvoke({"to": "bob"})}

    return graph_of(posts)


def in_a_thread(post: BaseTool) -> Any:
    def posts(state: Form) -> Form:
        return {"result": post.invoke({"to": "bob"})}

    return graph_of(posts)


def in_a_chain(post: BaseTool) -> Any:
    return RunnableLambda(lambda _: {"to": "bob"}) | post


def in_a_graph_of_a_function(post: BaseTool) -> Any:
    inner = awaiting(post)

    async def runs(brief: Brief, desk: Desk) -> str:
        return str((await inner.ainvoke({}))["result"])

    return runs


WAYS = {
    "a node": awaiting,
    "a node in a thread": in_a_thread,
    "a chain": in_a_chain,
    "a graph that a function runs": in_a_graph_of_a_function,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("answer", "done"), [("approve", ["mail bob"]), ("reject: not him", [])])
async def test_it_waits_before_the_call(way: str, answer: str, done: list[str]) -> None:
    box = Outbox()
    async with opened(own(WAYS[way](box.post_in_a_thread())), agent(), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=A)
        assert (waiting.status, statuses(waiting), box.done) == ("waiting", {"a": "parked", "b": "done"}, [])
        [question] = waiting.approvals
        assert (question.action, question.args, question.risk) == ("mail", {"to": "bob"}, "high")
        assert question.choices == ["approve", "reject"]
        run = await sup.answer(waiting.thread_id, {question.id: answer}, by="ana")

    assert box.done == done
    if done:
        assert (run.status, run.tasks[0].result) == ("complete", "mailed to bob")
    else:
        assert (run.tasks[0].status, run.tasks[0].attempts) == ("failed", 1)
        assert "ana did not allow this: not him" in str(run.tasks[0].error)


async def test_an_edit_is_refused_in_a_line_and_the_question_stays_open() -> None:
    box = Outbox()
    async with opened(own(awaiting(box.post())), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        edit: Any = {"type": "edit", "args": {"to": "eve"}}
        with pytest.raises(BadInput, match="post is called by code that does not take others: approve or reject it"):
            await sup.answer(waiting.thread_id, {waiting.approvals[0].id: edit})
        run = await answered(sup, await sup.view(waiting.thread_id), bob="approve")

    assert (run.status, box.done) == ("complete", ["post bob"])


async def test_a_node_may_go_on_without_what_was_not_allowed() -> None:
    box = Outbox()
    post = box.post()

    async def tries(state: Form) -> Form:
        try:
            return {"result": await post.ainvoke({"to": "bob"})}
        except ToolException as error:
            return {"result": f"without: {error}"}

    async with opened(own(graph_of(tries)), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        run = await answered(sup, waiting, bob="reject")

    assert (run.status, box.done) == ("complete", [])
    assert str(run.tasks[0].result).startswith("without: ana did not allow this")


async def test_one_yes_is_good_for_one_call_also_where_a_node_runs_again() -> None:
    box = Outbox()
    post = box.post()

    async def posts_twice(state: Form) -> Form:
        return {"result": f"{await post.ainvoke({'to': 'ann'})}, {await post.ainvoke({'to': 'bob'})}"}

    async with opened(own(graph_of(posts_twice)), max_iterations=0) as sup:
        first = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        second = await answered(sup, first, ann="approve")
        assert ([question.args["to"] for question in second.approvals], box.done) == (["bob"], ["post ann"])
        again = await answered(sup, second, bob="approve")
        [question] = again.approvals
        assert (question.args, box.done) == ({"to": "ann"}, ["post ann"])
        assert "it was called before" in question.reason
        run = await answered(sup, again, ann="approve")

    assert (run.status, box.done) == ("complete", ["post ann", "post ann", "post bob"])


async def test_steps_that_are_done_are_not_asked_about_again() -> None:
    box = Outbox()
    post = box.post()

    async def first(state: Form) -> Form:
        return {"result": await post.ainvoke({"to": "bob"})}

    async def second(state: Form) -> Form:
        return {"result": f"{state['result']}, {await post.ainvoke({'to': 'bob'})}"}

    async with opened(own(graph_of(first, second)), max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        run = await answered(sup, run, bob="approve")
        assert (run.status, box.done) == ("waiting", ["post bob"])
        run = await answered(sup, run, bob="approve")

    assert (run.tasks[0].result, box.done) == ("posted to bob, posted to bob", ["post bob", "post bob"])


async def test_an_agent_inside_a_tool_is_told_of_a_no_like_any_other() -> None:
    box = Outbox()
    inner_model = ScriptedModel([call("post", to="bob"), "Not posted."])
    inner = create_agent(inner_model, box.tools())

    @tool
    async def clerk(task: str) -> str:
        """Have a clerk do it."""
        given: Any = {"messages": [("user", task)]}
        return str((await inner.ainvoke(given))["messages"][-1].text)

    model = ScriptedModel([call("clerk", task="Post it."), "Done."])
    async with opened(own(create_agent(model, [clerk])), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        run = await answered(sup, waiting, bob="reject: not him")

    assert (run.status, run.tasks[0].result, box.done) == ("complete", "Done.", [])
    assert told(inner_model) == ["ana did not allow this: not him; do not call it again, go on without it"]
    assert told(model) == ["Not posted."]


async def test_a_tool_with_a_question_of_its_own_is_allowed_once() -> None:
    done: list[str] = []

    @tool
    async def order(to: str) -> str:
        """Order it."""
        done.append(f"{to}: {interrupt('how many?')}")
        return "ordered"

    order.metadata = {"sensitive": True}
    async with opened(own(awaiting(order)), max_iterations=0) as sup:
        allowed = await answered(sup, await sup.start("Q", plan=plan({"id": "a", "role": "own"})), bob="approve")
        [question] = allowed.approvals
        assert question.args == {"question": "how many?"}
        run = await sup.answer(allowed.thread_id, {question.id: {"type": "edit", "args": {"answer": 3}}})

    assert (run.status, done) == ("complete", ["bob: 3"])


async def test_a_retry_of_the_node_asks_again() -> None:
    box = Outbox()
    post, tries = box.post(), [0]

    async def breaks(state: Form) -> Form:
        said = await post.ainvoke({"to": "bob"})
        tries[0] += 1
        if tries[0] == 1:
            raise ConnectionError("gone")
        return {"result": said}

    quickly = RetryPolicy(initial_interval=0.001, jitter=False)
    async with opened(own(graph_of(breaks, retry_policy=quickly)), max_iterations=0) as sup:
        run = await answered(sup, await sup.start("Q", plan=plan({"id": "a", "role": "own"})), bob="approve")

        assert (run.status, box.done) == ("waiting", ["post bob"])


async def test_what_a_function_calls_itself_is_its_own_business() -> None:
    box = Outbox()
    post = box.post()

    async def asks_and_posts(brief: Brief, desk: Desk) -> str:
        await desk.ask("post", {"to": "bob"})
        return str(await post.ainvoke({"to": "bob"}))

    async with opened(own(asks_and_posts), max_iterations=0) as sup:
        run = await answered(sup, await sup.start("Q", plan=plan({"id": "a", "role": "own"})), bob="approve")

    assert (run.status, box.done) == ("complete", ["post bob"])


async def test_a_call_that_blocks_the_run_cannot_wait_and_is_refused() -> None:
    box = Outbox()
    mail, look = box.post_in_a_thread(), box.look()

    async def blocks(state: Form) -> Form:
        await look.ainvoke({"at": "it"})
        return {"result": mail.invoke({"to": "bob"})}

    run: Run
    async with opened(own(graph_of(blocks)), max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))

    assert (run.status, box.done) == ("failed", ["look it"])
    assert "call `await tool.ainvoke(…)`" in str(run.tasks[0].error)
