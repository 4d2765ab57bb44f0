"""Writes that are made to their end, also where whoever waits for them is cancelled (Ctrl-C, a closed stream).

LangGraph's savers and stores leave their transaction open then, and so does a connection that is closed in the middle
of one: every other write, also from another connection, waits for it and fails.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Writes:
    """The writes on one connection."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Future[Any]] = set()

    async def whole(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns; a cancellation, or several, are raised when it is over."""
        writing = asyncio.ensure_future(work)
        self._under_way.add(writing)
        writing.add_done_callback(self._under_way.discard)
        cut_off: asyncio.CancelledError | None = None
        while not writing.done():
            try:
                await asyncio.wait({writing})
            except asyncio.CancelledError as error:
                cut_off = error
        if cut_off is None:
            return writing.result()
        writing.exception()  # told to nobody: whoever waited has gone
        raise cut_off

    async def settled(self) -> None:
        """Wait for all that are under way: what LangGraph writes in the background may outlive its run."""
        while self._under_way:
            await asyncio.wait(self._under_way)
