"""The facade: everything a program or a person does with runs, as a handful of verbs."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from langgraph.types import Command
from pydantic import JsonValue

from graph.blocking import BlockingSupervisor, open_blocking
from graph.composition import ModelLike, PolicyLike, TeamLike, compose
from graph.lease import Leases
from graph.lookout import Lookout
from graph.persistence import connect, open_database
from graph.runs import Runs
from graph.settings import beside, read_settings
from nodes.control import LOOK
from nodes.intake import checked_goal, merged_policy
from nodes.policy.answers import read_answers
from nodes.policy.plans import parse_plan
from nodes.runtime.clock import Clock
from nodes.runtime.journal import Json
from state.errors import BadInput, ThreadBusy
from state.plan import Plan
from state.run import Run
from state.signal import Decide, Resume, Signal

OnEvent = Callable[[Json], None]
Answers = Mapping[str, JsonValue]

ENDED = ("complete", "failed", "cancelled")


class Supervisor(Lookout):
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
        return await _last(self._starting(query, sources, thread_id or new_thread(), plan, policy), on_event)

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
        if run.status == "waiting" or has_ended(run):
            return run
        snapshot = await self._runs.snapshot(thread_id)
        if any(task.interrupts for task in snapshot.tasks):
            return await self.signal(thread_id, Resume(), on_event=on_event)
        return await _last(self._runs.drive(thread_id, None), on_event)

    async def answer(
        self, thread_id: str, answers: Answers | JsonValue, by: str = "human", *, on_event: OnEvent | None = None
    ) -> Run:
        """Answer open questions, all or some, and go on.

        Raises:
            BadInput: nothing is open, or an answer cannot be read; the questions stay open.
        """
        run = await self.view(thread_id)
        if not run.approvals:
            raise BadInput(f"thread {thread_id} has no open question (it is {run.status})")
        plain: JsonValue = dict(answers) if isinstance(answers, Mapping) else answers
        decisions, problems = read_answers(plain, run.approvals, by)
        if problems:
            raise BadInput("; ".join(problems))
        if run.status != "waiting":
            for key, decision in decisions.items():
                await self._runs.signal(thread_id, Decide(approval=key, decision=decision, by=by))
            return await self.view(thread_id)
        resume = {key: decision.model_dump(mode="json") for key, decision in decisions.items()}
        return await _last(self._runs.drive(thread_id, Command(resume=resume)), on_event)

    async def signal(self, thread_id: str, signal: Signal, *, on_event: OnEvent | None = None) -> Run:
        """Send a signal. A run that executes takes it up at once; one that does not is resumed from here to do so.

        Raises:
            ThreadUnknown: no such thread.
            BadInput: the run has ended.
        """
        run = await self.view(thread_id)
        if has_ended(run):
            raise BadInput(f"thread {thread_id} has ended ({run.status}); nothing can be changed any more")
        await self._runs.signal(thread_id, signal)
        if await self._runs.is_held(thread_id):
            return await self.view(thread_id)
        snapshot = await self._runs.snapshot(thread_id)
        waits = any(task.interrupts for task in snapshot.tasks)
        try:
            return await _last(self._runs.drive(thread_id, Command(resume=LOOK) if waits else None), on_event)
        except ThreadBusy:  # somebody took it up in the meantime, and the signal with it
            return await self.view(thread_id)

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
) -> AsyncIterator[Supervisor]:
    """A supervisor on a database file; what is not given comes from the environment (`BATON_…`, `OPENAI_…`).

    Raises:
        BadInput: a setting, team, policy, model or database that cannot be used.
    """
    settings = read_settings()
    path = Path(db) if db is not None else settings.db
    folder = Path(artifacts) if artifacts is not None else beside(path, settings.artifacts)
    services = compose(settings, team=team, policy=policy, model=model, clock=clock, artifacts=folder)
    async with open_database(path, settings.synchronous) as database, connect(path, settings.synchronous) as third:
        yield Supervisor(Runs(services, database, Leases(third, services.clock)))


def has_ended(run: Run) -> bool:
    """Whether nothing can follow; a run that failed on its model can still be resumed, its phase is no end."""
    return run.status in ENDED and run.phase in ENDED


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


async def _last(items: AsyncGenerator[Json | Run, None], on_event: OnEvent | None) -> Run:
    """The run at the end of `items`; events on the way go to `on_event`."""
    last: Run | None = None
    async with aclosing(items):  # where `on_event` raises, the lease is given back now
        async for item in items:
            if isinstance(item, Run):
                last = item
            elif on_event:
                on_event(item)
    if last is None:
        raise RuntimeError("a run ended without its result")
    return last
