"""Several stories at once: most of the time each waits for the disk."""

import asyncio
from collections.abc import Coroutine, Iterable

AT_ONCE = 3


async def in_turns(stories: Iterable[Coroutine[None, None, None]]) -> None:
    """Tell all of them, a few at a time; the first failure ends the others and is raised."""
    room = asyncio.Semaphore(AT_ONCE)

    async def take(story: Coroutine[None, None, None]) -> None:
        async with room:
            await story

    async with asyncio.TaskGroup() as group:
        for story in stories:
            group.create_task(take(story))
