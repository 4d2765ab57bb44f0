"""The private parts of LangGraph that Baton leans on, and why the public way does not do: fails when either changes."""

import asyncio
import threading
from dataclasses import fields
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, CallbackManager
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context, var_child_runnable_config
from langchain_core.tools import BaseTool, tool
from langgraph._internal import _constants
from langgraph._internal._scratchpad import PregelScratchpad
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from nodes.agents import internals
from nodes.agents.internals import Answers, guarded, is_awaited, within
from nodes.runtime.calling import Parked
from nodes.runtime.durable import recorded_step
from state.text import Json


class Said(TypedDict, total=False):
    said: list[object]


def test_the_keys_are_those_of_langgraph() -> None:
    assert internals.SCRATCHPAD == _constants.CONFIG_KEY_SCRATCHPAD
    assert internals.STREAM == _constants.CONFIG_KEY_STREAM
    assert internals.SEND == _constants.CONFIG_KEY_SEND
    assert {"resume", "interrupt_counter", "get_null_resume", "call_counter"} <= {
        field.name for field in fields(PregelScratchpad)
    }


async def said_by(answers: Answers, count: int) -> list[object]:
    """What `interrupt()` returns or raises, `count` times in a row, inside a @task of a node."""

    async def asks() -> list[object]:
        said: list[object] = []
        with within(answers.config(get_config())):
            for number in range(count):
                try:
                    said.append(interrupt(f"{number}?"))
                except GraphInterrupt as error:
                    said.append([one.value for one in error.args[0]])
        return said

    async def node(state: Said) -> Said:
        return {"said": await task(asks)()}

    builder = StateGraph(Said)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    said: list[object] = (await builder.compile().ainvoke({}))["said"]
    return said


async def test_interrupt_returns_the_answers_in_order_and_then_asks() -> None:
    answers = Answers(["one", None])

    assert await said_by(answers, 4) == ["one", None, ["2?"], ["3?"]]
    assert answers.given == 2


async def test_a_graph_of_one_node_forgets_an_answer_when_its_code_ends_with_another_question() -> None:
    async def asks_and_leaves(state: Said) -> Said:
        interrupt("first?")
        raise Parked

    builder = StateGraph(Said)
    builder.add_node("node", asks_and_leaves)
    builder.add_edge(START, "node")
    graph, config = builder.compile(checkpointer=InMemorySaver()), RunnableConfig(configurable={"thread_id": "t"})
    [asked] = (await graph.ainvoke({}, config))["__interrupt__"]
    with pytest.raises(Parked):
        await graph.ainvoke(Command(resume={asked.id: "yes"}), config)

    assert (await graph.ainvoke(None, config))["__interrupt__"] == [asked]


async def test_what_is_found_inside_is_gone_afterwards() -> None:
    with within({"tags": ["inside"]}):
        assert get_config()["tags"] == ["inside"]
    assert var_child_runnable_config.get() is None


async def test_set_config_context_takes_coroutines_as_tasks_only() -> None:
    async def looks() -> Any:
        return asyncio.current_task(), (var_child_runnable_config.get() or {}).get("tags")

    with set_config_context({"tags": ["inside"]}) as context:
        here = await looks()
        made = await asyncio.create_task(looks(), context=context)

    assert here == (asyncio.current_task(), None)
    assert made[0] is not asyncio.current_task()
    assert made[1] == ["inside"]


class Told(BaseCallbackHandler):
    """Whether each call of a tool is awaited."""

    run_inline = True

    def __init__(self) -> None:
        self.awaited: list[bool] = []

    def on_tool_start(self, *_: Any, **__: Any) -> None:
        self.awaited.append(is_awaited())


