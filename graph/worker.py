"""A worker: takes runs off the queue of its team, begins or goes on with each, and gives back what it cannot end.

A run is taken by name and looked at: what is to be done follows from how it stands, so that a job too many, or one
that is handed out twice, does no harm.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from graph.composition import compose
from graph.queue import Complain, Queue, Request, queue_of
from graph.runs import Runs
from graph.settings import read_settings
from graph.steering import last, take_up, view
from nodes.runtime.background import stop
from state.errors import BatonError, DatabaseUnusable, LeaseLost, ThreadBusy, ThreadUnknown
from state.run import Run

DRAIN_S = 30.0
"""Seconds that a worker which is told to stop gives to what it is at."""
SWEEP_S = 10.0
"""Seconds between two looks for runs that nobody has, and nobody was told of."""
BUSY_S = 3.0
"""Seconds until a thread that could not be worked on is looked at again: whoever holds it may stand still."""
SWEEP_LEASE = " sweep"
"""Whose lease the one worker holds that looks for such runs; no thread is called that."""

OnRun = Callable[[Run], None]
_log = logging.getLogger(__name__)


def quiet(_: Run) -> None:
    """Nobody wants to see it."""


def tell(problem: str) -> None:
    """Tell it to the log."""
    _log.warning("%s", problem)


class Worker:
    """One process's work on one queue."""

    def __init__(self, runs: Runs, on_run: OnRun, complain: Complain) -> None:
        self._runs = runs
        self._on_run = on_run
        self._complain = complain
        self._by_model: dict[str, Runs] = {}

    async def work(self, runs: int, drain_s: float) -> None:
        """Take what waits, until cancelled or told to stop.

        Raises:
            BadInput: the database has no queue.
        """
        queue = self._runs.queue("workers take runs from")
        sweeping = asyncio.create_task(self._sweep(queue))
        try:
            name = queue_of(self._runs.services.team.names)
            await queue.work(name, runs, lambda thread_id: self._take(queue, thread_id), self._complain, drain_s)
        finally:
            await stop(sweeping)

    async def _take(self, queue: Queue, thread_id: str) -> None:
        """Do what is to be done on a thread."""
        try:
            run = await self._carried_on(queue, thread_id)
        except asyncio.CancelledError:
            await asyncio.shield(queue.put(thread_id))  # for somebody who has the time
            raise
        except ThreadBusy:
            await self._left(queue, thread_id)
        except (LeaseLost, DatabaseUnusable) as error:  # the database has ended a connection, has none, or went away
            self._complain(f"{thread_id}: {_problem(error)}")
            await self._left(queue, thread_id)
        except BatonError as error:
            self._complain(f"{thread_id}: {error}")
        else:
            if run is not None:
                with suppress(DatabaseUnusable):
                    await self._look_again(queue, run)
                self._on_run(run)

    async def _left(self, queue: Queue, thread_id: str) -> None:
        """See that somebody goes on with a thread that this worker could not go on with."""
        with suppress(DatabaseUnusable):  # then it is found by a look for such runs
            await queue.put(thread_id, self._runs.clock.now() + BUSY_S, is_left=True)

    async def _carried_on(self, queue: Queue, thread_id: str) -> Run | None:
        """The run after what could be done; None where nothing was to be done.

        Raises:
            ThreadBusy: somebody else is at it.
        """
        asked = await queue.request(thread_id)
        runs = await self._with_model_of(asked or await queue.last(thread_id))
        if asked is not None:
            with suppress(ThreadBusy):  # it has been begun: what is to be done follows from how it stands
                return await last(runs.drive(thread_id, asked.given, lambda: self._is_asked(queue, thread_id)), None)
        try:
            run = await view(runs, thread_id)
        except ThreadUnknown:
            return None
        if run.status == "running":
            raise ThreadBusy(f"thread {thread_id} is being run")
        has_news = run.waits_for in ("answers", "release") and await runs.has_signals(thread_id)
        return await take_up(runs, thread_id, None) if run.can_go_on or has_news else None

    async def _is_asked(self, queue: Queue, thread_id: str) -> None:
        """Refuse to begin what another worker has begun since.

        Raises:
            ThreadBusy: it has.
        """
        if await queue.request(thread_id) is None:
            raise ThreadBusy(f"thread {thread_id} has been begun")

    async def _look_again(self, queue: Queue, run: Run) -> None:
        """See that somebody comes when a deadline passes, or at once where something came in meanwhile."""
        if run.waits_for == "resume":
            await queue.put(run.thread_id)
        elif due := [question.expires_at for question in run.approvals if question.expires_at is not None]:
            await queue.put(run.thread_id, min(due))

    async def _with_model_of(self, asked: Request | None) -> Runs:
        """What drives a run on the model that it was asked for with."""
        name = asked.model if asked and asked.model else ""
        if name not in self._by_model:
            services = self._runs.services
            if name:
                settings = await asyncio.to_thread(read_settings)
                services = compose(
                    settings, team=services.team, policy=services.policy, model=name, artifacts=services.artifacts
                )
            self._by_model[name] = Runs(services, self._runs.database, self._runs.leases, is_worker=True)
        return self._by_model[name]

    async def _sweep(self, queue: Queue) -> None:
        """See again and again that every run which could go on has a job; one worker at a time does that."""
        told = ""
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                async with self._runs.leases.hold(SWEEP_LEASE, patience_s=0):
                    await self._put_what_is_due(queue)
                told = ""
            except (ThreadBusy, LeaseLost):
                continue
            except BatonError as error:
                if told != _problem(error):  # an outage is told once
                    self._complain(told := _problem(error))

    async def _put_what_is_due(self, queue: Queue) -> None:
        for row in await self._runs.open_rows():
            with suppress(ThreadUnknown):
                run = await view(self._runs, row.thread_id)
                if run.waits_for in ("worker", "resume", "process", "team"):
                    await queue.put(row.thread_id, is_left=run.waits_for in ("resume", "process"))


def _problem(error: BatonError) -> str:
    """What went wrong, without advice that is for somebody who does not go on by himself."""
    return error.problem if isinstance(error, DatabaseUnusable) else str(error)
