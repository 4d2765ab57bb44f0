"""Looking at the runs of one database, whoever executes them: no graph, no agents, no model is loaded for it.

The one thing that looking has to change is what is late: the policy decides questions whose deadline has passed. That
takes the way of an answer (`graph.steering`), which loads all of it; so it is not gone before something `is_late`.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager

from graph.database import Database
from graph.lease import Leases
from graph.sqlite.connection import explained, is_damage
from graph.views import Position, Rows, missing_agents, read_position, view_of
from nodes.policy.approvals import is_expired
from nodes.runtime.audit import Seals, decided, read_audit
from nodes.runtime.clock import Clock
from nodes.runtime.journal import read_board, read_events
from nodes.runtime.rows import MOST, Listed, note_end, read_all, read_index, read_ledger, read_open, space
from nodes.runtime.signals import read_log, read_recruits, waiting
from state.approval import Approval, Decision, Entry
from state.channels import RunState
from state.delegation import Delegation
from state.errors import BatonError, ThreadDamaged, ThreadUnknown
from state.event import Event
from state.run import Phase, Run
from state.signal import SignalOutcome
from state.text import Json, in_words

OnDamaged = Callable[[ThreadDamaged], None]
"""Told of a thread that cannot be read, where the others are served."""

AT_ONCE = 50
"""Runs that are looked at beside each other."""

_log = logging.getLogger(__name__)


def tell_damaged(error: ThreadDamaged) -> None:
    """Tell it to the log."""
    _log.warning("%s", error)


@contextmanager
def readable(thread_id: str) -> Iterator[None]:
    """What comes of reading a thread whose rows are not what they should be: one error that names the thread.

    Raises:
        ThreadDamaged: anything else than what Baton or a working database raises.
    """
    try:
        yield
    except BatonError:
        raise
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        raise ThreadDamaged(thread_id, in_words(error)) from error
    except Exception as error:
        raise ThreadDamaged(thread_id, in_words(error)) from error


class Reading:
    """What the database says of its runs, to somebody who has a team of agents with these names."""

    def __init__(self, database: Database, leases: Leases, clock: Clock, names: Collection[str], seals: Seals) -> None:
        self.database = database
        self.leases = leases
        self.clock = clock
        self.names = names
        self.seals = seals

    async def view(self, thread_id: str, team: Collection[str] | None = None) -> Run:
        """What is true of a run now, also while another process runs it; with the deadlines as they are kept.

        `team`: the names of the agents of whoever wants to go on with it, by default those that were given here.

        Raises:
            ThreadUnknown: no such thread.
            ThreadDamaged: what there is of it cannot be read.
        """
        with explained(self.database.address), readable(thread_id):
            queued = await self._queued(thread_id)  # first: it goes when what it asks for has begun
            try:
                run = await self._view(thread_id, self.names if team is None else team)
            except ThreadUnknown:
                if queued is None:
                    raise
                return queued
            return queued if queued and run.has_ended else run

    async def _queued(self, thread_id: str) -> Run | None:
        """The run that is to begin on a thread as soon as a worker takes it."""
        asked = await self.database.queue.request(thread_id) if self.database.queue else None
        if asked is None:
            return None
        phase = Phase.decomposing.value
        return Run(
            thread_id=thread_id, status="queued", waits_for="worker", phase=phase, query=str(asked.given["query"])
        )

    async def _view(self, thread_id: str, names: Collection[str]) -> Run:
        store = self.database.store
        before = await self.leases.holder(thread_id)
        position = await self.position(thread_id)
        board, recruits, ledger, decided, delegations, signals = await asyncio.gather(
            read_board(store, thread_id),
            read_recruits(store, thread_id),
            read_ledger(store, thread_id),
            self._decided(thread_id, position.state),
            self._delegations(thread_id),
            waiting(store, thread_id),
        )
        rows = Rows(board, recruits, ledger, decided, delegations, has_signals=bool(signals))
        now = await self.leases.holder(thread_id)
        is_held = now is not None and now.is_running
        run = view_of(thread_id, position, rows, names, is_held=is_held, was_held=bool(before or now))
        return await self._dated(run)

    def is_late(self, run: Run) -> bool:
        """Whether the policy has to decide a question of a run that nobody executes: its deadline has passed."""
        lies_still = run.status in ("waiting", "paused", "handed_over")
        return lies_still and any(is_expired(question, self.clock.now()) for question in run.approvals)

    async def runs(
        self,
        view: Callable[[str], Awaitable[Run]],
        *,
        only_open: bool = False,
        limit: int | None = None,
        offset: int = 0,
        on_damaged: OnDamaged,
    ) -> list[Run]:
        """Runs as `view` shows each, newest first: all that are open, or a page of the last ones of all threads.

        Some are looked at beside each other, so that the database is asked about all of these at once. One that cannot
        be read is left out, and `on_damaged` is told.
        """

        async def seen(row: Listed) -> Run | None:
            try:
                run = await view(row.thread_id)
            except ThreadUnknown:  # its checkpoints were pruned, or it died before the first
                return None
            except ThreadDamaged as error:
                on_damaged(error)
                return None
            if only_open and row.started_at == run.started_at:
                await self.note_end(run)
            return None if only_open and run.has_ended else run

        rows = await (self.open_rows() if only_open else self.listed(limit, offset))
        found: list[Run] = []
        for first in range(0, len(rows), AT_ONCE):
            found += [run for run in await asyncio.gather(*map(seen, rows[first : first + AT_ONCE])) if run]
        return found

    async def open_rows(self) -> list[Listed]:
        """The threads with a run whose end nobody has seen, newest first."""
        with explained(self.database.address):
            return await read_open(self.database.store)

    async def listed(self, limit: int | None = None, offset: int = 0) -> list[Listed]:
        """The threads that have a run, newest first; a page of them."""
        with explained(self.database.address):
            return await read_index(self.database.store, MOST if limit is None else limit, offset)

    async def note_end(self, run: Run) -> None:
        """Keep that a run is over, if it is."""
        if run.has_ended and run.started_at is not None:
            finished_at = run.finished_at or self.clock.now()
            with explained(self.database.address):
                await note_end(self.database.store, run.thread_id, run.started_at, run.status, finished_at)

    async def plan(self, thread_id: str) -> Json:
        """The plan a run uses, in the form in which one can be given.

        Raises:
            ThreadUnknown: no such thread, or it has no plan yet.
        """
        draft = (await self.position(thread_id)).state.get("draft")
        if not draft:
            raise ThreadUnknown(f"thread {thread_id!r} has no plan; `baton runs` lists the threads there are")
        return dict(draft)

    async def events(self, thread_id: str, after: int = 0) -> list[Event]:
        """The recorded events of a thread with a `seq` above `after`."""
        with readable(thread_id):
            return await read_events(self.database.store, thread_id, after)

    async def audit(self, thread_id: str) -> tuple[list[Entry], str]:
        """What humans were asked and decided on a thread, oldest first, and where the record is broken, if it is.

        What cannot be read any more is left out, and the record is broken there.

        Raises:
            ThreadUnknown: no such thread.
        """
        with readable(thread_id):
            try:
                known, unknown = await self.decisions(thread_id), None
            except ThreadUnknown as error:  # only the record was kept
                known, unknown = {}, error
            entries, broken = await read_audit(self.database.store, thread_id, self.seals, known)
            if unknown and not entries:
                raise unknown
            return entries, broken

    async def decisions(self, thread_id: str) -> dict[str, Decision]:
        """Every answer that was taken, by question."""
        return await self._decided(thread_id, (await self.position(thread_id)).state)

    async def _decided(self, thread_id: str, state: RunState) -> dict[str, Decision]:
        with readable(thread_id):
            found = await decided(self.database.store, thread_id, state, self.seals)
            return {key: Decision.model_validate(value) for key, value in found.items()}

    async def handled(self, thread_id: str, keys: Collection[str]) -> dict[str, SignalOutcome]:
        """What came of those of the signals that were handled, by key."""
        return {one.key: one.outcome for one in await read_log(self.database.store, thread_id) if one.key in keys}

    async def position(self, thread_id: str) -> Position:
        """Where a thread stands.

        Raises:
            ThreadUnknown: nothing has ever run on it.
        """
        with readable(thread_id):
            return await read_position(self.database.checkpointer, thread_id)

    async def is_held(self, thread_id: str) -> bool:
        """Whether a living process runs the thread."""
        holder = await self.leases.holder(thread_id)
        return holder is not None and holder.is_running

    async def missing(self, thread_id: str) -> list[str]:
        """The agents that the thread's run needs to go on, and that the team does not have."""
        recruits = await read_recruits(self.database.store, thread_id)
        return missing_agents(await self.position(thread_id), recruits, self.names)

    async def _delegations(self, thread_id: str) -> list[Delegation]:
        rows = await read_all(self.database.store, space("delegations", thread_id))
        found = [Delegation.model_validate(row.value) for row in rows]
        return sorted(found, key=lambda one: (one.task_id, one.started_at))

    async def _dated(self, run: Run) -> Run:
        """The run with the deadlines that its questions have now: one may have been passed on to somebody else."""
        if not run.approvals:
            return run
        rows = await read_all(self.database.store, space("approvals", run.thread_id))
        known = {row.key: Approval.model_validate(row.value) for row in rows}
        return run.model_copy(update={"approvals": [known.get(question.id, question) for question in run.approvals]})
