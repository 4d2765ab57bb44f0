"""One answer for all who ask for the same while it is made: many pages cost the server little more than one."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class Shared(Generic[Key, Answer]):
    """Answers by key. One is begun after it was asked for, so it has whatever was done before.

    They are made one after the other, each after a rest as long as the last one took: half of the time is others'.
    """

    def __init__(self) -> None:
        self._coming: dict[Key, asyncio.Task[Answer]] = {}
        self._making: set[asyncio.Task[Answer]] = set()
        self._turn = asyncio.Lock()
        self._rests_until = 0.0

    async def get(self, key: Key, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer that is begun next, for whoever asks until then."""
        coming = self._coming.get(key)
        if coming is None:
            coming = self._coming[key] = asyncio.create_task(self._made(key, make))
            self._making.add(coming)
            coming.add_done_callback(self._making.discard)
        return await asyncio.shield(coming)

    async def _made(self, key: Key, make: Callable[[], Awaitable[Answer]]) -> Answer:
        now = asyncio.get_running_loop().time
        async with self._turn:
            await asyncio.sleep(max(0.0, self._rests_until - now()))
            del self._coming[key]
            began = now()
            try:
                return await make()
            finally:
                self._rests_until = 2 * now() - began

    async def close(self) -> None:
        """Make no more."""
        making = list(self._making)
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)
