"""What a worker works with, and what it keeps while it works."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from nodes.agents.invocation import Invocation
from nodes.tools.sources import Sources
from state.text import Json


@dataclass
class WorkerContext:
    """Handed to the worker graph as its runtime context: live objects, never checkpointed."""

    invocation: Invocation
    model: BaseChatModel
    tools: list[BaseTool]
    sources: Sources | None

    @cached_property
    def described(self) -> list[Json]:
        """The tools as a model is shown them, read off once for all of its turns."""
        return [convert_to_openai_tool(tool) for tool in self.tools]

    def tool(self, name: str) -> BaseTool | None:
        """The tool of that name, if this agent has it."""
        return next((tool for tool in self.tools if tool.name == name), None)


class WorkerState(TypedDict, total=False):
    """What is checkpointed between a worker's steps."""

    messages: Annotated[list[AnyMessage], add_messages]
    thoughts: int
    """Model calls made."""
    halted: bool
    """Whether it stopped at a safe point, because the run is paused or taken over."""
    usage: Json
    questions: list[Json]
    """Approvals it waits for."""
    failure: Json | None
    handed: dict[str, str] | None
    """Who finishes the task in its place, and what it leaves them."""
    limited: str
    """Which limit it ran into, if any."""
    cut_off: str
    """What is said of its answer, where that has no end."""
    outcome: Json
