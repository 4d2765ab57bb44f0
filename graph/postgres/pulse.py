"""A process that holds leases shows the server that it lives, from a thread: agents may keep its event loop for long.

One that stands still (SIGSTOP, a laptop's lid, a frozen container) is silent at once, and missed in seconds. One whose
event loop is kept for longer than anything should take is silent then, too.
"""

import asyncio
import threading
import time
from contextlib import suppress

from psycopg import Connection, Error

from graph.address import PostgresAddress
from graph.lease import LATEST_S

PULSE_S = 2.0
MISSED_S = 6.0
"""Seconds of silence after which a process is taken for one that stands still."""
AGAIN_S = 1.0
"""Seconds until a connection that was lost is made again."""


class Pulse:
    """That of this process on one server; it begins with the first lease."""

    def __init__(self, address: PostgresAddress, client: dict[str, object]) -> None:
        self._address = address
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looped_at = 0.0
        """When the event loop was last seen to go on, by the monotonic clock."""
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, name: str) -> None:
        """Show it from now on; the server knows the connection by this name."""
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._note()
            self._thread = threading.Thread(target=self._beat, args=(name,), name=name, daemon=True)
            self._thread.start()

    async def end(self) -> None:
        """Show it no longer."""
        self._is_over.set()
        if self._thread:
            await asyncio.to_thread(self._thread.join, AGAIN_S)

    def _beat(self, name: str) -> None:
        while not self._is_over.is_set():
            with suppress(Error), self._connected(name) as connection:
                while not self._is_over.wait(PULSE_S):
                    if time.monotonic() < self._looped_at + LATEST_S:
                        connection.execute("SELECT 1")
                    self._ask_the_loop()
            self._is_over.wait(AGAIN_S)

    def _connected(self, name: str) -> Connection:
        return Connection.connect(self._address.uri, **{**self._client, "application_name": name})  # type: ignore[arg-type]

    def _ask_the_loop(self) -> None:
        with suppress(RuntimeError):  # it is closed
            if self._loop:
                self._loop.call_soon_threadsafe(self._note)

    def _note(self) -> None:
        self._looped_at = time.monotonic()
