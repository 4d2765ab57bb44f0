"""Time, handed in, so that a test can hold it still."""

import asyncio
import random
import time
from typing import Protocol


class Clock(Protocol):
    """What a run needs of time and chance."""

    def now(self) -> float:
        """Seconds since the epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def jitter(self) -> float:
        """A number from 0 to 1, to spread retries."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def jitter(self) -> float:
        """A number from 0 to 1."""
        return random.random()
