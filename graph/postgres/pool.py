"""psycopg's pool of connections, in which nobody's cancellation is lost.

It waits by `asyncio.wait_for`. Before Python 3.12 that goes on where it is cancelled in the moment in which the wait
ends (github.com/python/cpython/issues/86296), and a worker that is told to stop would do so too.
"""

import asyncio
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

C = TypeVar("C", bound=AsyncConnection[Any])


class Pool(AsyncConnectionPool[C]):
    """Connections for whoever needs one for a moment."""

    async def wait(self, timeout: float = 30.0) -> None:
        """Wait until there are as many as it begins with."""
        before = _cancellations()
        await super().wait(timeout)
        if _cancellations() > before:
            raise asyncio.CancelledError

    async def getconn(self, timeout: float | None = None) -> C:
        """A connection, which is to be given back."""
        before = _cancellations()
        connection = await super().getconn(timeout)
        if _cancellations() > before:
            await self.putconn(connection)
            raise asyncio.CancelledError
        return connection


def _cancellations() -> int:
    """How often this task was cancelled."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0
