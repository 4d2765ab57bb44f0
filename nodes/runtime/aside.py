"""Functions that people bring, async or not: one that is not runs in a thread, so that it holds up nobody else."""

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any


async def called(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """What a function returns, async or not."""
    returned = work(*args, **kwargs) if _is_async(work) else await aside(partial(work, *args, **kwargs))
    return await returned if inspect.isawaitable(returned) else returned


def _is_async(work: Any) -> bool:
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(type(work).__call__)


async def aside(work: Callable[[], Any]) -> Any:
    """What a function that is not async returns, run in a thread: one that hangs holds up nobody else.

    The thread cannot be ended. It is a daemon, so that it keeps no process alive.
    """
    loop = asyncio.get_running_loop()
    made: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(result: object, error: BaseException | None) -> None:
        if made.done():
            return
        if error:
            made.set_exception(error)
        else:
            made.set_result(result)

    def run() -> None:
        result, failed = None, None
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001 - it is raised again, where it is waited for
            failed = error
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(settle, result, failed)

    Thread(target=run, daemon=True, name="baton-agent").start()
    return await made
