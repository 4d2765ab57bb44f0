"""What LangGraph and LangChain keep to themselves and Baton cannot do without: named here, and nowhere else.

`tests/nodes/agents/test_internals.py` fails when one of them changes.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import BaseMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.pregel import Pregel
from langgraph.pregel._read import PregelNode

from state.errors import AgentFailed

SCRATCHPAD = "__pregel_scratchpad"
"""Where, in a config, LangGraph's `interrupt()` looks for answers."""
SEND = "__pregel_send"
"""What it tells that it has taken one."""


CHECKPOINT_NS = "langgraph_checkpoint_ns"
"""Where, in a call's metadata, stands which step of which graph makes it."""

AnyGraph = Pregel[Any, Any, Any, Any]
Go = Callable[[ToolCall], Awaitable[Any]]
"""Makes a call, perhaps with other arguments than were asked for."""
Guard = Callable[[ToolCall, BaseTool, Sequence[BaseMessage], Mapping[str, BaseTool], Go], Awaitable[Any]]
"""Stands around a ToolNode's calls: the call, its tool, the conversation that it is part of, all tools, the way on."""


class NotAllowed(ToolInvocationError, AgentFailed):
    """A human said no to a tool call. A ToolNode tells its model so, unless it was made to do something else."""

    def __init__(self, message: str) -> None:
        AgentFailed.__init__(self, message, "denied")
        self.message = message


class Answers:
    """Answers to the questions that code asks by `interrupt()`, handed out in the order in which it asks."""

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


@contextmanager
def within(config: RunnableConfig) -> Iterator[None]:
    """While inside, this is the config that LangChain and LangGraph find."""
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _nowhere(_: object) -> None:
    """Nobody has to know that an answer was taken: it is kept with the decision."""


def with_handlers(config: RunnableConfig, handlers: Sequence[BaseCallbackHandler]) -> RunnableConfig:
    """`config`, with these handlers told of what is called, besides those that are told already."""
    found = config.get("callbacks")
    if not isinstance(found, BaseCallbackManager):
        return cast(RunnableConfig, {**config, "callbacks": [*(found or []), *handlers]})
    manager = found.copy()
    for handler in handlers:
        manager.add_handler(handler)
    return cast(RunnableConfig, {**config, "callbacks": manager})


def run_of(config: RunnableConfig) -> UUID | None:
    """The run, in LangChain's sense, that whatever is called with this config is a part of."""
    found = config.get("callbacks")
    return found.parent_run_id if isinstance(found, BaseCallbackManager) else None


def guarded(graph: AnyGraph, guard: Guard) -> AnyGraph:
    """The same graph with `guard` around the calls of its ToolNodes, those of graphs that are its nodes included."""
    return graph.copy({"nodes": {name: _guarded_step(node, guard) for name, node in graph.nodes.items()}})


def _guarded_step(step: PregelNode, guard: Guard) -> PregelNode:
    bound: Any = step.bound
    if isinstance(bound, ToolNode):
        return step.copy({"bound": _guarded_node(bound, guard)})
    if isinstance(bound, Pregel):
        inner = guarded(bound, guard)
        return step.copy({"bound": inner, "subgraphs": [inner]})
    return step


def _guarded_node(node: ToolNode, guard: Guard) -> ToolNode:
    ours: Any = copy(node)
    make = ours._execute_tool_async  # inside of whatever middleware has put around it

    async def execute(request: ToolCallRequest, kind: str, config: RunnableConfig) -> Any:
        async def go(call: ToolCall) -> Any:
            return await make(request.override(tool_call=call), kind, config)

        if request.tool is None:
            return await go(request.tool_call)
        messages = _messages(request.state, ours._messages_key)
        return await guard(request.tool_call, request.tool, messages, ours.tools_by_name, go)

    ours._execute_tool_async = execute
    ours.afunc = ours._afunc
    return cast(ToolNode, ours)


def _messages(state: Any, key: str) -> list[BaseMessage]:
    """The conversation in a graph's state, whatever form that has."""
    if isinstance(state, Mapping):
        state = state.get(key)
    elif not isinstance(state, list):
        state = getattr(state, key, None)
    return [message for message in state or [] if isinstance(message, BaseMessage)]
