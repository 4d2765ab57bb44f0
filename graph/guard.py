"""The lease around every node, for a graph that somebody else drives: LangGraph's server runs it, one node at a time.

What LangGraph writes down between two nodes is fenced as well: it has to find the lease as the last node left it. That
needs a saver that asks (`graph.server`).

Where the facade drives, it holds the lease for the whole run, and the nodes are as they are.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from inspect import unwrap
from typing import Any
from uuid import uuid4

from langgraph.config import get_config
from langgraph.runtime import Runtime

from graph.lease import Leases
from nodes.runtime.context import Node, thread_of
from nodes.runtime.nesting import OuterRun
from state.supervisor import SupervisorState


class LeaseGuard:
    """Lets nodes run under the leases of a database, while somebody has it open; as they are otherwise."""

    def __init__(self) -> None:
        self._leases: Leases | None = None
        self._owner = uuid4().hex
        """One for all steps: LangGraph's server keeps apart the runs of one thread itself."""
        self._stepped: dict[str, bool] = {}
        """Threads whose runs have taken a step here, and whether that was the last one."""

    @contextmanager
    def leasing(self, leases: Leases) -> Iterator[None]:
        """While inside, a thread is leased while the graph runs it: no other process does meanwhile."""
        before, self._leases = self._leases, leases
        try:
            yield
        finally:
            self._leases = before

    async def begin(self, thread_id: str) -> None:
        """Something else begins on a thread than the run that took steps there: a run, its resumption, an edit.

        Raises:
            ThreadBusy: another process runs it.
        """
        self._stepped.pop(thread_id, None)  # at once: what is given to the new run is written without waiting for this
        if self._leases is not None:
            await self._leases.check(thread_id, self._owner)

    def between_nodes(self, thread_id: str) -> AbstractContextManager[None]:
        """While inside, writes for a run that has taken a step here are refused (LeaseLost) once another has it."""
        if self._leases is None or thread_id not in self._stepped:
            return nullcontext()
        return self._leases.as_left(thread_id, self._owner).over()

    def written(self, thread_id: str) -> None:
        """A checkpoint is written down; after that of the last node nothing follows."""
        if self._stepped.get(thread_id):
            self._stepped.pop(thread_id)

    def guarded(self, node: Node, *, is_last: bool = False) -> Node:
        """The node, refused (ThreadBusy) where another process runs the thread. `is_last`: nothing follows."""

        @wraps(unwrap(node))  # LangGraph reads from the node itself which graphs it calls
        async def under_lease(state: SupervisorState, runtime: Runtime[None]) -> Any:
            if self._leases is None or isinstance(runtime.context, OuterRun):  # the outer lease covers it
                return await node(state, runtime)
            thread_id = thread_of(get_config())
            async with self._leases.step(thread_id, self._owner, is_last=is_last):
                self._stepped[thread_id] = is_last
                return await node(state, runtime)

        return under_lease
