"""Several stories at once: most of the time each waits for the disk."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

AT_ONCE = 3
T = TypeVar("T")


async def in_turns(story: Callable[[T], Awaitable[None]], choices: Iterable[T]) -> None:
    """Tell a story once for each choice, a few at a time; the first failure ends the others and is raised."""
    room = asyncio.Semaphore(AT_ONCE)

    async def take(choice: T) -> None:
        async with room:
            await story(choice)

    async with asyncio.TaskGroup() as group:
        for choice in choices:
            group.create_task(take(choice))
