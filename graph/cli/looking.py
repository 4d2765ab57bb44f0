"""Looking at what is there, without running anything."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from graph.cli.launches import Launch, existing
from graph.supervisor import Supervisor, open_supervisor

T = TypeVar("T")


def look(db: Path | None, question: Callable[[Supervisor], Awaitable[T]], launch: Launch | None = None) -> T:
    """What `question` finds out.

    Raises:
        BadInput: there is no such database.
    """
    path = existing(db)
    team = launch.team if launch else None

    async def asked() -> T:
        async with open_supervisor(path, team=team) as sup:
            return await question(sup)

    return asyncio.run(asked())
