"""What asyncio would let one agent do to everybody, and what keeps it from that while agents work.

- `sys.exit`: asyncio lets SystemExit out of every task and through the event loop, whoever waits for that task. What
  agents start as tasks (the nodes of their graphs, tools called side by side, tasks of their own) raises AgentFailed in
  its place. KeyboardInterrupt is a human's, and ends the process.
- Code that hangs in a thread: the threads for code that is not async are few, are everybody's, and keep the process
  from ending. Agents get threads of their own, which do neither.
"""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary

from state.errors import AgentFailed

ENDED = "it tried to end the process"
CANCELLED = "what it waited for was cancelled"

Factory = Callable[..., Any]
AnyCoroutine = Coroutine[Any, Any, Any]


@dataclass
class _Watch:
    """An event loop on which agents work."""

    before: Factory | None
    """The task factory it had."""
    ours: Factory
    agents: int = 0


_inside: ContextVar[bool] = ContextVar("inside an agent", default=False)
_watches: WeakKeyDictionary[AbstractEventLoop, _Watch] = WeakKeyDictionary()
_threads: WeakKeyDictionary[AbstractEventLoop, ThreadPoolExecutor] = WeakKeyDictionary()


def is_an_end(error: BaseException) -> bool:
    """Whether `error` ends whoever is at work here, and is not the agent's or tool's that raised it.

    What an agent waits for may be cancelled without anybody having cancelled the agent.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


@contextmanager
def confined() -> Iterator[None]:
    """While inside, what is started from here is confined.

    SystemExit that is raised right here, in no task of its own, is the caller's to catch.
    """
    loop, token = asyncio.get_running_loop(), _inside.set(True)
    watch = _watches.get(loop)
    if watch is None:
        before = loop.get_task_factory()
        watch = _watches[loop] = _Watch(before, _watching(before))
        loop.set_task_factory(watch.ours)
    if loop not in _threads:
        _threads[loop] = _Threads(getattr(loop, "_default_executor", None))
        loop.set_default_executor(_threads[loop])
    watch.agents += 1
    try:
        yield
    finally:
        watch.agents -= 1
        _inside.reset(token)
        if not watch.agents:
            del _watches[loop]
            if loop.get_task_factory() is watch.ours:  # else somebody has chained theirs to it, which does no harm
                loop.set_task_factory(watch.before)


class _Threads(ThreadPoolExecutor):
    """The threads of an event loop: each call of an agent gets one of its own, all others those that there were.

    It stays when the agents are gone, because a loop's executor cannot be taken away; then it is like any other.
    """

    def __init__(self, before: ThreadPoolExecutor | None) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self._before = before

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it called in a thread."""
        if not _inside.get():
            return self._before.submit(fn, *args, **kwargs) if self._before else super().submit(fn, *args, **kwargs)
        made: Future[Any] = Future()

        def run() -> None:
            if not made.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - it is raised again, where it is waited for
                made.set_exception(error)
            else:
                made.set_result(result)

        Thread(target=run, daemon=True, name="baton-agent").start()
        return made

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End them; those of agents end by themselves, or with the process."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if self._before:
            self._before.shutdown(wait, cancel_futures=cancel_futures)


def _watching(before: Factory | None) -> Factory:
    """A task factory that does what `before` does, with the coroutines of agents kept from ending the process."""

    def make(loop: AbstractEventLoop, coro: AnyCoroutine, *, context: Context | None = None, **more: Any) -> Any:
        is_inside = _inside.get() if context is None else context.get(_inside, False)
        if context is not None:
            more["context"] = context
        kept = _Kept(coro) if is_inside else coro
        return before(loop, kept, **more) if before else asyncio.Task(kept, loop=loop, **more)

    return make


class _Kept(AnyCoroutine):
    """A coroutine, step by step the same, that raises AgentFailed in place of SystemExit."""

    def __init__(self, coro: AnyCoroutine) -> None:
        self._coro = coro

    def send(self, value: Any) -> Any:
        """The next step."""
        try:
            return self._coro.send(value)
        except SystemExit as error:
            raise AgentFailed(ENDED, "permanent") from error

    def throw(self, *raised: Any) -> Any:
        """The next step, which begins with an exception."""
        try:
            return self._coro.throw(*raised)
        except SystemExit as error:
            raise AgentFailed(ENDED, "permanent") from error

    def close(self) -> None:
        """End it here."""
        self._coro.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coro.__await__()

    def __getattr__(self, name: str) -> Any:
        """Its name and its state, which asyncio and anyio look at."""
        return getattr(self._coro, name)
