"""The clock of a run and the notifier that reaches its people: what is handed in from outside, as protocols.

Apart from `nodes.runtime.services`, which knows graphs and models: whoever only looks at a run loads neither.
"""

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


class Notifier(Protocol):
    """Delivers messages to people."""

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        """Send one; false (or an exception) if somebody could not be reached. `escalated`: to the next person."""


class Nobody:
    """The notifier where none is set: the log is enough."""

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:  # noqa: ARG002 - it tells nobody
        """Nothing to deliver."""
        return True
