"""What LangGraph and LangChain keep to themselves and Baton cannot do without: named here, and nowhere else.

`tests/nodes/agents/test_internals.py` fails when one of them changes.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from inspect import CO_COROUTINE, currentframe
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import run_in_executor, var_child_runnable_config
from langchain_core.tools import BaseTool
from langgraph._internal._constants import NULL_TASK_ID
from langgraph._internal._runnable import RunnableCallable
from langgraph.channels import BinaryOperatorAggregate
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import StreamProtocol

from nodes.agents.tool_calls import contained_tool
from nodes.runtime.calling import contained

MESSAGES = "messages"
"""The field of a graph's state that has its conversation, by LangGraph's custom."""
SCRATCHPAD = "__pregel_scratchpad"
"""Where, in a config, LangGraph's `interrupt()` looks for answers."""
SEND = "__pregel_send"
"""What it tells that it has taken one; and where a node's code writes besides what it returns."""
STREAM = "__pregel_stream"
"""Where a graph finds whom the one that calls it streams to."""
GIVEN = NULL_TASK_ID
"""The task id of writes that a run begins or goes on with, which are no task's."""


AnyGraph = Pregel[Any, Any, Any, Any]
Go = Callable[[ToolCall], Awaitable[Any]]
"""Makes a call, perhaps with other arguments than were asked for."""
Guard = Callable[[ToolCall, BaseTool, Sequence[BaseMessage], Mapping[str, BaseTool], Go], Awaitable[Any]]
"""Stands around a ToolNode's calls: the call, its tool, the conversation that it is part of, all tools, the way on."""


class Answers:
    """Answers to the questions that code asks by `interrupt()`, handed out in the order in which it asks.

    Tried instead: a graph of one node around the code. Where the code, after an answer, ends with a question of its
    desk, LangGraph forgets the answer, and asks the same again. Each try also writes a thread of checkpoints of its own
    (26 ms each, measured on SQLite with both cores busy).
    """

    def __init__(self, answers: Sequence[object]) -> None:
        self._left = deque(answers)
        self._calls = 0
        self._taken: list[object] = []
        self.given = 0
        """How many were handed out."""

    def config(self, config: RunnableConfig) -> RunnableConfig:
        """`config` for code whose questions get these answers."""
        conf: Mapping[str, Any] = config.get("configurable", {})
        pad = replace(
            conf[SCRATCHPAD], resume=self._taken, interrupt_counter=self._asked, get_null_resume=self._asked_below
        )
        return cast(RunnableConfig, {**config, "configurable": {**conf, SCRATCHPAD: pad, SEND: _nowhere}})

    def _asked(self) -> int:
        """The number of the question that is asked now; its answer, if there is one, lies where LangGraph looks."""
        self._calls += 1
        if self._left:
            self._taken.append(self._next())
        return self._calls - 1

    def _asked_below(self, consume: bool = False) -> object:
        """The answer for a graph that the code runs by itself; None if there is none, or if that is what it is."""
        if not self._left or self._left[0] is None:
            return None
        return self._next() if consume else self._left[0]

    def _next(self) -> object:
        self.given += 1
        return self._left.popleft()


def pass_over_call() -> None:
    """Count a call of a @task that is not made: those that follow are found by their numbers after a crash.

    Tried instead: to make it. LangGraph takes a millisecond for one whose result it has already.
    """
    get_config()["configurable"][SCRATCHPAD].call_counter()


@contextmanager
def within(config: RunnableConfig) -> Iterator[None]:
    """While inside, this is the config that LangChain and LangGraph find.

    Tried instead: `set_config_context`. It makes a context in which coroutines can run only as tasks of their own, and
    out of a task SystemExit goes through the event loop.
    """
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def unheard(config: RunnableConfig) -> RunnableConfig:
    """`config` without what streams agents' messages and states: what they say to each other is not the run's answer.

    Agent Chat UI asks for all graphs, and takes any state for the thread's, down to the prompts of a worker.

    Tried instead: the tag `nostream`. It keeps a model's tokens back; the same text comes as the output of the node
    that asked, as soon as a page streams subgraphs. There is no tag for states.
    """
    conf: Mapping[str, Any] = config.get("configurable", {})
    if isinstance(stream := conf.get(STREAM), StreamProtocol) and "values" in stream.modes:
        quieter = StreamProtocol(stream.__call__, stream.modes - {"values"})
        config = cast(RunnableConfig, {**config, "configurable": {**conf, STREAM: quieter}})
    told = config.get("callbacks")
    if not isinstance(told, BaseCallbackManager):
        return config
    handlers = {id(one): one for one in (*told.handlers, *told.inheritable_handlers)}.values()
    heard = [one for one in handlers if type(one).__module__.partition(".")[0] == "langgraph"]
    if not heard:
        return config
    quiet = told.copy()
    for handler in heard:
        quiet.remove_handler(handler)
    return cast(RunnableConfig, {**config, "callbacks": quiet})


def _nowhere(_: object) -> None:
    """Nobody has to know that an answer was taken: it is kept with the decision."""


