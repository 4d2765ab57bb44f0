"""Turns of model calls at their server: none goes out while it asks to be left alone, whoever was told so."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from nodes.policy.failures import retry_delay
from nodes.policy.rate_limits import quota_wait, wait_asked
from nodes.runtime.context import RunContext
from nodes.runtime.rows import space
from state.errors import ModelUnavailable, ServerUnusable

T = TypeVar("T")
LOOK_EVERY_S = 0.25
"""Seconds between two looks, while waiting, at whether the run is to stop."""
ROOM_EVERY_S = 0.02
"""Seconds between two looks at whether calls that go first have ended: of any event loop, so that no event tells."""
REFUSALS = 8
"""In a row, after which a server that asks for less time than it needs is given up: in 30 to 95 s."""
SafePoint = Callable[[], Awaitable[None]]
"""Raises where the run is to stop."""


@dataclass
class Turn:
    """One call's turn. Set `is_answered` when the server has answered it."""

    run: RunContext
    address: str
    last: float
    """When there is no time left to wait."""
    is_answered: bool = False
    pause: tuple[float, float] | None = None
    """When the server has asked to be left alone, and for how many seconds."""
    is_hurried: bool = False
    """Whether it was refused with a wait so short that it was waited longer."""

    def answered(self, headers: Mapping[str, str]) -> None:
        """Take note of an answer, which may be the last one for a while."""
        self.is_answered = True
        if wait := quota_wait(headers, self._now):
            self._pause(wait)

    def refused(self, headers: Mapping[str, str], number: int = 1) -> bool:
        """Take note of a refusal, the `number`-th in a row; whether the server says how long to wait."""
        wait = wait_asked(headers, self._now)
        if wait is None:
            return False
        least = retry_delay(number, self.run.services.clock.jitter())
        self._pause(max(wait, least))
        self.is_hurried = wait < least
        return True

    def _pause(self, seconds: float) -> None:
        self.pause = (self._now, seconds)
        self.run.services.servers.pause(self.address, seconds, self._now)

    @property
    def _now(self) -> float:
        return self.run.services.clock.now()


@asynccontextmanager
async def turn(run: RunContext, address: str, last: float, safe_point: SafePoint) -> AsyncIterator[Turn]:
    """The turn of one call: it comes when the server may be asked.

    Raises:
        ServerUnusable: that is not before `last`.
    """
    servers, clock = run.services.servers, run.services.clock
    await _recall(run, address)
    while not servers.enter(address, clock.now()):
        await safe_point()
        left = servers.left(address, clock.now())
        if not left:  # another call goes first
            await asyncio.sleep(ROOM_EVERY_S)
            continue
        if servers.is_news(address, run.thread_id):
            await run.emit("server_paused", server=address, delay_s=left)
        if clock.now() + left > last:
            raise ServerUnusable(
                f"{address} asks to wait {_words(left)}, longer than there is time; resume the run then"
            )
        await clock.sleep(min(left, LOOK_EVERY_S))
        await _recall(run, address)
    own = Turn(run, address, last)
    try:
        yield own
    finally:
        servers.leave(address, is_answered=own.is_answered)
        if own.pause:
            at, seconds = own.pause
            await run.store.aput(space("servers", address), _PAUSE, {"at": at, "seconds": seconds})


_PAUSE = "pause"


async def _recall(run: RunContext, address: str) -> None:
    """Take note, now and then, of a pause that another process was told, or this one before it died."""
    servers, now = run.services.servers, run.services.clock.now()
    if servers.is_to_look(address, now) and (row := await run.store.aget(space("servers", address), _PAUSE)):
        servers.recall(address, row.value["at"], row.value["seconds"], now)


def patience(run: RunContext, seconds: float) -> float:
    """When whoever may take `seconds`, and no more than the run, has no time left to wait."""
    return run.services.clock.now() + min(seconds, run.policy.max_seconds or seconds)


async def in_turn(
    run: RunContext, address: str, call: Callable[[Turn], Awaitable[T]], seconds: float, safe_point: SafePoint
) -> T:
    """What `call` returns; where the server asks to wait, that is waited for, and it is called again.

    `seconds`: how long may be waited in all; less, where the run has less time.

    Raises:
        ServerUnusable: the server asks for a longer wait, or refuses again and again whatever was waited.
    """
    last, number, in_vain = patience(run, seconds), 0, 0
    while True:
        number += 1
        async with turn(run, address, last, safe_point) as own:
            try:
                return await call(own)
            except ModelUnavailable as error:
                if not own.refused(error.headers, number):
                    raise
                in_vain += own.is_hurried
                if in_vain == REFUSALS:
                    raise ServerUnusable(
                        f"{address} has refused {number} calls in a row, though it was waited longer each time than it "
                        "asks for; look at the limits of its key, or take another model"
                    ) from error


def _words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
