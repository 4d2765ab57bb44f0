"""The queue of runs on PostgreSQL: Procrastinate's tables, in the database of the runs.

A job carries the name of a thread and nothing else. A job too many does no harm: the lease of the thread lets one
process run it, and whoever finds that nothing is to be done leaves it at that. A request and its job are one write.
Of those with the highest priority runs that a dead worker had go on first, then others that have begun: neither a
death nor an answer sends anybody back to the end of the queue. Then the oldest is begun.

A worker shows that it lives by an advisory lock, which its death gives back at once, and by a heartbeat, which also one
stops that stands still.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import PutOp
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import DeleteJobCondition
from procrastinate.manager import get_channel_for_queues
from psycopg import AsyncConnection, Error

from graph.postgres.jobs import POOL_S, RESCUED, WORKS, Jobs, cause_of
from graph.postgres.pool import Pool
from graph.postgres.problems import explained
from graph.postgres.session import Connection, Server, Transaction
from graph.postgres.store import Store
from graph.queue import Complain, Request, Take
from nodes.runtime.background import stop
from nodes.runtime.rows import REQUEST, list_run, places_of_request, space
from state.errors import BatonError

TASK = "baton.run"
HEARTBEAT_S = 1.0
LATE_S = 1.5
"""Seconds without a heartbeat after which the jobs of a worker that has no lock are another's."""
STALLED_S = 4.0
"""And those of one that has: it stands still. Whether another can go on, the lease of the thread decides."""
RESCUE_S = 1.0
POLL_S = 2.0
"""Seconds between two looks for jobs that nobody told of: those whose time has come."""
FORGOTTEN_S = 86_400.0
"""Seconds without a heartbeat after which nothing is known of a worker: one that stood still for longer ends."""
ALIVE = 7_141_422
"""The advisory locks of workers: this, and a worker's number."""
_LEVELS = 4
_RESCUED, _BEGUN = 2, 1
"""The last bits of a job's priority, which order the runs of one priority."""
_NUMBER = 2**31 - 1
"""The bits of a worker's number that its lock has."""
_SHOW = "SELECT pg_advisory_lock(%s, %s)"
# Of two jobs with one lock, the one that waits is enough: whoever put it in did not know that the run's worker is gone.
_RESCUE = """
WITH gone AS (
    SELECT job.id, (
        SELECT id FROM procrastinate_jobs other WHERE other.queueing_lock = job.queueing_lock AND other.status = 'todo'
    ) AS waiting
    FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
    WHERE job.status = 'doing' AND job.task_name = %(task)s AND (
        worker.id IS NULL OR worker.last_heartbeat < now() - %(stalled_s)s * interval '1 second'
        OR (worker.last_heartbeat < now() - %(late_s)s * interval '1 second' AND NOT EXISTS (
            SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint = %(alive)s
                AND objid::bigint = job.worker_id & %(number)s
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        ))
    ) FOR UPDATE OF job SKIP LOCKED
), ended AS (
    DELETE FROM procrastinate_jobs job USING gone WHERE job.id = gone.id AND waiting IS NOT NULL
), given AS (
    UPDATE procrastinate_jobs job
    SET status = 'todo', scheduled_at = NULL, priority = priority | %(rescued)s,
        queue_name = replace(queue_name, %(beside)s, '') || %(beside)s
    FROM gone WHERE job.id = coalesce(waiting, gone.id) AND (waiting IS NULL OR job.status = 'todo')
    RETURNING queue_name
)
SELECT DISTINCT queue_name FROM given
"""
_TELL = "SELECT pg_notify(%(channel)s, %(payload)s)"
_TO_BE_BEGUN = """
SELECT FROM procrastinate_jobs WHERE queueing_lock = ANY(%s) AND status = 'todo'
    AND EXISTS (SELECT FROM store WHERE prefix = %s AND key = %s)
"""
_WITHDRAW = (
    "DELETE FROM procrastinate_jobs WHERE task_name = %s AND args ->> 'thread_id' = %s AND status = 'todo' RETURNING id"
)


