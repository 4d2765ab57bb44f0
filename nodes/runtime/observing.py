"""Who looks on from outside while runs are at work, such as traces: told where calls are made, and how runs end.

Nothing depends on it: what it raises is logged, and the run goes on.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from state.event import Event
from state.record import Usage

_log = logging.getLogger("baton")


@dataclass(frozen=True)
class Place:
    """Where something happens: in one try of an agent, or in the supervisor itself."""

    thread_id: str
    started_at: float
    """When the run began: with the thread it names the run, also in another process."""
    label: str = ""
    """Of the try: the same when it is made again after a crash; empty for the supervisor's own calls."""
    task_id: str = ""
    agent: str = "supervisor"
    segment: str = ""
    """Tells the stretches of one try apart, between which it waited; the same after a crash, too."""


@dataclass(frozen=True)
class EndedRun:
    """A run that is over."""

    place: Place
    query: str
    model: str
    status: str
    error: str | None
    finished_at: float
    used: Usage
    events: Sequence[Event]
    """All of the run's, also those of processes that are gone."""


class Observer(Protocol):
    """Looks on."""

    def watching(self, place: Place) -> AbstractContextManager[None]:
        """Within this, calls of models and tools are made there."""

    async def ended(self, run: EndedRun) -> None:
        """Told of a run's end."""


class NoObserver:
    """Nobody looks on."""

    def watching(self, place: Place) -> AbstractContextManager[None]:  # noqa: ARG002 # an observer's
        """Nothing."""
        return nullcontext()

    async def ended(self, run: EndedRun) -> None:
        """Nothing."""


@contextmanager
def harmless() -> Iterator[None]:
    """What an observer raises here is logged; the run goes on."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 # its libraries, its server
        _log.warning("telemetry: %s", " ".join(str(error).split()))
