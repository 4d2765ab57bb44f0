"""Driving the runs of one database, each under its lease; looking at them is `graph.reading`."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot
from pydantic import JsonValue

from graph.builder import build_graph, facts_of
from graph.database import Database
from graph.fence import forget_left
from graph.lease import Leases
from graph.queue import Queue, Request
from graph.reading import Reading
from graph.sqlite.connection import explained
from nodes.policy.answers import LOOK_AT_SIGNALS
from nodes.policy.approvals import open_questions
from nodes.policy.phases import next_node
from nodes.runtime.approvals import Approvals
from nodes.runtime.context import RunContext
from nodes.runtime.journal import Journal, phase_on_board
from nodes.runtime.listener import TOO_LATE, refuse_waiting
from nodes.runtime.rows import list_run, places_of_steps
from nodes.runtime.services import OWN, Choice, Services
from nodes.runtime.signals import SignalState, send, waiting
from nodes.tools.pages import GivenSources
from nodes.tools.sources import open_sources
from state.approval import Decision
from state.channels import RunState, is_over, phase_of, terms_of
from state.errors import AgentsMissing, BadInput, BatonError, LeaseLost, ModelFailed, ThreadBusy, ThreadUnknown
from state.run import ENDS, Phase, Run
from state.signal import Signal
from state.supervisor import SupervisorState
from state.text import Json

SERVER = "server"
"""The door of runs that came in through the served graph."""
MARKED_AS_RESOLVED = "marked as resolved"
"""The door of a no that somebody gave by ending the thread at the question."""
PYTHON = "python"
"""The door of what a program does with the facade."""
ASKING_S = 1.0
"""Seconds for asking who has taken a thread over."""
SERVER_LEASE = ""
"""Whose lease a server holds while it looks after its runs; no thread is called that."""


class Runs(Reading):
    """What the facade's verbs are made of."""

    def __init__(self, services: Services, database: Database, leases: Leases, *, is_worker: bool = False) -> None:
        super().__init__(database, leases, services.clock, services.names(), services.seals)
        self.services = services
        self._is_worker = is_worker
        self.graph = build_graph(services, checkpointer=database.checkpointer, store=database.store)

    async def drive(
        self,
        thread_id: str,
        given: Json | Command[Any] | None,
        check: Callable[[], Awaitable[None]] | None = None,
        chosen: Choice = OWN,
    ) -> AsyncGenerator[Json | Run, None]:
        """Run the graph under the thread's lease: its events, and at the end the run.

        `chosen`: which of the services' models and teams a run begins with, and keeps. `check` may refuse, once nobody
        else can change anything any more. Signals that came after the run's last look, and before it waited, are looked
        at then: whoever sent them saw that it was executed, and left it at that.

        Raises:
            ThreadBusy: another process runs the thread, or `given` would start a run on work that is in flight.
            AgentsMissing: the run needs agents that are not in the team.
            DatabaseUnusable: the database failed; what was finished is kept.
            LeaseLost: another process has taken the thread over while this one stood still.
        """
        with explained(self.database.address):
            try:
                async with aclosing(self._driven(thread_id, given, check, chosen)) as events:
                    async for event in events:
                        yield event
            except LeaseLost as lost:
                raise await self._by_whom(thread_id, lost) from lost
            with suppress(ThreadBusy):  # whoever took the thread up since looks at it
                while await self.has_signals(thread_id):
                    if not (await self.position(thread_id)).asked:
                        await self.refuse_late(thread_id)
                        break
                    async with aclosing(self._driven(thread_id, Command(resume=LOOK_AT_SIGNALS))) as events:
                        async for event in events:
                            yield event
            run = await self.view(thread_id)
            await self.note_end(run)
            yield run

    async def _by_whom(self, thread_id: str, lost: LeaseLost) -> LeaseLost:
        """The same, with who has the thread now, if anybody does."""
        holder = None
        with suppress(BatonError, TimeoutError):  # the database may be gone
            async with asyncio.timeout(ASKING_S):
                holder = await self.leases.holder(thread_id)
        return LeaseLost(f"{lost}; process {holder.pid} on {holder.host} has it now") if holder else lost

    async def _driven(
        self,
        thread_id: str,
        given: Json | Command[Any] | None,
        check: Callable[[], Awaitable[None]] | None = None,
        chosen: Choice = OWN,
    ) -> AsyncGenerator[Json, None]:
        """The events of the graph, until it ends or waits."""
        async with self.leases.hold(thread_id) as fence:
            if check:
                await check()
            if isinstance(given, dict):
                await self._prepare(thread_id, given)
            else:
                await self.check_team(thread_id)
            if given is None:
                await self.enter_again(thread_id)
            # `sync`: a worker's model call is on disk before its next step, so that a kill cannot repeat it.
            named: RunnableConfig = {**config(thread_id), "run_name": f"baton {thread_id}"}  # what traces call it
            context = {name: value for name, value in chosen._asdict().items() if value}  # as an assistant's
            stream = self.graph.astream(
                cast(Any, given), named, context=cast(Any, context or None), stream_mode="custom", durability="sync"
            )
            try:
                async with aclosing(cast(AsyncGenerator[Json, None], stream)) as events:
                    async for event in events:
                        yield event
                        fence.enter()  # whoever takes the next one may be another task
            except ModelFailed:
                return  # kept in the checkpoint; the view says so, and `resume` goes on from there
            if not self.services.keep_history and await phase_on_board(self.database.store, thread_id) in ENDS:
                await self.database.forget_steps(thread_id, places_of_steps(thread_id))

    def queue(self, what: str) -> Queue:
        """The database's queue; `what` needs it: "runs are queued on".

        Raises:
            BadInput: it has none.
        """
        if self.database.queue is None:
            raise BadInput(
                f"{what} PostgreSQL, and {self.database.address} is a file; "
                "give --db postgresql://USER@HOST/NAME, or set BATON_DB"
            )
        return self.database.queue

    async def enqueue(self, thread_id: str, asked: Request, at: float | None) -> None:
        """Put a request into the queue.

        Raises:
            BadInput: the database has none.
            ThreadBusy: the thread has work in flight, or a run waits on it.
        """
        queue = self.queue("runs are queued on")
        with suppress(ThreadUnknown):
            if not (await self.view(thread_id)).has_ended:
                raise _in_flight(thread_id)
        await queue.enqueue(thread_id, asked, at)

    async def has_signals(self, thread_id: str) -> bool:
        """Whether there are signals that nobody has looked at."""
        return bool(await waiting(self.database.store, thread_id))

    async def is_for_workers(self, thread_id: str) -> bool:
        """Whether workers go on with the thread, and this process is none."""
        queue = self.database.queue
        return queue is not None and not self._is_worker and await queue.belongs(thread_id)

    async def call_worker(self, thread_id: str) -> None:
        """See that a worker looks at the thread, if it is one of theirs."""
        if self.database.queue and not self._is_worker:
            await self.database.queue.put(thread_id)

    async def withdraw(self, thread_id: str) -> bool:
        """Take back a run that no worker has begun; the one before on its thread is the last one again."""
        if not self.database.queue or not await self.database.queue.withdraw(thread_id):
            return False
        with suppress(ThreadUnknown):
            before = await self.view(thread_id)
            await list_run(self.database.store, thread_id, before.query, before.started_at or 0.0)
            await self.note_end(before)
        return True

    async def refuse_late(self, thread_id: str) -> None:
        """Answer signals that came after the last look of a run that has ended.

        Raises:
            ThreadBusy: somebody runs the thread; he answers them.
        """
        async with self.leases.hold(thread_id):
            position = await self.position(thread_id)
            if position.has_ended:
                reason = f"{TOO_LATE}: the run was {position.state['phase']}"
                await refuse_waiting(self.context(thread_id, position.state), reason)

    async def signal(self, thread_id: str, signal: Signal) -> str:
        """Put a signal into the log, and wake the run if it is executed by this process; its key in the log."""
        forget_left()
        signal = signal if signal.door else signal.model_copy(update={"door": PYTHON})
        with explained(self.database.address):
            key = await send(self.database.store, thread_id, signal, self.services.clock)
        self.services.wake_ups.wake(thread_id)
        return key

    async def enter_again(self, thread_id: str) -> bool:
        """Let a run that somebody has ended from outside go on by its phase; whoever calls has the lease.

        Pages for agents do that: Agent Inbox's "Mark as Resolved" is `update_state(None, as_node="__end__")`. Where
        questions were open, that cancels them: each counts as answered with no, and the thread says so.
        """
        snapshot = await self.graph.aget_state(config(thread_id))
        if not was_ended_from_outside(snapshot):
            return False
        said = await self._cancelled_questions(thread_id, snapshot)
        warnings = snapshot.values.get("warnings", [])
        told = {"messages": [AIMessage(said)], "warnings": [*warnings, said]} if said else {}
        await self.graph.aupdate_state(config(thread_id), {"finished_at": None, **told}, as_node="intake")
        return True

    async def _cancelled_questions(self, thread_id: str, snapshot: StateSnapshot) -> str:
        """Decide what was open where the run was ended, and nothing else was changed; what people are told, if so."""
        before = await self.graph.aget_state(cast(RunnableConfig, snapshot.parent_config))
        state = cast(SupervisorState, snapshot.values)
        if not before.interrupts or before.values != snapshot.values or next_node(facts_of(state)) != "approve":
            return ""
        run = self.context(thread_id, state)
        signals, asked = SignalState(self.database.store, thread_id), Approvals(run)
        await signals.load()
        signals.know(await run.decided(state))
        await asked.load()
        questions = open_questions(state)
        for question in questions:
            if question.id not in signals.decisions:
                no = Decision(type="reject", message="marked as resolved without an answer", door=MARKED_AS_RESOLVED)
                await asked.answer(question, no, signals.decide)
        about = " ".join(question.title for question in questions)
        return f"Marked as resolved while this was asked: {about} That counts as a no."

    def context(self, thread_id: str, state: RunState) -> RunContext:
        """A run as a door sees it that does not execute it."""
        return RunContext(
            services=self.services,
            store=self.database.store,
            thread_id=thread_id,
            scope="",
            policy=terms_of(state).policy,
            phase=phase_of(state) or Phase.decomposing,
            paths=[],
            journal=Journal(self.database.store, thread_id, self.services.clock),
        )

    async def check_team(self, thread_id: str) -> None:
        """Refuse to go on with a run of other agents: its tasks would be taken from them.

        Raises:
            AgentsMissing: names the agents.
        """
        if names := await self.missing(thread_id):
            raise AgentsMissing(
                f"thread {thread_id} needs agents that are not in this team: {', '.join(names)}; "
                "go on with the program that started it, or give its team file (--team, or BATON_TEAM)"
            )

    async def _prepare(self, thread_id: str, given: Json) -> None:
        """Refuse what cannot be started before anything is written."""
        is_free = True
        with suppress(ThreadUnknown):
            is_free = (await self.position(thread_id)).has_ended
        if not is_free:
            raise _in_flight(thread_id)
        if paths := GivenSources.of(cast(list[JsonValue], given.get("sources") or [])).paths:
            await asyncio.to_thread(open_sources, paths, max_file_bytes=self.services.max_source_bytes)
        # Before the first checkpoint: no list of runs misses it.
        await list_run(self.database.store, thread_id, str(given["query"]), self.services.clock.now())


def _in_flight(thread_id: str) -> ThreadBusy:
    return ThreadBusy(
        f"thread {thread_id} has work in flight; `baton resume {thread_id}` goes on with it, or use another --thread"
    )


def was_ended_from_outside(snapshot: StateSnapshot) -> bool:
    """Whether nothing comes next on a thread whose run has not come to its end."""
    state = cast(SupervisorState, snapshot.values)
    return bool(snapshot.created_at and state and not snapshot.tasks and not is_over(state))


def config(thread_id: str) -> RunnableConfig:
    """LangGraph's config for a thread."""
    return {"configurable": {"thread_id": thread_id}}
