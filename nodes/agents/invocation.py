"""One agent invoked for one task, once; and which kind of agent it is, by what its `run` is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any, Literal

from langchain_core.runnables import Runnable
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from pydantic import JsonValue

from nodes.runtime.execution import ExecutionContext
from nodes.runtime.services import SupervisorGraph
from state.agent import AgentSpec, Brief


@dataclass(frozen=True)
class Invocation:
    """A try of a task, or of what another agent delegated."""

    execution: ExecutionContext
    spec: AgentSpec
    brief: Brief
    label: str
    """Unique in the run, and the same after a crash."""
    conversation: Sequence[JsonValue] = ()
    """Where it goes on from, if it parked or was cut off."""
    chain: tuple[str, ...] = ()
    """Who delegated it, outermost first; the agent itself is not in it."""
    charged_to: str = ""
    """The plan's task that its model calls are settled on; its own unless it was delegated."""
    tried: tuple[str, ...] = field(default=())
    """Who had the task before, and handed it over or failed."""

    @property
    def path(self) -> list[str]:
        """Agents from the one that has the plan's task to the one at work."""
        return [*self.chain, self.spec.name]

    @property
    def charged_task(self) -> str:
        """The task on the ledger."""
        return self.charged_to or self.brief.task.id

    @property
    def kept(self) -> dict[str, JsonValue]:
        """What an agent that no model of ours drives has kept while it waited."""
        first = self.conversation[0] if self.conversation else None
        return dict(first) if isinstance(first, dict) else {}

    def keeping(self, **more: JsonValue) -> list[JsonValue]:
        """The same for the next time, with `more`."""
        return [{**self.kept, **more}]

    @property
    def thread(self) -> str:
        """Name of the thread that a graph runs on, below the run's: kept while it waits, found again after a crash."""
        kept = self.kept.get("thread")
        return kept if isinstance(kept, str) else f"{self.execution.run.scope}/{self.label}"

    @property
    def place(self) -> list[JsonValue]:
        """What is kept of a graph that waits: the name of its thread, above all."""
        return self.keeping(thread=self.thread)

    @property
    def question_prefix(self) -> str:
        """What stands before the ids of questions that come out of a graph."""
        return f"{self.brief.task.id}.{self.brief.iteration}.{self.spec.name}/"

    @property
    def effect_prefix(self) -> str:
        """What stands before the ids of side effects of a nested supervisor: without the round, as for any other."""
        return f"{self.brief.task.id}.{self.spec.name}/"


AgentKind = Literal["model", "function", "runnable", "graph", "supervisor", "remote"]


def kind_of(run: Any) -> AgentKind:
    """The kind of agent that a spec's `run` makes."""
    if run is None:
        return "model"
    if isinstance(run, FunctionType | MethodType):  # most are, and each check against an abstract class costs more
        return "function"
    if isinstance(run, RemoteGraph):
        return "remote"
    if isinstance(run, CompiledStateGraph) and isinstance(run.builder, SupervisorGraph):
        return "supervisor"
    if isinstance(run, Pregel):
        return "graph"
    if isinstance(run, Runnable) or (hasattr(run, "ainvoke") and not callable(run)):
        return "runnable"
    return "function"
