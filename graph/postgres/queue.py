"""The queue of runs on PostgreSQL: Procrastinate's tables, in the database of the runs.

A job carries the name of a thread and nothing else. A job too many does no harm: the lease of the thread lets one
process run it, and whoever finds that nothing is to be done leaves it at that. A request and its job are one write.
Of those with the highest priority runs that have begun go on first: an answer, or a worker's death, sends nobody back
to the end of the queue. Then the oldest is begun.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from langgraph.store.base import PutOp
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, ProcrastinateException
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.manager import get_channel_for_queues
from psycopg import Error

from graph.postgres.problems import explained
from graph.postgres.session import Connection, Server, Transaction
from graph.postgres.store import Store
from graph.queue import Complain, Request, Take
from nodes.runtime.background import stop
from nodes.runtime.rows import REQUEST, list_run, places_of_request, space
from state.text import in_words

TASK = "baton.run"
HEARTBEAT_S = 1.0
STALLED_S = 4.0
"""Seconds without a heartbeat after which a worker's jobs are another's: a stopped one's, too; the lease decides."""
RESCUE_S = 1.0
POLL_S = 5.0
"""Seconds between two looks for jobs that nobody told of."""
_BEGUN = 1
"""The last bit of a job's priority: of runs of one priority, those that have begun go on before others begin."""
_TELL = "SELECT pg_notify(%(channel)s, %(payload)s)"
_WITHDRAW = (
    "DELETE FROM procrastinate_jobs WHERE task_name = %s AND args ->> 'thread_id' = %s AND status = 'todo' RETURNING id"
)


class Queue:
    """The queue of one database."""

    def __init__(self, server: Server, store: Store) -> None:
        self._server = server
        self._store = store
        self._app = App(connector=PsycopgConnector(conninfo=server.address.uri, min_size=1, max_size=4))
        self._take: Take | None = None
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
            await self._defer(transaction, thread_id, request, at, is_begun=False)

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

    async def put(self, thread_id: str, at: float | None = None) -> None:
        """See that a worker looks at the thread."""
        if asked := await self.last(thread_id):
            async with self._server.transaction() as transaction:
                await self._defer(transaction, thread_id, asked, at, is_begun=True)

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
        self, transaction: Transaction, thread_id: str, request: Request, at: float | None, *, is_begun: bool
    ) -> None:
        """Put a job in, unless one waits already."""
        connection: Connection = transaction.connection
        # A job waits for the older ones of its lock, also for one that is not due yet.
        lock = f"{thread_id} {'later' if at else 'now'}"
        due = await _by_the_server(connection, at) if at else None
        job = self._job.configure(
            connection=connection,
            lock=lock,
            queueing_lock=lock,
            queue=request.queue,
            priority=2 * request.priority | (_BEGUN if is_begun else 0),
            schedule_at=due,
        )
        with suppress(AlreadyEnqueued):
            try:
                async with connection.transaction():
                    await job.defer_async(thread_id=thread_id)
            except ConnectorException as error:
                raise _cause(error) from error

    async def _run(self, thread_id: str) -> None:
        if self._take:
            await self._take(thread_id)

    async def work(self, queues: Collection[str], runs: int, take: Take, complain: Complain, drain_s: float) -> None:
        """Hand threads of these queues to `take`, until cancelled or told to stop."""
        self._take = take
        async with self._in_words(), self._app.open_async():
            rescuing = asyncio.create_task(self._rescue(complain))
            try:
                await self._app.run_worker_async(
                    queues=list(queues),
                    concurrency=runs,
                    shutdown_graceful_timeout=drain_s,
                    fetch_job_polling_interval=POLL_S,
                    update_heartbeat_interval=HEARTBEAT_S,
                    stalled_worker_timeout=10 * STALLED_S,
                    delete_jobs=DeleteJobCondition.ALWAYS,
                    install_signal_handlers=True,
                )
            finally:
                await stop(rescuing)

    async def _rescue(self, complain: Complain) -> None:
        """Give the jobs of workers that are gone to others, again and again."""
        while True:
            try:
                for job in await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S):
                    await self._give_back(job)
            except (ProcrastinateException, Error, OSError) as error:  # the next look may fare better
                complain(f"looking for workers that are gone: {in_words(_cause(error))}")
            await asyncio.sleep(RESCUE_S)

    async def _give_back(self, job: Job) -> None:
        try:
            await self._app.job_manager.retry_job(job, priority=job.priority | _BEGUN)
            # Procrastinate tells workers of new jobs alone: they would come upon this one when they look by themselves.
            told = json.dumps({"type": "job_inserted", "job_id": job.id})
            for channel in get_channel_for_queues([job.queue]):
                await self._app.connector.execute_query_async(_TELL, channel=channel, payload=told)
        except ProcrastinateException:  # another job of the thread waits: that one is enough
            with suppress(ProcrastinateException):
                await self._app.job_manager.finish_job(job, Status.FAILED, delete_job=True)

    @asynccontextmanager
    async def _in_words(self) -> AsyncIterator[None]:
        """What ends Procrastinate's worker is told as what ends anything else on this database."""
        try:
            yield
        except ConnectorException as error:
            cause = _cause(error)
            raise explained(self._server.address, cause) if isinstance(cause, Error) else error from error


def _cause(error: Exception) -> Exception:
    """What Procrastinate says no more of than that it was an error of the database."""
    cause = error.__cause__
    return cause if isinstance(error, ConnectorException) and isinstance(cause, Error) else error


async def _by_the_server(connection: Connection, at: float) -> datetime:
    """A time by this machine's clock, as the server's will say it: it hands jobs out, and the two may be far apart."""
    row = await (await connection.execute("SELECT clock_timestamp() AS now")).fetchone()
    now: datetime = row["now"] if row else datetime.now(UTC)
    return now + timedelta(seconds=at - time.time())
