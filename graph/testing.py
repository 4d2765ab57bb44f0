"""What it takes to test a team without a model, a network or waiting; `docs/testing-a-team.md` shows how."""

import asyncio

from nodes.llm.scripted import Call, Delay, ScriptedModel

__all__ = ["Call", "Delay", "HeldClock", "ScriptedModel"]


class HeldClock:
    """A clock that a test holds: time moves only when somebody sleeps, and sleeping takes none.

    Give it to `open_supervisor(clock=…)`. `slept` is what was waited, in seconds, in order; `time` may be set.
    """

    def __init__(self, start: float = 1_000_000.0, jitter: float = 0.5) -> None:
        self.time = start
        self.slept: list[float] = []
        self._jitter = jitter

    def now(self) -> float:
        """The held time, in seconds."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Move on by `seconds`; others get a turn, as they would."""
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    def jitter(self) -> float:
        """The same every time; 0.5 leaves retry delays as they are."""
        return self._jitter
