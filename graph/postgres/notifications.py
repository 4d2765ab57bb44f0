"""Hearing at once that somebody has sent a signal: one connection of each process listens for it.

The database tells by a trigger on the rows of signals, in the transaction that writes one. It is told of signals alone:
a commit that notifies waits for every other that does (postgresql.org/docs/current/sql-notify.html).
"""

import asyncio
import time
from contextlib import suppress

from psycopg import Error

from graph.address import PostgresAddress
from graph.postgres.session import connected
from nodes.runtime.background import stop

CHANNEL = "baton"
UNHEARD_S = 2.0
"""Seconds between two looks of whoever can't be told, since the connection that listens is gone."""
AGAIN_S = 1.0
"""Seconds until it is made again."""
TRIGGER = f"""
CREATE OR REPLACE FUNCTION baton_tell() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_notify('{CHANNEL}', NEW.prefix); RETURN NULL; END $$;
CREATE OR REPLACE TRIGGER baton_signals AFTER INSERT ON store
    FOR EACH ROW WHEN (starts_with(NEW.prefix, 'signals.')) EXECUTE FUNCTION baton_tell();
"""


class Notifications:
    """What this process has been told; it listens from the first time that anybody wants to know."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._told = 0
        self._hears = False
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Notifications":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._listening:
            await stop(self._listening)

    async def changes(self) -> tuple[int, int]:
        """What is not the same any more when somebody has sent a signal, or when nobody could say so for a while."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        return self._told, 0 if self._hears else int(time.monotonic() / UNHEARD_S) + 1

    async def _listen(self) -> None:
        while True:
            with suppress(Error):
                connection = await connected(self._address, "baton listens")
                try:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self._hears = True
                    self._told += 1  # what came before was told to nobody
                    async for _ in connection.notifies():
                        self._told += 1
                finally:
                    self._hears = False
                    await connection.close()
            await asyncio.sleep(AGAIN_S)
