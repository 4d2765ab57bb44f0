"""Tools that were made `governed` ask a human wherever an agent's code calls them, and are done once."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, Tool, ToolException, tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import JsonValue
from typing_extensions import TypedDict

from graph import governed
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.errors import ToolRefused
from state.run import Run
from tests.nodes.agents.outbox import Outbox, answered, call, own, told
from tests.runs import opened, plan

A = plan({"id": "a", "role": "own"})
BOB = {"to": "bob"}


class Form(TypedDict, total=False):
    result: str


def graph_of(node: Any) -> Any:
    builder = StateGraph(Form)
    builder.add_node("only", node)
    builder.add_edge(START, "only")
    return builder.compile()


def in_a_function(post: BaseTool) -> Any:
    async def posts(brief: Brief, desk: Desk) -> str:
        return str(await post.ainvoke(BOB))

    return posts


def in_a_function_in_a_thread(post: BaseTool) -> Any:
    return lambda brief, desk: str(post.invoke(BOB))


def in_a_node(post: BaseTool) -> Any:
    async def posts(state: Form) -> Form:
        return {"result": await post.ainvoke(BOB)}

    return graph_of(posts)


def in_a_node_in_a_thread(post: BaseTool) -> Any:
    return graph_of(lambda state: {"result": post.invoke(BOB)})


def in_a_graph_without_callbacks(post: BaseTool) -> Any:
    inner = in_a_node(post)

    async def runs(brief: Brief, desk: Desk) -> str:
        return str((await inner.ainvoke({}, {"callbacks": []}))["result"])

    return runs


def in_a_thread_of_ones_own(post: BaseTool) -> Any:
    def posts(state: Form) -> Form:
        with ThreadPoolExecutor(1) as threads:
            work = partial(post.invoke, BOB, {"callbacks": []})
            return {"result": threads.submit(partial(copy_context().run, work)).result()}

    return graph_of(posts)


def in_a_chain(post: BaseTool) -> Any:
    return RunnableLambda(lambda _: BOB) | post


WAYS: dict[str, Callable[[BaseTool], Any]] = {
    "a function": in_a_function,
    "a function in a thread": in_a_function_in_a_thread,
    "a node": in_a_node,
    "a node in a thread": in_a_node_in_a_thread,
    "a graph without callbacks": in_a_graph_without_callbacks,
    "a thread of one's own": in_a_thread_of_ones_own,
    "a chain": in_a_chain,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("answer", "done"),
    [
        ("approve", ["mail bob"]),
        ("reject: not him", []),
        ({"type": "edit", "args": {"to": "eve"}}, ["mail eve"]),
    ],
    ids=["approve", "reject", "edit"],
)
async def test_it_waits_before_the_call_wherever_that_is_made(way: str, answer: JsonValue, done: list[str]) -> None:
    box = Outbox()
    async with opened(own(WAYS[way](governed(box.post_in_a_thread()))), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=A)
        assert (waiting.status, box.done) == ("waiting", [])
        [question] = waiting.approvals
        assert (question.action, question.args, question.risk) == ("mail", BOB, "high")
        run = await sup.answer(waiting.thread_id, {question.id: answer}, by="ana")

    assert box.done == done
    if done:
        assert (run.status, run.tasks[0].result) == ("complete", done[0].replace("mail", "mailed to"))
    else:
        assert "ana did not allow this: not him" in str(run.tasks[0].error)


async def test_what_was_done_is_not_asked_about_again_when_the_code_runs_again() -> None:
    box = Outbox()
    post = governed(box.post())

    async def posts_to_all(brief: Brief, desk: Desk) -> str:
        return ", ".join([await post.ainvoke({"to": to}) for to in ("ann", "bob", "ann")])

    async with opened(own(posts_to_all), max_iterations=0) as sup:
        run = await sup.start("Q", plan=A)
        asked: list[str] = []
        while run.approvals:
            asked += [str(question.args["to"]) for question in run.approvals]
            run = await answered(sup, run, ann="approve", bob="approve")

    assert (run.status, run.tasks[0].result) == ("complete", "posted to ann, posted to bob, posted to ann")
    assert asked == ["ann", "bob", "ann"]
    assert box.done == ["post ann", "post bob", "post ann"]


async def test_who_is_tried_again_does_not_ask_again_for_what_was_done() -> None:
    box, tries = Outbox(), [0]
    post = governed(box.post())

    async def breaks_once(brief: Brief, desk: Desk) -> str:
        said, may = await post.ainvoke(BOB), interrupt("may I?")
        tries[0] += 1
        if tries[0] == 1:
            raise ConnectionError("gone")
        return f"{said}: {may}"

    async with opened(own(breaks_once), max_iterations=0) as sup:
        run = await answered(sup, await sup.start("Q", plan=A), bob="approve")
        run = await sup.answer(run.thread_id, {run.approvals[0].id: "approve"})

    assert (run.status, run.tasks[0].result, tries) == ("complete", "posted to bob: True", [2])
    assert box.done == ["post bob"]


async def test_what_failed_says_so_again_and_is_not_tried_behind_a_humans_back() -> None:
    times: list[str] = []

    @tool
    async def post(to: str) -> str:
        """Post it."""
        times.append(to)
        raise ConnectionError("gone")

    post.metadata = {"sensitive": True}
    again = governed(post)

    async def goes_on(brief: Brief, desk: Desk) -> str:
        try:
            await again.ainvoke(BOB)
        except (ConnectionError, ToolException) as error:
            said = str(error)
        return f"{said} {(await desk.ask('go on')).type}"

    async with opened(own(goes_on), max_iterations=0) as sup:
        run = await answered(sup, await sup.start("Q", plan=A), bob="approve")
        assert times == ["bob"]
        run = await sup.answer(run.thread_id, {run.approvals[0].id: "approve"})

    assert (run.status, times) == ("complete", ["bob"])
    assert run.tasks[0].result == "post failed: ConnectionError: gone approve"


async def test_code_may_go_on_without_what_was_not_allowed() -> None:
    box = Outbox()
    post = governed(box.post())

    async def tries(brief: Brief, desk: Desk) -> str:
        try:
            return str(await post.ainvoke(BOB))
        except ToolException as error:
            return f"without: {error}"

    async with opened(own(tries), max_iterations=0) as sup:
        run = await answered(sup, await sup.start("Q", plan=A), bob="reject")

    assert (run.status, box.done) == ("complete", [])
    assert str(run.tasks[0].result).startswith("without: ana did not allow this")


async def test_a_function_becomes_a_tool_that_the_policy_knows_by_its_name() -> None:
    sent: list[str] = []

    async def send_mail(to: str, text: str = "hello") -> dict[str, str]:
        """Send it."""
        sent.append(f"{to}: {text}")
        return {"sent": to}

    send = governed(send_mail)

    async def works(brief: Brief, desk: Desk) -> str:
        return str((await send.ainvoke(BOB))["sent"])

    async with opened(own(works), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=A)
        edit: JsonValue = {"type": "edit", "args": {"to": "eve", "text": "bye"}}
        run = await answered(sup, waiting, bob=edit)

    assert (run.tasks[0].result, sent) == ("eve", ["eve: bye"])


def by_create_agent(model: ScriptedModel, post: BaseTool) -> AgentSpec:
    return own(create_agent(model, [post]))


def by_the_worker(model: ScriptedModel, post: BaseTool) -> AgentSpec:
    return AgentSpec(name="own", role="own", tools=[post])


@pytest.mark.parametrize("made", [by_create_agent, by_the_worker])
async def test_where_calls_are_asked_about_anyway_it_does_not_ask_a_second_time(made: Any) -> None:
    box, model = Outbox(), ScriptedModel([call("post", to="bob"), "Done."])
    async with opened(made(model, governed(box.post())), model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=A)
        assert (len(waiting.approvals), box.done) == (1, [])
        run = await answered(sup, waiting, bob="approve")

    assert (run.status, run.tasks[0].result, box.done) == ("complete", "Done.", ["post bob"])
    assert told(model) == ["posted to bob"]


async def test_a_call_that_blocks_the_run_cannot_wait_and_is_refused() -> None:
    box = Outbox()
    post = governed(box.post_in_a_thread())

    async def blocks(brief: Brief, desk: Desk) -> str:
        return str(post.invoke(BOB))

    run: Run
    async with opened(own(blocks), max_iterations=0) as sup:
        run = await sup.start("Q", plan=A)

    assert (run.status, box.done) == ("failed", [])
    assert "call `await tool.ainvoke(…)`" in str(run.tasks[0].error)


async def test_where_nobody_could_be_asked_it_is_refused() -> None:
    box = Outbox()
    post = governed(box.post())

    async def forgets_its_context(brief: Brief, desk: Desk) -> str:
        loop = asyncio.get_running_loop()
        return str(await loop.run_in_executor(None, post.invoke, BOB))

    with pytest.raises(ToolRefused, match="post is governed"):
        await post.ainvoke(BOB)
    async with opened(own(forgets_its_context), max_iterations=0, max_attempts=1) as sup:
        run = await sup.start("Q", plan=A)

    assert "post is governed: it can be called only by an agent at work" in str(run.tasks[0].error)
    assert box.done == []


def test_a_tool_of_another_kind_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="not Tool"):
        governed(Tool("post", str, "Post it."))
