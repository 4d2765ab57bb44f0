"""What an agent is, by what its `run` is. The one place that tells."""

from typing import Any, Literal

from langchain_core.runnables import Runnable
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph

from nodes.runtime.blueprint import Blueprint

AgentKind = Literal["model", "function", "runnable", "graph", "supervisor", "remote"]


def kind_of(run: Any) -> AgentKind:
    """The kind of agent that a spec's `run` makes."""
    if run is None:
        return "model"
    if isinstance(run, RemoteGraph):
        return "remote"
    if isinstance(run, CompiledStateGraph) and isinstance(run.builder, Blueprint):
        return "supervisor"
    if isinstance(run, Pregel):
        return "graph"
    if isinstance(run, Runnable) or (hasattr(run, "ainvoke") and not callable(run)):
        return "runnable"
    return "function"
