"""The facade: everything a program or a person does with the runs of one database, as a handful of verbs."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import JsonValue

from graph import steering
from graph.address import Address, address_of
from graph.blocking import BlockingSupervisor, open_blocking
from graph.builder import Graph
from graph.composition import ModelLike, PolicyLike, TeamLike, compose
from graph.database import open_database
from graph.queue import Complain, Request, checked_priority, checked_time, queue_of, shared_sources
from graph.reading import OnDamaged, tell_damaged
from graph.runs import PYTHON, SERVER, SERVER_LEASE, Runs
from graph.settings import artifacts_of, read_settings
from graph.steering import Answers, OnEvent, last
from graph.views import is_due
from graph.worker import DRAIN_S, OnRun, Worker, quiet, tell
from nodes.intake import checked_goal
from nodes.policy.plans import plan_for
from nodes.policy.recruiting import directory
from nodes.policy.routing import given_plan
from nodes.policy.schemas import schema_of
from nodes.policy.trust import trust_of
from nodes.runtime.clock import Clock, Notifier
from nodes.runtime.services import OWN, Choice, Services
from nodes.runtime.signals import SignalState
from nodes.runtime.trust_store import read_trust, write_incident
from nodes.tools.pages import GivenSources
from nodes.tools.storage import Location, location
from state.agent import Member, Team
from state.approval import Entry
from state.errors import BadInput, ThreadDamaged
from state.event import Event
from state.plan import Plan
from state.policy import merged_policy
from state.record import TaskRecord
from state.run import Run
from state.signal import Held, Resume, Signal
from state.text import Json
from state.trust import Incident, Severity, Trust


class Supervisor:
    """Runs on one database. Made by `open_supervisor`; `Supervisor.open` gives the same verbs without `await`."""

    def __init__(self, runs: Runs, files: Location | None = None) -> None:
        self._runs = runs
        self._files = files

    @staticmethod
    def open(
        db: str | Address | None = None,
        team: TeamLike = None,
        policy: PolicyLike = None,
        model: ModelLike = None,
        **more: Any,
    ) -> AbstractContextManager[BlockingSupervisor]:
        """A supervisor for code that is not async; takes what `open_supervisor` takes."""
        return open_blocking(lambda: open_supervisor(db, team, policy, model, **more))

    @property
    def services(self) -> Services:
        """What the graph is built from."""
        return self._runs.services

    @property
    def graph(self) -> Graph:
        """The compiled LangGraph underneath."""
        return self._runs.graph

    async def start(
        self,
        query: str,
        sources: Sequence[str | Path] | Path | None = (),
        thread_id: str | None = None,
        *,
        plan: Plan | Json | None = None,
        policy: Json | None = None,
        answer: object = None,
        to: str = "",
        chosen: Choice = OWN,
        on_event: OnEvent | None = None,
    ) -> Run:
        """Run a request until it is complete or a human is needed.

        On a thread whose run has ended it is a follow-up: the last answers are in view, and where no sources are given
        those of the thread stay. `answer`: a JSON Schema, or a Pydantic model or any type that it knows: the answer
        comes as `run.data` that fits it, too. `to`: the agent that does all of it, by name, instead of a plan.
        `chosen`: the model and the team, where the services offer several, as a server's do.

        Raises:
            BadInput: anything given that cannot be used; nothing was started then.
            ThreadBusy: work is in flight on that thread.
        """
        starting = await self._starting(query, sources, thread_id or new_thread(), plan, policy, answer, to, chosen)
        return await last(starting, on_event)

    async def stream(
        self,
        query: str,
        sources: Sequence[str | Path] | Path | None = (),
        thread_id: str | None = None,
        *,
        plan: Plan | Json | None = None,
        policy: Json | None = None,
        answer: object = None,
        to: str = "",
    ) -> AsyncIterator[Json]:
        """The events of a run, as they happen; takes what `start` takes."""
        async with aclosing(
            await self._starting(query, sources, thread_id or new_thread(), plan, policy, answer, to, OWN)
        ) as items:
            async for item in items:
                if not isinstance(item, Run):
                    yield item

    async def enqueue(
        self,
        query: str,
        sources: Sequence[str | Path] | Path | None = (),
        thread_id: str | None = None,
        *,
        plan: Plan | Json | None = None,
        policy: Json | None = None,
        answer: object = None,
        to: str = "",
        model: str | None = None,
        priority: int = 0,
        at: float | None = None,
    ) -> Run:
        """Put a run into the queue of this supervisor's team, for any worker that has it (`work`, `baton worker`).

        Of those that wait the highest `priority` is begun first, then the oldest; none before `at` (seconds since the
        epoch). What has begun goes on before others of its priority begin. `model` is a chat model's name; the
        worker's own without. The rest is as `start` takes it.

        Raises:
            BadInput: the database is a file, sources are not below the folder that workers share, or the plan is wrong.
            ThreadBusy: the thread has work in flight, or a run waits on it.
        """
        thread = checked_thread(thread_id or new_thread())
        roots = self.services.source_roots
        allowed = (*roots, self._files) if roots and self._files else roots
        shared = await asyncio.to_thread(shared_sources, sources, self._files, allowed)
        asked = Request(
            given=self._given(query, shared, plan, policy, answer, to, OWN),
            model=model,
            queue=queue_of(self.services.team.names),
            priority=checked_priority(priority),
            queued_at=self.services.clock.now(),
        )
        await self._runs.enqueue(thread, asked, checked_time(at))
        return await self.view(thread)

    async def work(
        self, runs: int = 8, *, drain_s: float = DRAIN_S, on_run: OnRun = quiet, complain: Complain = tell
    ) -> None:
        """Be a worker: take runs of this team off the queue, `runs` at once, until cancelled or told to stop (SIGTERM).

        What is under way then has `drain_s` seconds to come to its end or to a question; the rest goes to others. A
        worker that dies loses nothing: others have its runs within ten seconds. `on_run` sees each run when this worker
        is done with it.

        Raises:
            BadInput: the database is a file, which has no queue.
        """
        await Worker(self._runs, on_run, complain).work(runs, drain_s)

    async def resume(
        self,
        thread_id: str,
        by: str = "human",
        *,
        of: Held | None = None,
        door: str = PYTHON,
        on_event: OnEvent | None = None,
    ) -> Run:
        """Go on after a crash, a pause or a failure; one that has ended or waits for an answer is returned as it is.

        `by` and `door`: who lets a paused run go on, and which way it came, for the record. `of`: how the run stood for
        them, if not as it stands now; what somebody has taken over since stays in their hands.

        Raises:
            BadInput: somebody has taken it over since.
            ThreadUnknown: no such thread.
            ThreadBusy: another process runs it.
        """
        run = await self.view(thread_id)
        if run.has_ended or run.waits_for == "answers":
            return run
        if run.waits_for == "release":
            now: Held = "paused" if run.status == "paused" else "handed_over"
            if of not in (None, now):
                raise BadInput(f"thread {thread_id} is not {of} any more, but {now}; look at it again")
            return await self.signal(thread_id, Resume(by=by, door=door, of=now), on_event=on_event)
        return await steering.take_up(self._runs, thread_id, on_event)

    async def answer(
        self,
        thread_id: str,
        answers: Answers | JsonValue,
        by: str = "human",
        *,
        door: str = PYTHON,
        on_event: OnEvent | None = None,
    ) -> Run:
        """Answer open questions, all or some, and go on. `door` says which way it came, for the record.

        Raises:
            BadInput: nothing is open, an answer cannot be read, or somebody was faster; the questions stay as they are.
        """
        await self.view(thread_id)  # a deadline that has passed was first
        return await steering.answer(self._runs, thread_id, answers, by, on_event, door=door)

    async def signal(self, thread_id: str, signal: Signal, *, on_event: OnEvent | None = None) -> Run:
        """Send a signal. A run that executes takes it up at once; one that does not is resumed from here to do so.

        Raises:
            ThreadUnknown: no such thread.
            BadInput: the run has ended.
        """
        return await steering.signal(self._runs, thread_id, signal, on_event)

    async def hand_back(
        self,
        thread_id: str,
        results: Answers | None = None,
        plan: Plan | Json | None = None,
        by: str = "human",
        *,
        door: str = PYTHON,
        on_event: OnEvent | None = None,
    ) -> Run:
        """Give a run back after a takeover, with results for tasks by id and a changed plan, and go on.

        Raises:
            BadInput: it is not in a human's hands, or what is given does not fit; nothing has changed then.
        """
        return await steering.hand_back(self._runs, thread_id, results or {}, plan, by, on_event, door=door)

    async def view(self, thread_id: str, team: Team | None = None) -> Run:
        """What is true of a run now, also while another process runs it.

        `team`: of whoever wants to go on with it, where that is not this supervisor's.

        Raises:
            ThreadUnknown: no such thread.
        """
        return await steering.view(self._runs, thread_id, team)

    async def check_team(self, thread_id: str) -> None:
        """Whether the thread's run could go on from here.

        Raises:
            AgentsMissing: it needs agents that are not in the team.
        """
        await self._runs.check_team(thread_id)

    async def runs(
        self,
        *,
        only_open: bool = False,
        limit: int | None = None,
        offset: int = 0,
        on_damaged: OnDamaged = tell_damaged,
    ) -> list[Run]:
        """The last run of each thread, newest first; a page of them: `limit` after the first `offset`.

        `only_open`: all that have not ended. A thread that cannot be read is left out, and given to `on_damaged`.
        """
        return await self._runs.runs(self.view, only_open=only_open, limit=limit, offset=offset, on_damaged=on_damaged)

    async def team(self, thread_id: str) -> list[Member]:
        """The directory of a run: every agent, what it is doing, and whether it was recruited.

        Raises:
            ThreadUnknown: no such thread.
        """
        run = await self.view(thread_id)
        signals = SignalState(self._runs.database.store, thread_id)
        await signals.load()
        state = (await self._runs.position(thread_id)).state
        records = {one.id: one for one in map(TaskRecord.model_validate, state.get("tasks") or [])}
        records.update({record.id: records.get(record.id, record) for record in signals.recruits})
        now = {task.id: task for task in run.tasks}
        current = [r.model_copy(update={"status": now[r.id].status} if r.id in now else {}) for r in records.values()]
        unread = {agent: mailbox.unread for agent, mailbox in signals.mailboxes.items()}
        return directory(current, self.services.team, signals.retired, unread)

    async def plan(self, thread_id: str) -> Json:
        """The plan a run uses, in the form in which one can be given.

        Raises:
            ThreadUnknown: no such thread, or it has no plan yet.
        """
        return await self._runs.plan(thread_id)

    async def events(self, thread_id: str, after: int = 0) -> list[Event]:
        """The recorded events of a thread with a `seq` above `after`."""
        return await self._runs.events(thread_id, after)

    async def trust(self) -> dict[str, Trust]:
        """Where every agent stands: those of the team, and any other that has worked on this database."""
        now = self._runs.services.clock.now()
        fresh = {agent.name: trust_of(agent.name, [], now) for agent in self._runs.services.team}
        return {**fresh, **await read_trust(self._runs.database.store, now)}

    async def incident(self, agent: str, severity: Severity, note: str = "", by: str = "human") -> Trust:
        """Report that something went wrong through an agent; it takes effect at once.

        Raises:
            BadInput: nobody is called that.
        """
        known = await self.trust()
        if agent not in known:
            raise BadInput(f"there is no agent {agent!r}; there are: {', '.join(known)}")
        happened = Incident(at=self._runs.services.clock.now(), severity=severity, note=note, by=by)
        await write_incident(self._runs.database.store, agent, happened)
        return (await self.trust())[agent]

    async def audit(self, thread_id: str) -> tuple[list[Entry], str]:
        """What humans were asked and decided on a thread, oldest first, and where the record is broken, if it is.

        What cannot be read any more is left out, and the record is broken there.

        Raises:
            ThreadUnknown: no such thread.
        """
        return await self._runs.audit(thread_id)

    async def due(self, *, by_server: bool = False) -> list[str]:
        """Threads that could go on if somebody resumed them: their process died, or their questions are decided.

        What came in through a server that is up and looks after it is left to the server (`by_server`). A damaged
        thread is among them: whoever takes it up is told what is wrong.
        """
        damaged: list[ThreadDamaged] = []
        runs = await self.runs(only_open=True, on_damaged=damaged.append)
        due = [*(run.thread_id for run in runs if is_due(run)), *(error.thread_id for error in damaged)]
        if not due or by_server or not await self._runs.is_held(SERVER_LEASE):
            return due
        its_own = {row.thread_id for row in await self._runs.open_rows() if row.door == SERVER}
        return [thread_id for thread_id in due if thread_id not in its_own]

    async def _starting(
        self,
        query: str,
        sources: Sequence[str | Path] | Path | None,
        thread_id: str,
        plan: Plan | Json | None,
        policy: Json | None,
        answer: object,
        to: str,
        chosen: Choice,
    ) -> AsyncGenerator[Json | Run, None]:
        of_them = GivenSources.of(sources)
        placed = partial(of_them.placed, lambda path: str(location(path).absolute()))
        named = await asyncio.to_thread(placed) if of_them.paths else placed()
        given = self._given(query, named, plan, policy, answer, to, chosen)
        return self._runs.drive(checked_thread(thread_id), given, chosen=chosen)

    def _given(
        self,
        query: str,
        sources: Sequence[str],
        plan: Plan | Json | None,
        policy: Json | None,
        answer: object,
        to: str,
        chosen: Choice,
    ) -> Json:
        """The input of the graph, refused where it cannot be used."""
        services = self.services.chosen(chosen)
        goal, team = checked_goal(query), services.team
        most = merged_policy(services.policy, policy).max_team_size
        if to and plan is not None:
            raise BadInput(f"give a plan or the agent who does all of it ({to}), not both")
        wanted = plan_for(team.agent(to), goal) if to else plan
        made = given_plan(wanted, team.specs, most) if wanted is not None else None
        return {
            "query": goal,
            **({"sources": [*sources]} if sources else {}),
            "plan": made.model_dump(mode="json") if made else None,
            "policy": policy,
            "schema": None if answer is None else schema_of(answer),
        }


@asynccontextmanager
async def open_supervisor(
    db: str | Address | None = None,
    team: TeamLike = None,
    policy: PolicyLike = None,
    model: ModelLike = None,
    *,
    clock: Clock | None = None,
    artifacts: str | Location | None = None,
    notifier: Notifier | None = None,
    read_only: bool = False,
) -> AsyncIterator[Supervisor]:
    """A supervisor on a database, a file or `postgresql://…`.

    What is not given comes from the environment (`BATON_…`, `OPENAI_…`). `read_only`: it can look, and nothing else.

    Raises:
        BadInput: a setting, team, policy, model or database that cannot be used.
    """
    settings = read_settings()
    address = address_of(db) if db is not None else settings.db
    folder = location(artifacts) if artifacts is not None else artifacts_of(settings, address)
    services = compose(
        settings, team=team, policy=policy, model=model, clock=clock, artifacts=folder, notifier=notifier
    )
    async with open_database(address, settings.synchronous, read_only=read_only) as database:
        yield Supervisor(Runs(services, database, database.leases(services.clock)), settings.files)


def new_thread() -> str:
    """A name for a new thread."""
    return uuid4().hex[:12]


def checked_thread(thread_id: str) -> str:
    """The name of a thread, if it is one.

    Raises:
        BadInput: it is empty or very long, or has characters that cannot be shown.
    """
    if not thread_id.strip() or len(thread_id) > 200 or not thread_id.isprintable():
        raise BadInput(f"{thread_id[:40]!r} cannot name a thread; give 1 to 200 printable characters")
    return thread_id
