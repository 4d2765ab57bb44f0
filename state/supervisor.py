"""The state of the supervisor graph: what it takes, what it gives, and all its channels.

Nodes run one at a time, so a channel takes the last value; only `messages` merges.
"""

from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from state.channels import Given, Result, RunState

Messages = Annotated[list[AnyMessage], add_messages]


class SupervisorInput(Given, total=False):
    """What a run starts from: a query, or messages whose last human one is the goal."""

    messages: Messages


class SupervisorOutput(Result, total=False):
    """What a run ends with."""

    messages: Messages


class SupervisorState(RunState, total=False):
    """All that is true of a run."""

    messages: Messages


Update = dict[str, Any]
"""What a node returns: the changed channels only."""
