"""The lease around every node, for a graph that somebody else drives: LangGraph's server runs it, one node at a time.

Where the facade drives, it holds the lease for the whole run, and the nodes are as they are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import unwrap
from typing import Any
from uuid import uuid4

from langgraph.config import get_config
from langgraph.runtime import Runtime

from graph.sqlite.lease import Leases
from nodes.runtime.context import Node, thread_of
from nodes.runtime.nesting import OuterRun
from state.supervisor import SupervisorState


class LeaseGuard:
    """Lets nodes run under the leases of a database, while somebody has it open; as they are otherwise."""

    def __init__(self) -> None:
        self._leases: Leases | None = None
        self._owner = uuid4().hex
        """One for all steps: LangGraph's server keeps apart the runs of one thread itself."""

    @contextmanager
    def leasing(self, leases: Leases) -> Iterator[None]:
        """While inside, a thread is leased while the graph runs it: no other process does meanwhile."""
        before, self._leases = self._leases, leases
        try:
            yield
        finally:
            self._leases = before

    async def check(self, thread_id: str) -> None:
        """Refuse to begin anything on a thread.

        Raises:
            ThreadBusy: another process runs it.
        """
        if self._leases is not None:
            await self._leases.check(thread_id, self._owner)

    def guarded(self, node: Node, *, is_last: bool = False) -> Node:
        """The node, refused (ThreadBusy) where another process runs the thread. `is_last`: nothing follows."""

        @wraps(unwrap(node))  # LangGraph reads from the node itself which graphs it calls
        async def under_lease(state: SupervisorState, runtime: Runtime[None]) -> Any:
            if self._leases is None or isinstance(runtime.context, OuterRun):  # the outer lease covers it
                return await node(state, runtime)
            async with self._leases.step(thread_of(get_config()), self._owner, is_last=is_last):
                return await node(state, runtime)

        return under_lease
