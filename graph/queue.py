"""Runs that wait for a worker: what is asked for, who may take it, and what the workers' files are.

Whoever has a database that can be shared puts requests there; workers (`graph.worker`) take them. `Queue` is what such
a database has to do.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, JsonValue

from nodes.tools.collect import confined
from nodes.tools.pages import GivenSources
from nodes.tools.storage import OWN, Location, RemotePath, lies_in, location
from state.errors import BadInput

MOST_PRIORITY = 1000
"""Priorities go from minus this to this; the highest is taken first, of the same the oldest."""


Take = Callable[[str], Awaitable[None]]
"""Does what is to be done on a thread."""
Complain = Callable[[str], None]
"""Told what went wrong with a thread, or with looking for work that nobody does any more."""


class Request(BaseModel):
    """What a worker starts a run from."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    given: dict[str, JsonValue]
    """What the graph takes in."""
    model: str | None = None
    """The chat model's name; the worker's own without."""
    queue: str
    """Whose it is: `queue_of` the team that it needs."""
    priority: int = 0
    queued_at: float
    """Seconds since the epoch."""


class Queue(Protocol):
    """The queue of one database."""

    async def enqueue(self, thread_id: str, request: Request, at: float | None = None) -> None:
        """Put a request in, to be taken not before `at` (seconds since the epoch): it and its job are one write."""

    async def request(self, thread_id: str) -> Request | None:
        """What waits to be begun on a thread."""

    async def last(self, thread_id: str) -> Request | None:
        """What the thread's last queued run was begun from."""

    async def belongs(self, thread_id: str) -> bool:
        """Whether the thread's last run was begun by a worker, or waits for one: workers go on with it."""

    async def put(self, thread_id: str, at: float | None = None, *, is_left: bool = False) -> None:
        """See that a worker looks at the thread, now or `at` that time; nothing where it is no worker's.

        `is_left`: whoever had it may be dead, so it goes on also where a worker has as many as it may begin.
        """

    async def withdraw(self, thread_id: str) -> bool:
        """Take back a request that nobody has begun; false where somebody has."""

    async def work(self, queue: str, runs: int, take: Take, complain: Complain, drain_s: float) -> None:
        """Hand threads of a queue to `take`, `runs` at once, until cancelled or told to stop (SIGTERM, Ctrl-C).

        What is at work then has `drain_s` seconds to come to its end; after that it is cancelled. What workers had that
        are gone is handed out again at once, beyond these, and nothing else before all workers together have fewer than
        their `runs` again. Where the database goes away, `complain` is told so, and `take` goes on when it is back.
        """


def checked_priority(priority: int) -> int:
    """The priority, if it is one.

    Raises:
        BadInput: it is too high or too low.
    """
    if abs(priority) > MOST_PRIORITY:
        raise BadInput(f"a priority is from -{MOST_PRIORITY} to {MOST_PRIORITY}, and {priority} is not")
    return priority


def checked_time(at: float | None) -> float | None:
    """The seconds since the epoch, if there is such a time.

    Raises:
        BadInput: there is none, or none before the year 10000.
    """
    try:
        datetime.fromtimestamp(at or 0, UTC)
    except (ValueError, OverflowError, OSError):
        raise BadInput(f"a run may wait until a time in seconds since the epoch, and {at} is none") from None
    return at


def queue_of(agents: Collection[str]) -> str:
    """The queue of a team: two teams with agents of the same names can do the same runs."""
    return f"team:{hashlib.sha256(chr(10).join(sorted(agents)).encode()).hexdigest()[:16]}"


def shared_sources(
    sources: Sequence[str | Path] | Path | None, root: Location | None, allowed: Sequence[Location] | None = None
) -> list[str]:
    """The sources of a queued run, as any worker finds them: below the `root` that all share, or at an address.

    Raises:
        BadInput: a path that is not below it, an address of what one process has for itself, or either elsewhere than
            `allowed`.
    """

    def placed(source: str) -> str:
        place = location(source).resolve()
        is_shared = isinstance(place, RemotePath) and not place.url.startswith(f"{OWN}:")
        if not is_shared and (root is None or not lies_in(place, root.resolve())):
            where = f"below {root}" if root else "into a folder that all of them share, and name that as BATON_FILES"
            raise BadInput(f"{place}: a worker may run on another machine; put the sources of a queued run {where}")
        return confined([str(place)], allowed)[0]

    return GivenSources.of(sources).placed(placed)
