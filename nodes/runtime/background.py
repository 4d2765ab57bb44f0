"""Work in the background, which ends with whoever began it."""

import asyncio
from typing import Any


async def stop(task: "asyncio.Task[Any]") -> None:
    """Cancel it, and wait for its end; its error is raised, if it had failed.

    To await it and pass over what cancels it would also pass over what cancels whoever waits.
    """
    task.add_done_callback(_read)
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


def _read(task: "asyncio.Task[Any]") -> None:
    """Read its error also where nobody waits for it any more: the event loop would print it."""
    if not task.cancelled():
        task.exception()
