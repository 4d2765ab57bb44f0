"""The shape of a node of the supervisor graph."""

from typing import Any, Protocol

from langgraph.runtime import Runtime

from state.supervisor import SupervisorState


class Node(Protocol):
    """An async function of state and runtime; it returns the changed channels, or a Command that also says where to."""

    async def __call__(self, state: SupervisorState, runtime: Runtime[None]) -> Any:
        """Do the node's work."""