def is_awaited() -> bool:
    """Whether the callback handler that asks was called for something that its caller awaits.

    LangChain's managers tell a handler in the same words in either case: that the one for `await` does it from a
    coroutine is all that tells them apart. Tried instead: a handler that is told first and takes note. Managers are
    merged by way of sets, so that none is first; and one that is not told in line (`run_inline`) is told in a thread of
    the event loop's executor, which others may have used up.
    """
    asking = currentframe()
    telling = asking.f_back.f_back if asking and asking.f_back else None
    return bool(telling and telling.f_code.co_flags & CO_COROUTINE)


News = Callable[[Sequence[BaseMessage]], Sequence[BaseMessage]]
"""What is to be added to a conversation now."""


def guarded(graph: AnyGraph, guard: Guard, news: News | None = None) -> AnyGraph:
    """The same graph with `guard` around the calls of its ToolNodes, and with nodes that cannot end the process.

    A node that finds a conversation which waits for a model finds the `news` in it, too, where its graph merges
    `messages`; they stay in its state. The graphs that are nodes of it get none.

    Graphs that are nodes of it are treated the same way; code that blocks gets threads of its own.

    Tried instead: `ToolNode(awrap_tool_call=…)` and the middleware of `create_agent`. Both are given to what a graph is
    made of, and a compiled one takes none. Put around a ToolNode that is there, the wrapper changes what its graph
    does: an exception that the node's `handle_tool_errors` lets through becomes an answer to the model. For nodes that
    block there is only the executor of the event loop, which is not Baton's to set.
    """
    told = news if isinstance(graph.channels.get(MESSAGES), BinaryOperatorAggregate) else None
    return graph.copy({"nodes": {name: _guarded_step(node, guard, told) for name, node in graph.nodes.items()}})


def is_model_loop(graph: AnyGraph) -> bool:
    """Whether a graph runs no code but a model's loop with its tools, as LangChain's and LangGraph's makers build it.

    Tried instead: the names of its nodes, which anybody may give to theirs.
    """
    return all(_is_library_code(step.bound) for step in graph.nodes.values())


def _is_library_code(bound: Any) -> bool:
    work = [code for code in (bound.func, bound.afunc) if code] if isinstance(bound, RunnableCallable) else []
    plain = [code.args[-1] if isinstance(code, partial) and code.args else code for code in work]
    return bool(plain) and all(
        str(getattr(code, "__module__", "")).partition(".")[0] in ("langchain", "langgraph") for code in plain
    )


def _guarded_step(step: Any, guard: Guard, news: News | None) -> Any:
    match step.bound:
        case ToolNode() as node:
            return step.copy({"bound": _guarded_node(node, guard)})
        case Pregel() as graph:
            inner = guarded(graph, guard)
            return step.copy({"bound": inner, "subgraphs": [inner]})
        case RunnableCallable(afunc=work) as code if work:
            ours, is_blocking = copy(code), isinstance(work, partial) and work.func is run_in_executor
            safe = contained(code.func if is_blocking and code.func else work, is_blocking=is_blocking)
            ours.afunc = _told(safe, news) if news else safe
            return step.copy({"bound": ours})
    return step


def _told(work: Callable[..., Awaitable[Any]], news: News) -> Callable[..., Awaitable[Any]]:
    """A node's code that finds the news at the end of its messages; they are written before what it writes itself.

    Tried instead: `update_state` between two steps. The graph would have to be stopped after each.
    """

    async def run(state: Any, *args: Any, **kwargs: Any) -> Any:
        said = state.get(MESSAGES) if isinstance(state, Mapping) else None
        if (
            isinstance(said, list)
            and said
            and isinstance(said[-1], HumanMessage | ToolMessage)
            and (more := news(said))
        ):
            get_config()["configurable"][SEND]([(MESSAGES, list(more))])
            state = {**state, MESSAGES: [*said, *more]}
        return await work(state, *args, **kwargs)

    return run


def _guarded_node(node: ToolNode, guard: Guard) -> ToolNode:
    ours: Any = copy(node)
    make = ours._execute_tool_async  # inside of whatever middleware has put around it

    async def execute(request: ToolCallRequest, kind: str, config: RunnableConfig) -> Any:
        tool = request.tool
        if tool is None:
            return await make(request, kind, config)

        async def go(call: ToolCall) -> Any:
            return await make(request.override(tool_call=call, tool=contained_tool(tool)), kind, config)

        said = _conversation(request.state, request.tool_call)
        return await guard(request.tool_call, tool, said, ours.tools_by_name, go)

    ours._execute_tool_async = execute
    ours.afunc = ours._afunc
    return cast(ToolNode, ours)


def _conversation(state: Any, call: ToolCall) -> list[BaseMessage]:
    """The messages, in a graph's state, of which one makes this call, under whatever name that keeps them."""
    fields = [state] if isinstance(state, list) else (state if isinstance(state, Mapping) else vars(state)).values()
    for field in fields:
        messages = [one for one in field if isinstance(one, BaseMessage)] if isinstance(field, list) else []
        if any(made["id"] == call["id"] for one in messages if isinstance(one, AIMessage) for made in one.tool_calls):
            return messages
    return []
