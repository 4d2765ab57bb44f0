"""The facade for code that is not async: the same verbs, run on an event loop in a thread of its own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from state.agent import Member
from state.approval import Entry
from state.event import Event
from state.run import Run
from state.text import Json
from state.trust import Trust


class BlockingSupervisor:
    """The verbs of `Supervisor`, each waiting for its result. Arguments and errors are the same."""

    def __init__(self, portal: BlockingPortal, supervisor: Any) -> None:
        self._portal = portal
        self._supervisor = supervisor

    def start(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.start`."""
        run: Run = self._portal.call(partial(self._supervisor.start, *args, **kwargs))
        return run

    def resume(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.resume`."""
        run: Run = self._portal.call(partial(self._supervisor.resume, *args, **kwargs))
        return run

    def answer(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.answer`."""
        run: Run = self._portal.call(partial(self._supervisor.answer, *args, **kwargs))
        return run

    def hand_back(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.hand_back`."""
        run: Run = self._portal.call(partial(self._supervisor.hand_back, *args, **kwargs))
        return run

    def signal(self, *args: Any, **kwargs: Any) -> Run:
        """See `Supervisor.signal`."""
        run: Run = self._portal.call(partial(self._supervisor.signal, *args, **kwargs))
        return run

    def team(self, thread_id: str) -> list[Member]:
        """See `Supervisor.team`."""
        return self._portal.call(self._supervisor.team, thread_id)

    def view(self, thread_id: str) -> Run:
        """See `Supervisor.view`."""
        run: Run = self._portal.call(self._supervisor.view, thread_id)
        return run

    def runs(self, *, only_open: bool = False) -> list[Run]:
        """See `Supervisor.runs`."""
        found: list[Run] = self._portal.call(partial(self._supervisor.runs, only_open=only_open))
        return found

    def plan(self, thread_id: str) -> Json:
        """See `Supervisor.plan`."""
        return self._portal.call(self._supervisor.plan, thread_id)

    def events(self, thread_id: str, after: int = 0) -> list[Event]:
        """See `Supervisor.events`."""
        return self._portal.call(self._supervisor.events, thread_id, after)

    def trust(self) -> dict[str, Trust]:
        """See `Supervisor.trust`."""
        return self._portal.call(self._supervisor.trust)

    def incident(self, *args: Any, **kwargs: Any) -> Trust:
        """See `Supervisor.incident`."""
        made: Trust = self._portal.call(partial(self._supervisor.incident, *args, **kwargs))
        return made

    def audit(self, thread_id: str) -> tuple[list[Entry], str]:
        """See `Supervisor.audit`."""
        found: tuple[list[Entry], str] = self._portal.call(self._supervisor.audit, thread_id)
        return found

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Json]:
        """See `Supervisor.stream`."""
        events = self._supervisor.stream(*args, **kwargs)

        async def following() -> Json | None:
            return await anext(events, None)

        while (event := self._portal.call(following)) is not None:
            yield event


@contextmanager
def open_blocking(
    opening: Callable[[], AbstractAsyncContextManager[Any]],
) -> Iterator[BlockingSupervisor]:
    """A blocking supervisor around the async one that `opening` gives."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening()) as supervisor:
        yield BlockingSupervisor(portal, supervisor)
