"""Running what blocks in a thread of its own."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import TypeVar

from state.text import in_words

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """What a function that is not async returns, run in a thread: one that hangs holds up nobody else.

    The thread cannot be ended. It is a daemon, so that it keeps no process alive.
    """
    loop = asyncio.get_running_loop()
    made: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(ended: Callable[[], None]) -> None:
        if not made.done():
            ended()

    def run() -> None:
        try:
            ended = partial(made.set_result, context.run(work))
        except StopIteration as error:  # asyncio takes it for the end of a coroutine, and refuses it
            ended = partial(made.set_exception, RuntimeError(in_words(error)))
        except BaseException as error:  # noqa: BLE001 - it is raised again, where it is waited for
            ended = partial(made.set_exception, error)
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(settle, ended)

    Thread(target=run, daemon=True, name="baton-agent").start()
    return await made
