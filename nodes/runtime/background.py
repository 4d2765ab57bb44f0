"""Work in the background, which ends with whoever began it, or is done whole."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def stop(task: "asyncio.Task[Any]") -> None:
    """Cancel it, and wait for its end; its error is raised, if it had failed.

    To await it and pass over what cancels it would also pass over what cancels whoever waits.
    """
    task.add_done_callback(_read)
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


async def to_its_end(work: Awaitable[T]) -> T:
    """What comes of it. Where whoever waits is cancelled, however often, that is raised when the work is over."""
    doing = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        doing.add_done_callback(_read)  # whoever is cancelled has no use for it
        while not doing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({doing})
        raise


def _read(task: "asyncio.Future[Any]") -> None:
    """Read its error also where nobody waits for it any more: the event loop would print it."""
    if not task.cancelled():
        task.exception()
