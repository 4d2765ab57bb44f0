"""What a worker works with, and what it keeps while it works."""

from dataclasses import dataclass, field
from typing import Annotated

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from nodes.runtime.context import RunContext
from nodes.runtime.journal import Json
from nodes.tools.sources import Sources
from state.agent import AgentSpec
from state.approval import Decision
from state.brief import Brief


@dataclass
class Bench:
    """Handed to the worker graph as its runtime context: live objects, never checkpointed."""

    spec: AgentSpec
    brief: Brief
    model: BaseChatModel
    tools: list[BaseTool]
    sources: Sources | None
    run: RunContext
    decisions: dict[str, Decision] = field(default_factory=dict)
    """Answers to earlier questions of this task, by approval id."""

    def tool(self, name: str) -> BaseTool | None:
        """The tool of that name, if this agent has it."""
        return next((tool for tool in self.tools if tool.name == name), None)


class WorkerState(TypedDict, total=False):
    """What is checkpointed between a worker's steps."""

    messages: Annotated[list[AnyMessage], add_messages]
    thoughts: int
    """Model calls made."""
    usage: Json
    questions: list[Json]
    """Approvals it waits for."""
    failure: Json | None
    limited: str
    """Which limit it ran into, if any."""
    outcome: Json
