"""An event loop in a thread of its own, for code that is not async: `graph.invoke` and the blocking facade work on one.

No loop of the program is touched, so it works in a script, in a web server's thread, and in a notebook's cell, where a
loop runs already. `anyio` has such a portal, too; it cancels again and again what cleans up after it was cancelled, and
whoever cancels cannot wait until that is done.
"""

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

from state.errors import BatonError

T = TypeVar("T")


class Portal:
    """Runs coroutines for threads that wait for them, until it is closed."""

    def __init__(self, name: str) -> None:
        self._ended_by: BaseException | None = None
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._serve, args=(started,), name=name, daemon=True)
        self._thread.start()
        self._loop, self._closing = started.result()

    @property
    def is_open(self) -> bool:
        """Whether it takes calls: not once it is closed, and not in a forked process, which has no such thread."""
        return self._thread.is_alive() and not self._closing.is_set()

    def call(self, work: Coroutine[Any, Any, T], context: Context | None = None) -> T:
        """What `work` returns, run in `context`; without one, in a copy of the caller's context variables.

        Ctrl-C in the thread that waits cancels the work, and is raised when it has ended; a second one at once.

        Raises:
            BatonError: it is closed, or would wait for itself.
        """
        if not self.is_open or threading.current_thread() is self._thread:
            work.close()
            why = (
                "would wait for itself: use the async form in async code" if self.is_open else "is closed: open another"
            )
            raise BatonError(f"this supervisor {why}")
        made: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []
        around = context or copy_context()

        def begin() -> None:
            tasks.append(self._loop.create_task(work, context=around))
            tasks[0].add_done_callback(settle)

        def cancel() -> None:
            tasks[0].cancel()

        def settle(task: "asyncio.Task[T]") -> None:
            if task.cancelled():
                made.set_exception(self._ended_by or asyncio.CancelledError())
            elif error := task.exception():
                made.set_exception(error)
            else:
                made.set_result(task.result())

        try:
            self._loop.call_soon_threadsafe(begin)
            return made.result()
        except BaseException:
            if not made.done():
                self._loop.call_soon_threadsafe(cancel)
                made.exception()
            raise

    def iterate(self, items: AsyncGenerator[T, None], context: Context | None = None) -> Generator[T, None, None]:
        """The items of an async generator, each made when it is asked for; whoever stops early cancels the rest."""
        around, end = context or copy_context(), object()

        async def following() -> Any:
            return await anext(items, end)

        async def closing() -> None:
            await items.aclose()

        while (item := self.call(following(), around)) is not end:
            try:
                yield item
            except BaseException:
                # Garbage may be collected in the portal's own thread: there asyncio closes what nobody holds any more.
                if self.is_open and threading.current_thread() is not self._thread:
                    self.call(closing(), around)
                raise

    @contextmanager
    def entered(self, manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
        """What an async context manager gives."""

        async def inside() -> AsyncGenerator[T, None]:
            async with manager as value:
                yield value

        yield from self.iterate(inside())

    def close(self, timeout: float | None = None) -> None:
        """Cancel what is at work, and wait until it has ended, at most `timeout` seconds."""
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(timeout)

    def _serve(self, started: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]") -> None:
        async def until_closed() -> None:
            closing = asyncio.Event()
            started.set_result((asyncio.get_running_loop(), closing))
            await closing.wait()

        with asyncio.Runner() as runner:
            try:
                runner.run(until_closed())
            except BaseException as error:  # noqa: BLE001 - SystemExit in a task ends its loop: whoever waits is told
                self._ended_by = error


LAST_SECONDS = 5.0
"""How long the end of the process waits for what is cancelled then."""

_level: ContextVar[int] = ContextVar("baton_portal_level", default=0)
"""How many portals are at work around this code."""
_portals: dict[int, Portal] = {}
_opening = threading.Lock()


def open_level() -> tuple[Portal, Context]:
    """A portal that lasts as long as the process, and the context to call it in.

    It lasts because connections of model clients belong to an event loop. An agent that calls `graph.invoke` itself
    gets the one of the next level: it would wait for its own loop, or take the threads that this loop's work needs.
    """
    level = _level.get()
    with _opening:
        portal = _portals.get(level)
        if not portal or not portal.is_open:
            portal = _portals[level] = Portal(f"baton-invoke-{level}")
            atexit.register(portal.close, LAST_SECONDS)
    context = copy_context()
    context.run(_level.set, level + 1)
    return portal, context
