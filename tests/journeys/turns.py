"""Several stories at once: most of the time each waits for the disk. How many, `CAMPAIGN` says.

`make test` tells every third of a story's choices, which are spread over all of it. `make campaign` tells them all, and
by default also those between them: of `range(8, 120, 16)`, that is every number from 8 on.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import pytest

AT_ONCE = 3
THINNED = 3
LENGTH = os.environ.get("CAMPAIGN", "")
"""`short`, `long`, or nothing outside a campaign."""
T = TypeVar("T")


async def in_turns(story: Callable[[T], Awaitable[None]], choices: Iterable[T], length: str = LENGTH) -> None:
    """Tell a story once for each choice, a few at a time; the first failure ends the others and is raised.

    `length`: `short` for a story that is told for each choice outside a campaign, too.
    """
    room = asyncio.Semaphore(AT_ONCE)

    async def take(choice: T) -> None:
        async with room:
            await story(choice)

    async with asyncio.TaskGroup() as group:
        for choice in chosen(choices, length):
            group.create_task(take(choice))


def thinned(cases: Iterable[object], every: int = THINNED) -> list[Any]:
    """Parameters of a test: every so-many-th one, from the first, is tried by `make test`, the others in a campaign.

    A tuple is one value for each argument of the test.
    """
    each = enumerate(case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*case, marks=pytest.mark.campaign if n % every else ()) for n, case in each]


def chosen(choices: Iterable[T], length: str) -> Sequence[T]:
    """The choices of a story of this length: never none, and the first and last among them where there are several."""
    if length == "long" and isinstance(choices, range):
        return cast(Sequence[T], range(choices.start, choices[-1] + 1))
    every = list(choices)
    return every if length else [one for n, one in enumerate(every) if n % THINNED == 0 or one is every[-1]]
