"""Connections that are shared for a moment."""

import asyncio

import pytest
from psycopg import AsyncConnection

from graph.postgres.pool import Pool

pytestmark = pytest.mark.services


async def test_nobodys_cancellation_is_lost_and_no_connection(migrated_server: str) -> None:
    pool: Pool[AsyncConnection] = Pool(f"{migrated_server}/postgres", min_size=1, max_size=1, open=False)
    async with pool:
        for moments in range(12):  # from before the wait ends until after whoever waits knows
            only = await pool.getconn()
            waiting = asyncio.create_task(pool.getconn())
            while not pool.get_stats().get("requests_waiting"):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0)
            await pool.putconn(only)
            for _ in range(moments):
                await asyncio.sleep(0)
            was_cancelled = waiting.cancel()
            await asyncio.wait({waiting})
            assert waiting.cancelled() == was_cancelled
            if not waiting.cancelled():
                await pool.putconn(waiting.result())
