"""Procrastinate's jobs, as one worker takes them: over an outage of the server, and with room for what others leave.

Runs that dead workers had are on a queue beside that of their team. They go on at once, also where this worker has as
many as it may begin: nobody waits for a place, or for another worker. Nobody begins more until all workers of the team
together have fewer than they may begin, so that deaths in a row do not heap up what is at work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from procrastinate import PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from psycopg import Error
from psycopg_pool import PoolTimeout

from graph.queue import Complain
from state.text import in_words

WORKS = "baton works {process} {runs} {queue}"
"""What a worker calls the connection whose lock shows that it lives."""
RESCUED = " rescued"
"""What the name of the queue ends with that has the runs of dead workers."""
AGAIN_S = 1.0
"""Seconds until a connection that listens is made again."""
POOL_S = 5.0
"""Seconds to wait for a connection."""
_ROOM = r"""
SELECT count(*) < greatest(%(runs)s, (
    SELECT sum(split_part(application_name, ' ', 4)::int) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name ~ ('^baton works \d+ \d{1,6} ' || %(queue)s || '$')
)) AS has_room FROM procrastinate_jobs WHERE status = 'doing' AND queue_name IN (%(queue)s, %(rescued)s)
"""
_FINISH = """
DELETE FROM procrastinate_jobs WHERE id = %(job)s AND status = 'doing' AND worker_id = %(worker)s
"""

T = TypeVar("T")


class Jobs(JobManager):
    """The jobs that one worker takes; those of one that stood still may be another's when it goes on."""

    def __init__(self, connector: PsycopgConnector, begin: Callable[[int], Awaitable[None]]) -> None:
        super().__init__(connector)
        self._pool_of = connector
        self._begin = begin
        self._queue, self._rescued, self._runs = "", "", 0
        self._complain: Complain = _silent
        self._at_work: set[int] = set()
        self._ended: list[Job] = []
        """Jobs that are done, which the server is yet to be told."""
        self._news = 0
        """Counts what there may be something to take after."""
        self._is_out = False
        self._wake: Callable[[], Awaitable[None]] = _unheard

    def take(self, queue: str, runs: int, complain: Complain) -> list[str]:
        """Take `runs` of a queue at once, and all that dead workers had; `complain` is told of outages.

        Gives what the queues are called that have these.
        """
        self._queue, self._rescued = queue, f"{queue}{RESCUED}"
        self._runs, self._complain = runs, complain
        self._at_work.clear()
        return [self._queue, self._rescued]

    async def register_worker(self) -> int:
        """A new worker's number; it takes nothing before it is begun."""
        worker = await super().register_worker()
        await self._begin(worker)
        return worker

    async def unregister_worker(self, worker_id: int) -> None:
        """Forget a worker; where the server is gone, others see that it does not live."""
        with suppress(ConnectorException):
            await self._end()
            await super().unregister_worker(worker_id)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Show that the worker lives, and tell what could not be told before."""
        await self.in_spite_of_outages(partial(super().update_heartbeat, worker_id), None)
        if self._ended:
            await self.in_spite_of_outages(self._end, None)

    async def list_jobs_to_abort_async(self, queue: str | None = None) -> Iterable[int]:  # noqa: ARG002 - of none
        """Nobody aborts jobs: runs are cancelled by signals."""
        return []

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Be told of new jobs, on a connection that is made again where it is lost."""

        async def told(*, channel: str, notification: object) -> None:
            self._news += 1
            await on_notification(channel=channel, notification=notification)  # type: ignore[arg-type]

        self._wake = partial(told, channel="", notification={"type": "job_inserted", "job_id": 0})
        while True:
            with suppress(ConnectorException):
                await super().listen_for_jobs(on_notification=told, queues=queues)
            await asyncio.sleep(AGAIN_S)
            await self._wake()  # what came meanwhile was told to nobody

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """The next job; where this worker, or all together, have as many as they may begin, the next of a dead one."""
        while True:
            news = self._news
            begins = len(self._at_work) < self._runs and await self.in_spite_of_outages(self._has_room, False)
            allowed = queues if begins else [self._rescued]
            job = await self.in_spite_of_outages(partial(super().fetch_job, allowed, worker_id), None)
            if job:
                self._at_work.add(job.id or 0)
            if job or news == self._news:  # Procrastinate forgets what it is told while it asks
                return job

    async def _has_room(self) -> bool:
        """Whether all workers of the queue together have fewer than they may begin."""
        said = {"runs": self._runs, "queue": self._queue, "rescued": self._rescued}
        return bool((await self.connector.execute_query_one_async(_ROOM, **said))["has_room"])

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:  # noqa: ARG002 - all are deleted
        """Delete a job that has come to its end, unless it is another worker's."""
        self._at_work.discard(job.id or 0)
        self._ended.append(job)
        await self.in_spite_of_outages(self._end, None)
        await self._wake()

    async def _end(self) -> None:
        """Tell the server which jobs are done."""
        while self._ended:
            job = self._ended.pop()
            try:
                await self.connector.execute_query_async(_FINISH, job=job.id, worker=job.worker_id)
            except BaseException:
                self._ended.append(job)
                raise

    async def in_spite_of_outages(self, ask: Callable[[], Awaitable[T]], otherwise: T) -> T:
        """What the server says; `otherwise` where it is gone, which is told once."""
        try:
            try:
                found = await ask()
            except ConnectorException:  # a server that was restarted has left connections that are none
                await self._pool_of.pool.check()
                found = await ask()
        except ConnectorException as error:
            if not self._is_out:
                self._is_out = True
                cause = cause_of(error)
                why = "no connection can be had" if isinstance(cause, PoolTimeout) else in_words(cause)
                self._complain(f"the database cannot be used: {why}; this worker goes on when it can")
            return otherwise
        if self._is_out:
            self._is_out = False
            self._complain("the database can be used again")
        return found


def cause_of(error: Exception) -> Exception:
    """What Procrastinate says no more of than that it was an error of the database."""
    cause = error.__cause__
    return cause if isinstance(error, ConnectorException) and isinstance(cause, Error) else error


async def _unheard() -> None:
    """Before it listens nobody has to be told."""


def _silent(_: str) -> None:
    """Nobody wants to know."""
