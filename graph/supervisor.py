"""The facade: everything a program or a person does with runs, as a handful of verbs."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.types import Command
from pydantic import JsonValue

from graph import deadlines, steering
from graph.blocking import BlockingSupervisor, open_blocking
from graph.composition import ModelLike, PolicyLike, TeamLike, compose
from graph.lease import Leases
from graph.persistence import open_database
from graph.runs import Runs
from graph.settings import beside, read_settings
from graph.standing import Standing
from graph.steering import Answers, OnEvent, last
from graph.threads import checked_thread, new_thread
from graph.views import has_ended, waits
from nodes.control import LOOK
from nodes.intake import checked_goal, merged_policy
from nodes.policy.plans import parse_plan
from nodes.runtime.clock import Clock
from nodes.runtime.journal import Json
from nodes.runtime.notify import Notifier
from state.plan import Plan
from state.run import Run
from state.signal import Resume, Signal


class Supervisor(Standing):
    """Runs on one database. Made by `open_supervisor`; `Supervisor.open` gives the same verbs without `await`."""

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
        return await last(self._starting(query, sources, thread_id or new_thread(), plan, policy), on_event)

    async def stream(
        self,
        query: str,
        sources: Sequence[str | Path] = (),
        thread_id: str | None = None,
        *,
        plan: Plan | Json | None = None,
        policy: Json | None = None,
    ) -> AsyncIterator[Json]:
        """The events of a run, as they happen."""
        async with aclosing(self._starting(query, sources, thread_id or new_thread(), plan, policy)) as items:
            async for item in items:
                if not isinstance(item, Run):
                    yield item

    async def resume(self, thread_id: str, *, on_event: OnEvent | None = None) -> Run:
        """Go on after a crash, a pause or a failure; one that has ended or waits for an answer is returned as it is.

        Raises:
            ThreadUnknown: no such thread.
            ThreadBusy: another process runs it.
        """
        run = await self.view(thread_id)
        if await deadlines.can_go_on(self._runs, run):
            return await last(self._runs.drive(thread_id, Command(resume=LOOK)), on_event)
        if run.status == "waiting" or has_ended(run):
            return run
        if waits(await self._runs.snapshot(thread_id)):
            return await self.signal(thread_id, Resume(), on_event=on_event)
        return await last(self._runs.drive(thread_id, None), on_event)

    async def answer(
        self,
        thread_id: str,
        answers: Answers | JsonValue,
        by: str = "human",
        *,
        door: str = "python",
        on_event: OnEvent | None = None,
    ) -> Run:
        """Answer open questions, all or some, and go on. `door` says which way it came, for the record.

        Raises:
            BadInput: nothing is open, an answer cannot be read, or somebody was faster; the questions stay as they are.
        """
        await self.view(thread_id)  # a deadline that has passed was first
        return await steering.answer(self._runs, thread_id, answers, by, on_event, door=door)

    async def hand_back(
        self,
        thread_id: str,
        results: Answers | None = None,
        plan: Plan | Json | None = None,
        by: str = "human",
        *,
        on_event: OnEvent | None = None,
    ) -> Run:
        """Give a run back after a takeover, with results for tasks by id and a changed plan, and go on.

        Raises:
            BadInput: it is not in a human's hands, or what is given does not fit; nothing has changed then.
        """
        return await steering.hand_back(self._runs, thread_id, results or {}, plan, by, on_event)

    async def signal(self, thread_id: str, signal: Signal, *, on_event: OnEvent | None = None) -> Run:
        """Send a signal. A run that executes takes it up at once; one that does not is resumed from here to do so.

        Raises:
            ThreadUnknown: no such thread.
            BadInput: the run has ended.
        """
        return await steering.signal(self._runs, thread_id, signal, on_event)

    def _starting(
        self,
        query: str,
        sources: Sequence[str | Path],
        thread_id: str,
        plan: Plan | Json | None,
        policy: Json | None,
    ) -> AsyncGenerator[Json | Run, None]:
        merged_policy(self.services.policy, policy)
        paths = [str(Path(path).absolute()) for path in sources]
        given: Json = {
            "query": checked_goal(query),
            "sources": [*paths],
            "plan": parse_plan(plan).model_dump(mode="json") if plan is not None else None,
            "policy": policy,
        }
        return self._runs.drive(checked_thread(thread_id), given)


@asynccontextmanager
async def open_supervisor(
    db: str | Path | None = None,
    team: TeamLike = None,
    policy: PolicyLike = None,
    model: ModelLike = None,
    *,
    clock: Clock | None = None,
    artifacts: str | Path | None = None,
    notifier: Notifier | None = None,
) -> AsyncIterator[Supervisor]:
    """A supervisor on a database file; what is not given comes from the environment (`BATON_…`, `OPENAI_…`).

    Raises:
        BadInput: a setting, team, policy, model or database that cannot be used.
    """
    settings = read_settings()
    path = Path(db) if db is not None else settings.db
    folder = Path(artifacts) if artifacts is not None else beside(path, settings.artifacts)
    services = compose(
        settings, team=team, policy=policy, model=model, clock=clock, artifacts=folder, notifier=notifier
    )
    async with open_database(path, settings.synchronous) as database:
        yield Supervisor(Runs(services, database, Leases(database.connection, services.clock)))
