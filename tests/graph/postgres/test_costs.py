"""What a run asks of a server: transactions and rows, as the server itself counts them."""

import asyncio
import time
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from nodes.runtime.clock import SystemClock
from state.agent import Brief
from tests import postgres
from tests.runs import Work, agent, opened, plan, says_its_task

pytestmark = pytest.mark.services

MOST_TRANSACTIONS, MOST_ROWS = 2, 10
"""A task; measured 1.3 and 8."""
MOST_IDLE = 4
"""Transactions a second; measured 3.5."""
WAITS_S = (1, 5)
_DONE = """
SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted FROM pg_stat_database
WHERE datname = %s AND numbackends = 0
"""


async def counted(server: str, name: str, tasks: int, work: Work = says_its_task) -> tuple[int, int]:
    """Transactions, and rows written, of a process that does one run of so many tasks, one after another."""
    chain = plan("t0", *(f"t{n} <- t{n - 1}" for n in range(1, tasks)))
    db = postgres.new_database(server, name, postgres.TEMPLATE)
    async with opened(agent(work), db=db, clock=SystemClock()) as sup:
        assert (await sup.start("Q", thread_id="t", plan=chain)).status == "complete"
    return await done(server, name)


async def done(server: str, name: str) -> tuple[int, int]:
    """Transactions of a database, and rows written."""
    async with await psycopg.AsyncConnection.connect(f"{server}/postgres", autocommit=True) as connection:
        while True:  # whoever leaves says what he did
            if found := await (await connection.execute(_DONE, [name])).fetchone():
                return (found[0], found[1])


async def test_a_task_is_few_transactions_and_rows(migrated_server: str) -> None:
    short, long = [await counted(migrated_server, f"costs{n}", n) for n in (5, 25)]

    transactions, rows = ((more - less) / 20 for less, more in zip(short, long, strict=True))
    assert 1 <= transactions <= MOST_TRANSACTIONS
    assert 1 <= rows <= MOST_ROWS


async def test_a_run_that_waits_for_its_agent_asks_the_server_for_nothing_but_its_life(migrated_server: str) -> None:
    waited: list[float] = []

    def waits(for_s: float) -> Work:
        async def works(brief: Brief, desk: Any) -> str:
            began = time.monotonic()
            await asyncio.sleep(for_s)
            waited.append(time.monotonic() - began)
            return "So."

        return works

    short, long = [await counted(migrated_server, f"waits{n}", 1, waits(n)) for n in WAITS_S]

    assert long[0] - short[0] <= waited[1] - waited[0] + 2  # one a second, wherever in a second both begin and end
    assert long[1] == short[1]


async def test_a_worker_that_has_nothing_to_do_asks_the_server_little(migrated_server: str) -> None:
    async def idled(name: str, for_s: float) -> tuple[int, float]:
        db = postgres.new_database(migrated_server, name, postgres.TEMPLATE)
        began = time.monotonic()
        async with opened(agent(says_its_task), db=db, clock=SystemClock()) as sup:
            with suppress(TimeoutError):
                async with asyncio.timeout(for_s):
                    await sup.work(runs=8, drain_s=0)
        return (await done(migrated_server, name))[0], time.monotonic() - began

    (few, short_s), (many, long_s) = [await idled(f"idles{n}", for_s) for n, for_s in enumerate(WAITS_S)]
    assert many - few <= MOST_IDLE * (long_s - short_s + 1)


async def test_a_page_of_many_runs_is_read_in_as_many_visits_as_one_of_few(migrated_server: str) -> None:
    db = postgres.new_database(migrated_server, "pages", postgres.TEMPLATE)
    async with opened(db=db, clock=SystemClock()) as sup:
        for n in range(12):
            await sup.start("Q", thread_id=f"t{n}", plan=plan("a"))

    async def visits(limit: int) -> int:
        before = await done(migrated_server, "pages")
        async with opened(db=db, clock=SystemClock()) as sup:
            assert len(await sup.runs(limit=limit)) == limit
        return (await done(migrated_server, "pages"))[0] - before[0]

    few, many = await visits(3), await visits(12)
    assert many <= few + 3, "a connection more may be looked at before it is used"