class Queue:
    """The queue of one database."""

    def __init__(self, server: Server, store: Store) -> None:
        self._server = server
        self._store = store
        # A pool that fails for long tries ever more seldom: it begins anew with each that asks.
        connector = PsycopgConnector(
            pool_factory=_unchecked,
            conninfo=server.address.uri,
            min_size=1,
            max_size=4,
            timeout=POOL_S,
            reconnect_timeout=POLL_S,
        )
        self._app = App(connector=connector)
        self._jobs = self._app.job_manager = Jobs(connector, self._begin)
        self._showing: asyncio.Task[None] | None = None
        self._take: Take | None = None
        self._works = ""
        self._job = self._app.task(name=TASK)(self._run)

    async def enqueue(self, thread_id: str, request: Request, at: float | None = None) -> None:
        """Put a request in; it and its job are one write."""
        kept = request.model_dump(mode="json")
        async with self._server.transaction() as transaction:
            store = Store(transaction)
            await store.abatch(
                [PutOp(place, REQUEST, kept) for place in (space("requests", thread_id), space("queued", thread_id))]
            )
            await list_run(store, thread_id, str(request.given["query"]), request.queued_at)
            await self._defer(transaction, thread_id, request.queue, _LEVELS * request.priority, at)

    async def request(self, thread_id: str) -> Request | None:
        """What waits to be begun on a thread."""
        row = await self._store.aget(space("requests", thread_id), REQUEST)
        return Request.model_validate(row.value) if row else None

    async def last(self, thread_id: str) -> Request | None:
        """What the thread's last queued run was begun from."""
        row = await self._store.aget(space("queued", thread_id), REQUEST)
        return Request.model_validate(row.value) if row else None

    async def belongs(self, thread_id: str) -> bool:
        """Whether workers go on with the thread's last run."""
        return await self.last(thread_id) is not None

    async def put(self, thread_id: str, at: float | None = None, *, is_left: bool = False) -> None:
        """See that a worker looks at the thread; nothing where it is to be begun, and has a job for that."""
        if asked := await self.last(thread_id):
            if await self._is_to_be_begun(thread_id):
                return
            queue = f"{asked.queue}{RESCUED}" if is_left else asked.queue
            priority = _LEVELS * asked.priority | _BEGUN | (_RESCUED if is_left else 0)
            async with self._server.transaction() as transaction:
                await self._defer(transaction, thread_id, queue, priority, at)

    async def _is_to_be_begun(self, thread_id: str) -> bool:
        async with self._server.cursor() as cursor:
            await cursor.execute(_TO_BE_BEGUN, [_locks(thread_id), ".".join(space("requests", thread_id)), REQUEST])
            return await cursor.fetchone() is not None

    async def withdraw(self, thread_id: str) -> bool:
        """Take back a request that nobody has begun."""
        asked = await self.request(thread_id)
        if asked is None:
            return False
        async with self._server.transaction() as transaction:
            async with transaction.cursor() as cursor:
                await cursor.execute(_WITHDRAW, [TASK, thread_id])
                is_there = await cursor.fetchone() is not None
            if is_there:
                gone = [PutOp(place, key, None) for place, key in places_of_request(thread_id, asked.queued_at)]
                await Store(transaction).abatch(gone)
        return is_there

    async def _defer(
        self, transaction: Transaction, thread_id: str, queue: str, priority: int, at: float | None
    ) -> None:
        """Put a job in, unless one waits already."""
        connection: Connection = transaction.connection
        # A job waits for the older ones of its lock, also for one that is not due yet.
        now, later = _locks(thread_id)
        lock = later if at else now
        due = await _by_the_server(connection, at) if at else None
        job = self._job.configure(
            connection=connection,
            lock=lock,
            queueing_lock=lock,
            queue=queue,
            priority=priority,
            schedule_at=due,
        )
        with suppress(AlreadyEnqueued):
            try:
                async with connection.transaction():
                    await job.defer_async(thread_id=thread_id)
            except ConnectorException as error:
                raise cause_of(error) from error

    async def _run(self, thread_id: str) -> None:
        if self._take:
            await self._take(thread_id)

    async def work(self, queue: str, runs: int, take: Take, complain: Complain, drain_s: float) -> None:
        """Hand threads of a queue to `take`, until cancelled or told to stop."""
        self._take = take
        self._works = WORKS.format(process=os.getpid(), runs=runs, queue=queue)
        queues = self._jobs.take(queue, runs, complain)
        async with self._in_words(), self._app.open_async():
            rescuing = asyncio.create_task(self._rescue_always())
            try:
                await self._app.run_worker_async(
                    queues=queues,
                    concurrency=sys.maxsize,  # the jobs know when there is room
                    shutdown_graceful_timeout=drain_s,
                    fetch_job_polling_interval=POLL_S,
                    update_heartbeat_interval=HEARTBEAT_S,
                    stalled_worker_timeout=FORGOTTEN_S,
                    delete_jobs=DeleteJobCondition.ALWAYS,
                    install_signal_handlers=True,
                )
            finally:
                await stop(rescuing)
                if self._showing:
                    await stop(self._showing)

    async def _begin(self, worker: int) -> None:
        """Show that a worker lives, and give it what others had that do not, before it takes what has not begun."""
        is_shown = asyncio.Event()
        self._showing = asyncio.create_task(self._show(worker, is_shown))
        with suppress(TimeoutError):  # it goes by its heartbeat, then
            async with asyncio.timeout(LATE_S):
                await is_shown.wait()
        await self._rescue()

    async def _show(self, worker: int, is_shown: asyncio.Event) -> None:
        """Hold a worker's lock, on a connection of its own, and again where that is lost."""
        while True:
            with suppress(Error, BatonError):
                session = await self._server.begun_session(self._works)
                try:
                    async with session.cursor() as cursor:
                        await cursor.execute(_SHOW, [ALIVE, worker & _NUMBER])
                    is_shown.set()
                    await session.beat()
                finally:
                    await self._server.end_session(session)
            await asyncio.sleep(RESCUE_S)

    async def _rescue_always(self) -> None:
        """Give the jobs of workers that are gone to others, again and again."""
        while True:
            await asyncio.sleep(RESCUE_S)
            await self._jobs.in_spite_of_outages(self._rescue, None)

    async def _rescue(self) -> None:
        """Give the jobs of workers that are gone to others."""
        try:
            found = await self._app.connector.execute_query_all_async(
                _RESCUE,
                task=TASK,
                stalled_s=STALLED_S,
                late_s=LATE_S,
                alive=ALIVE,
                number=_NUMBER,
                rescued=_RESCUED | _BEGUN,
                beside=RESCUED,
            )
        except UniqueViolation:  # a job for one of their threads has come in at this moment
            return
        # Procrastinate tells workers of new jobs alone: they would come upon these when they look by themselves.
        for channel in get_channel_for_queues([row["queue_name"] for row in found]):
            told = json.dumps({"type": "job_inserted", "job_id": 0})
            await self._app.connector.execute_query_async(_TELL, channel=channel, payload=told)

    @asynccontextmanager
    async def _in_words(self) -> AsyncIterator[None]:
        """What ends Procrastinate's worker is told as what ends anything else on this database."""
        try:
            yield
        except ConnectorException as error:
            cause = cause_of(error)
            raise explained(self._server.address, cause) if isinstance(cause, Error) else error from error


def _unchecked(*, check: object, **how: Any) -> Pool[AsyncConnection]:  # noqa: ARG001 - Procrastinate's own
    """A pool that does not ask whether a connection holds whenever it is used: the jobs do so once one does not."""
    return Pool(**how)


def _locks(thread_id: str) -> list[str]:
    """Of a thread's job that is due, and of one that is not yet."""
    return [f"{thread_id} now", f"{thread_id} later"]


async def _by_the_server(connection: Connection, at: float) -> datetime:
    """A time by this machine's clock, as the server's will say it: it hands jobs out, and the two may be far apart."""
    row = await (await connection.execute("SELECT clock_timestamp() AS now")).fetchone()
    now: datetime = row["now"] if row else datetime.now(UTC)
    return now + timedelta(seconds=at - time.time())
