"""Calling code that agents bring: in a thread if it blocks; and the ways it may end without a result."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial, wraps
from typing import Any, TypeVar

from langgraph.errors import GraphInterrupt
from pydantic import JsonValue

from nodes.tools.thread import in_thread
from state.approval import Approval
from state.errors import AgentFailed

T = TypeVar("T")


async def call(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """What a function returns, async or not."""
    returned = work(*args, **kwargs) if _is_async(work) else await in_thread(partial(work, *args, **kwargs))
    return await returned if inspect.isawaitable(returned) else returned


def _is_async(work: Any) -> bool:
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(type(work).__call__)


def contained(work: Callable[..., Any], *, is_blocking: bool) -> Callable[..., Awaitable[Any]]:
    """`work` as an async function that cannot end the process: AgentFailed in place of SystemExit.

    For what will be called in an asyncio task, out of which SystemExit would go through the event loop. What blocks
    gets a thread of its own, and none of those that the whole program shares.
    """

    @wraps(work)
    async def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return await (in_thread(partial(work, *args, **kwargs)) if is_blocking else work(*args, **kwargs))
        except SystemExit as error:
            raise AgentFailed(ENDED, "permanent") from error

    return run


class Parked(BaseException):
    """The agent's work ends here and starts again later: with answers to `approvals`, or after a pause."""

    def __init__(self, *approvals: Approval, conversation: Sequence[JsonValue] = ()) -> None:
        super().__init__(", ".join(approval.id for approval in approvals) or "paused")
        self.approvals = approvals
        self.conversation = conversation
        """Where the agent goes on from."""


class HandOver(BaseException):
    """The agent's work ends here for good: another one finishes the task in its place."""

    def __init__(self, to: str, note: str) -> None:
        super().__init__(to)
        self.to = to
        self.note = note


async def first_of_group(work: Awaitable[T]) -> T:
    """What `work` returns; of what tasks of a group have raised at the same time, what matters most.

    Everything that is asked counts as one question; then comes handing over, then what is first.
    """
    try:
        return await work
    except BaseExceptionGroup as group:
        leaves = list(_leaves(group))
        parked = [one for one in leaves if isinstance(one, Parked)]
        if parked:
            asked = {approval.id: approval for one in parked for approval in one.approvals}
            raise Parked(*asked.values(), conversation=parked[0].conversation) from None
        weighty = (one for one in leaves if isinstance(one, GraphInterrupt | HandOver))
        raise next(weighty, leaves[0]) from group


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one


ENDED = "it tried to end the process"
CANCELLED = "what it waited for was cancelled"


def is_an_end(error: BaseException) -> bool:
    """Whether `error` ends whoever is at work here, and is not the agent's or tool's that raised it.

    What an agent waits for may be cancelled without anybody having cancelled the agent.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)
