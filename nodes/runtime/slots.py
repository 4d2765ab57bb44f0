"""Room for agents at work; a nested supervisor's agents take room on the outer floor, too."""

import asyncio


class Slots:
    """A counted lock: at most `count` at once here, and no more than `outer` has room for."""

    def __init__(self, count: int, outer: "Slots | None" = None) -> None:
        self._room = asyncio.Semaphore(count)
        self._outer = outer

    async def acquire(self) -> None:
        """Wait for room. Always from the inside out, so that two who wait cannot hold each other up."""
        await self._room.acquire()
        if self._outer:
            try:
                await self._outer.acquire()
            except BaseException:
                self._room.release()
                raise

    def release(self) -> None:
        """Make room for somebody else."""
        if self._outer:
            self._outer.release()
        self._room.release()

    def locked(self) -> bool:
        """Whether whoever comes now has to wait here."""
        return self._room.locked()

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()
