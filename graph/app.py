"""The graph that `langgraph.json` serves, and the way to build one's own."""

from dataclasses import replace
from functools import cache
from typing import Any, cast

from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from graph.builder import Graph, build_graph
from graph.composition import ModelLike, PolicyLike, TeamLike, compose
from graph.guard import LeaseGuard
from graph.runs import SERVER
from graph.settings import read_settings
from nodes.runtime.services import Services


def build_supervisor(
    team: TeamLike = None,
    *,
    policy: PolicyLike = None,
    model: ModelLike = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
) -> Graph:
    """A plain compiled LangGraph: `ainvoke`, `astream`, `Command(resume=…)`.

    Raises:
        BadInput: a setting, team, policy or model that cannot be used.
    """
    services = compose(read_settings(), team=team, policy=policy, model=model)
    return build_graph(services, checkpointer=checkpointer, store=store)


@cache
def served() -> Services:
    """What the served graph is built from, read from the settings once, when it is first needed."""
    return replace(compose(read_settings()), door=SERVER)


class _Deferred:
    """Stands for the services while the graph is wired, when nothing may be read yet.

    LangGraph looks into what nodes close over for subgraphs, so until then it has no attributes at all.
    """

    is_wired = False

    def __getattr__(self, name: str) -> Any:
        if not self.is_wired or name.startswith("_"):
            raise AttributeError(name)
        return getattr(served(), name)


_services = _Deferred()
guard = LeaseGuard()
"""Around every node of the served graph."""
supervisor: Graph = build_graph(cast(Services, _services), guard=guard)
"""No checkpointer and no store of its own: the server brings both."""
_services.is_wired = True
