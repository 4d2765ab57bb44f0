"""Recovery: looks again and again which runs are due, and has each of them taken up.

`baton watch` and the server each have one; what it means to take a run up is theirs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from state.errors import AgentsMissing, ThreadDamaged

Due = Callable[[], Awaitable[Sequence[str]]]
"""Applies deadlines, and gives the threads whose runs could go on."""
TakeUp = Callable[[str], Awaitable[None]]
"""Goes on with the run of a thread."""
Complain = Callable[[str, Exception], None]
"""Told what went wrong with a thread, or with looking (an empty name)."""
Sleep = Callable[[float], Awaitable[None]]


class Recovery:
    """Takes each run up on its own: a long one keeps no other waiting, and where one fails the watch goes on."""

    def __init__(self, due: Due, take_up: TakeUp, complain: Complain, sleep: Sleep = asyncio.sleep) -> None:
        self._due = due
        self._take_up = take_up
        self._complain = complain
        self._sleep = sleep
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._left_alone: set[str] = set()
        """Threads that are damaged, or need agents that are not here: said once, not at every look."""

    async def look(self) -> None:
        """Look once; what is due is begun to be taken up, unless it is at work already."""
        due = await self._due()
        self._at_work = {thread_id: task for thread_id, task in self._at_work.items() if not task.done()}
        for thread_id in due:
            if thread_id not in self._at_work:
                self._at_work[thread_id] = asyncio.create_task(self._work(thread_id))

    async def settled(self) -> None:
        """Wait for everything that was taken up."""
        await asyncio.gather(*self._at_work.values())

    async def watch(self, every_s: float) -> None:
        """Look every so many seconds, until cancelled; then what was taken up is stopped, too."""
        try:
            while True:
                await self._look_or_complain()
                await self._sleep(every_s)
        finally:
            for task in self._at_work.values():
                task.cancel()
            await asyncio.gather(*self._at_work.values(), return_exceptions=True)

    async def _look_or_complain(self) -> None:
        try:
            await self.look()
        except Exception as error:  # noqa: BLE001 # a busy disk, or a defect: the next look may fare better
            self._complain("", error)

    async def _work(self, thread_id: str) -> None:
        try:
            await self._take_up(thread_id)
        except (AgentsMissing, ThreadDamaged) as error:  # it stays so until somebody else does something about it
            if thread_id not in self._left_alone:
                self._left_alone.add(thread_id)
                self._complain(thread_id, error)
        except Exception as error:  # noqa: BLE001 # one run's failure is no reason to leave the others alone
            self._complain(thread_id, error)
