"""The facade for code that is not async: the same verbs, run on an event loop in a thread of its own."""

from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

from graph.portal import Portal
from state.agent import Member
from state.approval import Entry
from state.event import Event
from state.run import Run
from state.text import Json
from state.trust import Trust


class BlockingSupervisor:
    """The verbs of `Supervisor`, each waiting for its result. Arguments and errors are the same.

    Ctrl-C cancels what a verb was at; what was finished is kept, and `resume` goes on from there.
    """

    def __init__(self, portal: Portal, supervisor: Any) -> None:
        self._call: Callable[[Coroutine[Any, Any, Any]], Any] = portal.call
        self._iterate: Callable[[Any], Generator[Any, None, None]] = portal.iterate
        self._supervisor = supervisor

    def start(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.start`."""
        run: Run = self._call(self._supervisor.start(*args, **kwargs))
        return run

    def enqueue(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.enqueue`."""
        run: Run = self._call(self._supervisor.enqueue(*args, **kwargs))
        return run

    def resume(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.resume`."""
        run: Run = self._call(self._supervisor.resume(*args, **kwargs))
        return run

    def answer(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.answer`."""
        run: Run = self._call(self._supervisor.answer(*args, **kwargs))
        return run

    def hand_back(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.hand_back`."""
        run: Run = self._call(self._supervisor.hand_back(*args, **kwargs))
        return run

    def signal(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.signal`."""
        run: Run = self._call(self._supervisor.signal(*args, **kwargs))
        return run

    def team(self, thread_id: str) -> list[Member]:
        """See `Supervisor.team`."""
        found: list[Member] = self._call(self._supervisor.team(thread_id))
        return found

    def view(self, thread_id: str) -> Run:
        """See `Supervisor.view`."""
        run: Run = self._call(self._supervisor.view(thread_id))
        return run

    def runs(self, **kwargs: Any) -> list[Run]:
        """See `Supervisor.runs`."""
        found: list[Run] = self._call(self._supervisor.runs(**kwargs))
        return found

    def plan(self, thread_id: str) -> Json:
        """See `Supervisor.plan`."""
        found: Json = self._call(self._supervisor.plan(thread_id))
        return found

    def events(self, thread_id: str, after: int = 0) -> list[Event]:
        """See `Supervisor.events`."""
        found: list[Event] = self._call(self._supervisor.events(thread_id, after))
        return found

    def trust(self) -> dict[str, Trust]:
        """See `Supervisor.trust`."""
        found: dict[str, Trust] = self._call(self._supervisor.trust())
        return found

    def incident(self, *args: Any, **kwargs: Any) -> Trust:
        """See `Supervisor.incident`."""
        made: Trust = self._call(self._supervisor.incident(*args, **kwargs))
        return made

    def audit(self, thread_id: str) -> tuple[list[Entry], str]:
        """See `Supervisor.audit`."""
        found: tuple[list[Entry], str] = self._call(self._supervisor.audit(thread_id))
        return found

    def stream(self, *args: Any, **kwargs: Any) -> Generator[Json, None, None]:
        """See `Supervisor.stream`; whoever stops early cancels the run."""
        return self._iterate(self._supervisor.stream(*args, **kwargs))


@contextmanager
def open_blocking(
    opening: Callable[[], AbstractAsyncContextManager[Any]],
) -> Iterator[BlockingSupervisor]:
    """A blocking supervisor around the async one that `opening` gives."""
    portal = Portal("baton-supervisor")
    try:
        with portal.entered(opening()) as supervisor:
            yield BlockingSupervisor(portal, supervisor)
    finally:
        portal.close()
