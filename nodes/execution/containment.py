"""Containment: whatever an agent does, its attempt ends in an outcome.

Normal end, exception (its stack goes to the log `baton.agents`), time-out, a question, a hand-over, even `sys.exit` or
the panic of an extension: only cancellation and what LangGraph itself needs pass through.

What asyncio would let one agent do to everybody, and what keeps it from that while agents work.

- `sys.exit`: asyncio lets SystemExit out of every task and through the event loop, whoever waits for that task. What
  agents start as tasks (the nodes of their graphs, tools called side by side, tasks of their own) raises AgentFailed in
  its place. KeyboardInterrupt is a human's, and ends the process.
- Code that hangs in a thread: the threads for code that is not async are few, are everybody's, and keep the process
  from ending. Agents get threads of their own, which do neither.
"""

import asyncio
import logging
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary

from langgraph.errors import GraphBubbleUp, GraphRecursionError

from nodes.agents.invocation import Invocation, kind_of
from nodes.runtime.calling import CANCELLED, ENDED, HandOver, Parked, first_of_group, is_an_end
from state.errors import AgentFailed, FailureClass, ToolRefused
from state.record import Failure, Outcome
from state.text import as_unicode, in_words

LOG = logging.getLogger("baton.agents")
LOG.addHandler(logging.NullHandler())  # silent unless somebody listens: stacks are for logs, not for terminals

DEFECTS = (NotImplementedError, NameError, TypeError, AttributeError, ImportError, SyntaxError)
"""Exceptions that another try of the same code will raise again."""
RESUMED: frozenset[FailureClass] = frozenset({"transient", "timeout"})
"""After these a graph goes on at the step that failed; after others it begins anew."""


async def run_contained(invocation: Invocation, work: Callable[[Invocation], Awaitable[Outcome]]) -> Outcome:
    """The outcome of one try, with its times."""
    clock = invocation.execution.run.services.clock
    started = clock.now()
    outcome = await _contained(invocation, work)
    return outcome.model_copy(update={"started_at": started, "finished_at": clock.now()})


async def _contained(invocation: Invocation, work: Callable[[Invocation], Awaitable[Outcome]]) -> Outcome:
    limit = asyncio.timeout(invocation.spec.limits.timeout_s)
    try:
        with confined():
            async with limit:
                return await first_of_group(work(invocation))
    except Parked as parked:
        asked = [one.model_copy(update={"path": one.path or invocation.path}) for one in parked.approvals]
        changes = {"status": "parked", "approvals": asked, "conversation": list(parked.conversation)}
        return blank(invocation).model_copy(update=changes)
    except HandOver as handed:
        said = {"handed_to": handed.to, "result": handed.note}
        return failed(invocation, "declared", f"handed over to {handed.to}").model_copy(update=said)
    except GraphBubbleUp:
        raise
    except BaseException as error:
        if is_an_end(error):
            raise
        if isinstance(error, TimeoutError) and limit.expired():
            return failed(invocation, "timeout", f"no result within {invocation.spec.limits.timeout_s:g} seconds")
        return _defeated(invocation, error)


def _defeated(invocation: Invocation, error: BaseException) -> Outcome:
    """The outcome of a try that raised `error`: a defect of one agent is no defect of the run."""
    match error:
        case AgentFailed():
            return failed(invocation, error.failure, str(error), error.__cause__)
        case ToolRefused():
            return failed(invocation, "permanent", str(error))
        case GraphRecursionError():
            return failed(invocation, "limit", f"its graph went on without end: {error}", error)
        case SystemExit():
            return failed(invocation, "permanent", ENDED, error)
        case asyncio.CancelledError():
            return failed(invocation, "transient", CANCELLED, error)
    return failed(invocation, "permanent" if isinstance(error, DEFECTS) else "transient", in_words(error), error)


def failed(invocation: Invocation, kind: FailureClass, message: str, cause: BaseException | None = None) -> Outcome:
    """The outcome of a try that did not deliver; the stack of `cause` goes to the log."""
    if cause is not None:
        where = f"task {invocation.brief.task.id} of thread {invocation.execution.run.thread_id}"
        LOG.error("%s failed in %s: %s", " > ".join(invocation.path), where, message, exc_info=cause)
    resumes = kind in RESUMED and kind_of(invocation.spec.run) in ("graph", "supervisor", "remote")
    changes = {
        "status": "failed",
        "failure": Failure(kind=kind, message=as_unicode(message)[:2000]),
        "conversation": invocation.place if resumes else [],
    }
    return blank(invocation).model_copy(update=changes)


def blank(invocation: Invocation) -> Outcome:
    """An outcome with nothing in it yet."""
    return Outcome(
        task_id=invocation.brief.task.id,
        agent=invocation.spec.name,
        status="done",
        iteration=invocation.brief.iteration,
    )


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
