"""Fencing: what is written under a lease is refused once the lease is somebody else's.

A process that was stopped (SIGSTOP, a laptop's lid, a stalled disk) wakes up without knowing how long it slept, and no
clock tells whether it still holds what it held. So each lease goes with the work that is done under it in a context
variable, and whoever writes for that work looks there first: how, is the database's (`graph.sqlite.fence`,
`graph.postgres.lease`).
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from state.errors import LeaseLost

_FENCES: ContextVar[tuple["Fence", ...]] = ContextVar("baton_fences", default=())


class Fence:
    """One lease as the work sees it that is done under it."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.is_lost = False
        self.is_left = False
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._was_cancelled = False

    def enter(self) -> None:
        """What this task does from now on is done under the lease; again where a generator goes on in another task."""
        self._task = asyncio.current_task()
        forget_left()
        if self not in _FENCES.get():
            _FENCES.set((*_FENCES.get(), self))

    @contextmanager
    def over(self) -> Iterator[None]:
        """What is written while inside is written under the lease; nothing is cancelled where it is lost."""
        before = _FENCES.set((*_FENCES.get(), self))
        try:
            yield
        finally:
            _FENCES.reset(before)

    def leave(self) -> None:
        """The lease's work is over.

        Raises:
            LeaseLost: somebody has taken the thread over meanwhile, whatever has become of the work.
        """
        self.is_left = True
        _FENCES.set(tuple(fence for fence in _FENCES.get() if fence is not self))
        if self.is_lost:
            if self._was_cancelled and self._task and self._task.uncancel():
                return  # somebody else cancels it, too
            raise self.error()

    def lose(self) -> None:
        """The lease is another's: cancel the work. From any thread."""
        if not self.is_lost:
            self.is_lost = True
            self._loop.call_soon_threadsafe(self._cancel)

    def error(self) -> LeaseLost:
        """Why nothing more is written."""
        return LeaseLost(
            f"thread {self.thread_id} was taken over by another process while this one stood still; "
            f"this one has stopped, see `baton status {self.thread_id}`"
        )

    def _cancel(self) -> None:
        if self._task and not self.is_left:
            self._was_cancelled = True
            self._task.cancel()


def fences() -> tuple[Fence, ...]:
    """The leases that this is done under, the innermost last."""
    return _FENCES.get()


def forget_left() -> None:
    """What this task does from now on is not the work of leases that were given back: that only has begun it."""
    _FENCES.set(tuple(fence for fence in _FENCES.get() if not fence.is_left))
