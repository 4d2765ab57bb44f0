"""The facade: everything a program or a person does with runs, as a handful of verbs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from pydantic import JsonValue

from graph.blocking import BlockingSupervisor, open_blocking
from graph.builder import build_graph
from graph.composition import ModelLike, PolicyLike, TeamLike, compose
from graph.lease import Leases
from graph.persistence import Database, connect, explained, open_database
from graph.settings import read_settings
from graph.views import view_of
from nodes.intake import checked_goal, merged_policy
from nodes.policy.answers import read_answers
from nodes.policy.plans import parse_plan
from nodes.runtime.clock import Clock
from nodes.runtime.journal import Json, read_board, read_events
from nodes.runtime.rows import read_all
from nodes.runtime.services import Services
from nodes.tools.sources import open_sources
from state.errors import BadInput, ModelFailed, ThreadBusy, ThreadUnknown
from state.event import Event
from state.plan import Plan
from state.run import Run

OnEvent = Callable[[Json], None]
Answers = Mapping[str, JsonValue]


class Supervisor:
    """Runs on one database. Made by `open_supervisor`; `Supervisor.open` gives the same verbs without `await`."""

    def __init__(self, services: Services, database: Database, leases: Leases) -> None:
        self.services = services
        self._database = database
        self._leases = leases
        self.graph = build_graph(services, checkpointer=database.checkpointer, store=database.store)

    @staticmethod
    def open(
        db: str | Path | None = None,
        team: TeamLike = None,
        policy: PolicyLike = None,
        model: ModelLike = None,
        **more: Any,
    ) -> AbstractContextManager[BlockingSupervisor]:
        """A supervisor for code that is not async; takes what `open_supervisor` takes."""
        return open_blocking(lambda: open_supervisor(db, team, policy, model, **more))

    async def start(
        self,
        query: str,
        sources: Sequence[str | Path] = (),
        thread_id: str | None = None,
        *,
        plan: Plan | Json | None = None,
        policy: Json | None = None,
        on_event: OnEvent | None = None,
    ) -> Run:
        """Run a request until it is complete or a human is needed.

        Raises:
            BadInput: anything given that cannot be used; nothing was started then.
            ThreadBusy: work is in flight on that thread.
        """
        return await self._last(self._starting(query, sources, thread_id or new_thread(), plan, policy), on_event)

    async def stream(
        self,
        query: str,
        sources: Sequence[str | Path] = (),
        thread_id: str | None = None,
        *,
        plan: Plan | Json | None = None,
        policy: Json | None = None,
    ) -> AsyncIterator[Json]:
        """The events of a run, as they happen; the last one is `run_finished` or `approval_requested`."""
        async for item in self._starting(query, sources, thread_id or new_thread(), plan, policy):
            if not isinstance(item, Run):
                yield item

    async def resume(self, thread_id: str, *, on_event: OnEvent | None = None) -> Run:
        """Go on after a crash or a failure; a run that has ended or waits for an answer is returned as it is.

        Raises:
            ThreadUnknown: no such thread.
            ThreadBusy: another process runs it.
        """
        run = await self.view(thread_id)
        if run.status in ("complete", "cancelled", "waiting") or (run.status == "failed" and run.phase == "failed"):
            return run
        return await self._last(self._drive(thread_id, None), on_event)

    async def answer(
        self, thread_id: str, answers: Answers | JsonValue, by: str = "human", *, on_event: OnEvent | None = None
    ) -> Run:
        """Answer open questions, all or some, and go on.

        Raises:
            BadInput: nothing is open, or none of the answers can be read; the questions stay open.
        """
        run = await self.view(thread_id)
        if run.status == "running":
            raise ThreadBusy(f"thread {thread_id} is being run by another process; answer when it waits")
        if not run.approvals:
            raise BadInput(f"thread {thread_id} has no open question (it is {run.status})")
        decisions, problems = read_answers(_plain(answers), run.approvals, by)
        if problems:
            raise BadInput("; ".join(problems))
        resume = {key: decision.model_dump(mode="json") for key, decision in decisions.items()}
        return await self._last(self._drive(thread_id, Command(resume=resume)), on_event)

    async def view(self, thread_id: str) -> Run:
        """What is true of a run now, also while another process runs it.

        Raises:
            ThreadUnknown: no such thread.
        """
        with explained(self._database.path):
            snapshot = await self.graph.aget_state(_config(thread_id))
            board = await read_board(self._database.store, thread_id)
            holder = await self._leases.holder(thread_id)
        return view_of(thread_id, snapshot, board, is_held=holder is not None)

    async def runs(self) -> list[Run]:
        """All runs in the database, newest first."""
        rows = await read_all(self._database.store, ("runs",))
        found = [await self.view(item.key) for item in rows]
        return sorted(found, key=lambda run: -(run.started_at or 0))

    async def plan(self, thread_id: str) -> Json:
        """The plan a run uses, in the form in which one can be given.

        Raises:
            ThreadUnknown: no such thread, or it has no plan yet.
        """
        snapshot = await self.graph.aget_state(_config(thread_id))
        draft = snapshot.values.get("draft")
        if not draft:
            raise ThreadUnknown(f"thread {thread_id!r} has no plan; `baton runs` lists the threads there are")
        return dict(draft)

    async def events(self, thread_id: str, after: int = 0) -> list[Event]:
        """The recorded events of a thread with a `seq` above `after`."""
        return await read_events(self._database.store, thread_id, after)

    def _starting(
        self,
        query: str,
        sources: Sequence[str | Path],
        thread_id: str,
        plan: Plan | Json | None,
        policy: Json | None,
    ) -> AsyncIterator[Json | Run]:
        paths = [str(Path(path).absolute()) for path in sources]
        given: Json = {
            "query": checked_goal(query),
            "sources": [*paths],
            "plan": parse_plan(plan).model_dump(mode="json") if plan is not None else None,
            "policy": policy,
        }
        merged_policy(self.services.policy, policy)
        return self._drive(checked_thread(thread_id), given)

    async def _last(self, items: AsyncIterator[Json | Run], on_event: OnEvent | None) -> Run:
        """The run at the end of `items`; events on the way go to `on_event`."""
        last: Run | None = None
        async for item in items:
            if isinstance(item, Run):
                last = item
            elif on_event:
                on_event(item)
        if last is None:
            raise RuntimeError("a run ended without its result")
        return last

    async def _drive(self, thread_id: str, given: Json | Command[Any] | None) -> AsyncIterator[Json | Run]:
        """Run the graph under the thread's lease: its events, and at the end the run."""
        with explained(self._database.path):
            async with self._leases.hold(thread_id):
                if isinstance(given, dict):
                    await self._prepare(thread_id, given)
                try:
                    async for event in self.graph.astream(given, _config(thread_id), stream_mode="custom"):  # type: ignore[arg-type]
                        yield event
                except ModelFailed:
                    pass  # kept in the checkpoint; the view says so, and `resume` goes on from there
            yield await self.view(thread_id)

    async def _prepare(self, thread_id: str, given: Json) -> None:
        """Refuse what cannot be started before anything is written."""
        snapshot = await self.graph.aget_state(_config(thread_id))
        if snapshot.next:
            raise ThreadBusy(
                f"thread {thread_id} has work in flight; `baton resume {thread_id}` goes on with it, "
                "or use another --thread"
            )
        if paths := [str(path) for path in cast(list[JsonValue], given["sources"])]:
            await asyncio.to_thread(open_sources, paths, max_file_bytes=self.services.max_source_bytes)


@asynccontextmanager
async def open_supervisor(
    db: str | Path | None = None,
    team: TeamLike = None,
    policy: PolicyLike = None,
    model: ModelLike = None,
    *,
    clock: Clock | None = None,
    artifacts: str | Path | None = None,
) -> AsyncIterator[Supervisor]:
    """A supervisor on a database file; what is not given comes from the environment (`BATON_…`, `OPENAI_…`).

    Raises:
        BadInput: a setting, team, policy, model or database that cannot be used.
    """
    settings = read_settings()
    path = Path(db) if db is not None else settings.db
    folder = Path(artifacts) if artifacts is not None else _artifacts(path, settings.artifacts)
    services = compose(settings, team=team, policy=policy, model=model, clock=clock, artifacts=folder)
    async with open_database(path, settings.synchronous) as database, connect(path, settings.synchronous) as third:
        yield Supervisor(services, database, Leases(third, services.clock))


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


def _artifacts(db: Path, configured: Path) -> Path:
    """Beside the database, unless an absolute folder is configured."""
    return configured if configured.is_absolute() else db.absolute().parent / configured


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


def _plain(answers: Answers | JsonValue) -> JsonValue:
    return dict(answers) if isinstance(answers, Mapping) else answers