async def test_a_handler_knows_whether_a_call_is_awaited_wherever_it_stands_among_others() -> None:
    @tool
    def looks() -> str:
        """Look."""
        return "seen"

    @tool
    async def waits() -> str:
        """Wait."""
        return "waited"

    first, last = Told(), Told()
    config = RunnableConfig(callbacks=[first, AsyncCallbackHandler(), last])
    await waits.ainvoke({}, config)
    looks.invoke({}, config)
    await asyncio.to_thread(looks.invoke, {}, config)

    assert first.awaited == last.awaited == [True, False, False]


def test_managers_that_are_merged_forget_which_handler_was_first() -> None:
    handlers = [Told() for _ in range(40)]
    merged = CallbackManager(handlers=[*handlers]).merge(CallbackManager(handlers=[]))

    assert merged.handlers != handlers
    assert set(merged.handlers) == set(handlers)


@tool
async def breaks() -> str:
    """Break."""
    raise KeyError("ships")


def a_tool_node(**more: Any) -> Any:
    """A graph whose ToolNode answers to some errors, and lets others through."""
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([breaks], handle_tool_errors=(ValueError,), **more))
    builder.add_edge(START, "tools")
    return builder.compile()


CALLS: Any = {"messages": [AIMessage("", tool_calls=[{"name": "breaks", "args": {}, "id": "c1"}])]}


async def test_a_wrapper_of_a_tool_node_answers_what_the_node_lets_through() -> None:
    async def wrapper(request: Any, execute: Any) -> Any:
        return await execute(request)

    with pytest.raises(KeyError):
        await a_tool_node().ainvoke(CALLS)
    said = await a_tool_node(awrap_tool_call=wrapper).ainvoke(CALLS)
    assert said["messages"][-1].status == "error"


async def test_a_guarded_graph_does_what_the_graph_does_and_stays_apart_from_it() -> None:
    seen: list[tuple[str, int, list[str]]] = []

    async def guard(call: Any, tool: BaseTool, said: Any, tools: Any, go: Any) -> Any:
        seen.append((call["name"], len(said), list(tools)))
        return await go(call)

    graph = a_tool_node()
    with pytest.raises(KeyError):
        await guarded(graph, guard).ainvoke(CALLS)
    with pytest.raises(KeyError):
        await graph.ainvoke(CALLS)

    assert seen == [("breaks", 1, ["breaks"])]


class Threads(TypedDict, total=False):
    blocking: str
    waiting: str


async def test_nodes_that_block_have_threads_of_their_own_and_all_others_the_event_loops() -> None:
    def blocks(state: Threads, runtime: Runtime[None]) -> Threads:
        assert runtime.execution_info
        return {"blocking": threading.current_thread().name}

    async def waits(state: Threads, config: RunnableConfig) -> Threads:
        assert config["configurable"]["thread_id"] == "t"
        return {"waiting": threading.current_thread().name}

    async def guard(call: Any, tool: BaseTool, said: Any, tools: Any, go: Any) -> Any:
        return await go(call)

    builder = StateGraph(Threads)
    builder.add_node("blocks", blocks)
    builder.add_node("waits", waits)
    builder.add_edge(START, "blocks")
    builder.add_edge("blocks", "waits")
    made = await guarded(builder.compile(), guard).ainvoke({}, {"configurable": {"thread_id": "t"}})

    assert made == {"blocking": "baton-agent", "waiting": threading.current_thread().name}


async def test_a_call_that_is_passed_over_leaves_what_comes_after_it_to_be_found() -> None:
    did: list[str] = []

    async def does(name: str) -> None:
        async def thunk() -> Json:
            did.append(name)
            return {}

        await recorded_step(name, thunk)

    async def node(state: MessagesState) -> None:
        if did:
            internals.pass_over_call()
        else:
            await does("a")
        await does("b")
        if len(did) == 2:
            did.append("breaks")
            raise RuntimeError("no more")

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    with pytest.raises(RuntimeError, match="no more"):
        await graph.ainvoke({"messages": []}, config)
    await graph.ainvoke(None, config)

    assert did == ["a", "b", "breaks"]
