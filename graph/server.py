"""What `langgraph dev` gets from us: checkpointer, Store, and an application: the control room, and a recovery of runs.

Checkpoints and Store are the same database as the command line's. Besides serving, deadlines are applied, and the
server's own runs that are due go on, as runs of the server, so that its record of a thread stays true. What was started
elsewhere is left to `baton watch` and to the next process that opens it; only its deadlines are applied.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Any, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT
from langgraph.store.base import BaseStore
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError
from langgraph_sdk.schema import Command, Thread

from graph.app import guard, served
from graph.database import open_database
from graph.recovery import Recovery
from graph.runs import SERVER, SERVER_LEASE, Runs, config, was_ended_from_outside
from graph.settings import read_settings, uploads_of
from graph.supervisor import Supervisor
from graph.views import is_due
from nodes.agents.internals import GIVEN
from nodes.policy.answers import LOOK_AT_SIGNALS
from nodes.runtime.audit import Audit
from nodes.runtime.context import thread_of
from state.approval import Entry
from state.channels import checked_phase
from state.errors import EditRefused, ExtraMissing, LeaseLost, ThreadBusy, ThreadDamaged, ThreadUnknown
from state.record import HUMAN
from state.run import WAITING, Run
from state.supervisor import SupervisorState

try:
    from starlette.applications import Starlette
    from starlette.middleware import Middleware

    from graph.access import Gate
    from graph.web.agent_card import CARD_ROUTES, GRAPH
    from graph.web.routes import HANDLERS, ROUTES, opened_room
except ModuleNotFoundError as missing:
    raise ExtraMissing("served runs", "server") from missing


SETTLED = ("terms", "decisions", "asked", "control", "handed_back", "spent", "worked_s", "started_at")
"""Channels that no client edits: what a run works under, what it has used, and what humans have said."""
WITH_THE_PLAN = ("tasks", "draft")
"""Nor these, while a human is asked about the plan: what is approved is what was shown."""


class ServedSaver(BaseCheckpointSaver[str]):
    """Checkpoints of a server, which does not put what it is given on a thread that another process runs.

    A checkpoint of its own there would hide the other's: what that has finished since would be done again. Nor does it
    keep what LangGraph writes between two nodes, once another process has taken the thread over. What clients edit
    (`POST /threads/{thread_id}/state`) may be anything but what was settled before, and is on record.

    It comes before the saver of whatever database it is.
    """

    record: BaseStore
    """Where edits are put on record."""

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint.

        Raises:
            ThreadBusy: it is the first of a run, or an edit, and another process runs the thread.
            LeaseLost: another process has taken the run over between two of its nodes.
            EditRefused: an edit changes what is settled, names a phase that is none, or changes a state that is not
                kept: it would take the place of all.
        """
        thread_id = thread_of(config)
        if metadata.get("source") != "loop":
            await guard.begin(thread_id)
        if metadata.get("source") not in ("loop", "input"):
            await self._check_edit(config, checkpoint)
        with guard.between_nodes(thread_id):
            kept = await super().aput(config, checkpoint, metadata, new_versions)
        guard.written(thread_id)
        return kept

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a node returned; how it stopped is nobody's concern any more once another process has the run.

        Raises:
            ThreadBusy: it is what a run goes on with, and another process runs the thread.
            LeaseLost: another process has taken the run over since the node ended.
        """
        thread_id = thread_of(config)
        if task_id == GIVEN:
            await guard.begin(thread_id)
        try:
            with guard.between_nodes(thread_id):
                await super().aput_writes(config, writes, task_id, task_path)
        except LeaseLost:
            if not {channel for channel, _ in writes} <= {ERROR, INTERRUPT}:
                raise

    async def _check_edit(self, config: RunnableConfig, checkpoint: Checkpoint) -> None:
        """Refuse an edit of what is settled; put any other on record."""
        parent = await self.aget_tuple(config)
        if parent is None and config["configurable"].get("checkpoint_id"):
            raise EditRefused("that state of the thread is not kept; edit one that is")
        before = parent.checkpoint["channel_values"] if parent else {}
        after = checkpoint["channel_values"]
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        named = [name for name in changed if name in SupervisorState.__annotations__]
        settled = {*SETTLED, *(WITH_THE_PLAN if before.get("asked") else ())}
        if refused := [name for name in named if name in settled]:
            raise EditRefused(f"{', '.join(refused)} cannot be edited: answer, or steer the run by `baton`")
        if "phase" in named and after.get("phase") != WAITING:
            try:
                checked_phase(after.get("phase"))  # also where no edge looks at it, and where it is taken away
            except ValueError as error:
                raise EditRefused(str(error)) from None
        if not named or config["configurable"].get("checkpoint_ns"):
            return
        thread_id, services = thread_of(config), served()
        edit = Entry(
            at=services.clock.now(),
            kind="steered",
            approval="",
            action="edit",
            args={"changed": [*named]},
            by=HUMAN,
            door=SERVER,
        )
        async with Audit(self.record, thread_id, services.seals).sealing(edit) as rows:
            await self.record.abatch(rows)


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[str]]:
    """The checkpointer, for `checkpointer.path`."""
    settings = await asyncio.to_thread(read_settings)
    services = await asyncio.to_thread(served)
    async with open_database(settings.db, settings.synchronous, ServedSaver) as database:
        cast(ServedSaver, database.checkpointer).record = database.store
        with guard.leasing(database.leases(services.clock)):
            yield database.checkpointer


@asynccontextmanager
async def store() -> AsyncIterator[BaseStore]:
    """The Store, for `store.path`."""
    settings = await asyncio.to_thread(read_settings)
    async with open_database(settings.db, settings.synchronous) as database:
        yield database.store


MOST_REGISTERED = 1000
"""Threads that are looked at when the server starts, newest first, and of those that ask in each look."""
AGAIN_S = 60.0
"""Seconds before a run that stands where it stood is thought about again: what failed or was none of ours still is."""

_log = logging.getLogger("baton")


@asynccontextmanager
async def recovering(open_client: Callable[[], LangGraphClient]) -> AsyncIterator[None]:
    """While inside, look after the runs of the server that the client reaches, as often as the settings say."""
    settings = await asyncio.to_thread(read_settings)
    if not settings.watch_every_s:
        yield
        return
    services = await asyncio.to_thread(served)
    async with open_database(settings.db, settings.synchronous) as database:
        runs = Runs(services, database, database.leases(services.clock))
        keeping = asyncio.create_task(ServerRecovery(runs, open_client()).keep(settings.watch_every_s))
        try:
            yield
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping


class ServerRecovery:
    """Looks after the runs of the server that `client` reaches."""

    def __init__(self, runs: Runs, client: LangGraphClient) -> None:
        self._runs = runs
        self._sup = Supervisor(runs)
        self._client = client
        self._considered: dict[str, tuple[str, float]] = {}
        """By thread: the checkpoint at which it was last considered, and when."""
        self._stood: dict[str, tuple[str, int]] = {}
        """By thread: where it stood when it was last told to go on."""
        self._shown: dict[str, str] = {}
        """By thread: the checkpoint that the server's record was last brought up to."""
        self._has_registered = False

    async def keep(self, every_s: float) -> None:
        """Look every so many seconds, until cancelled. Of several servers on one database, one looks."""
        sleep = self._runs.services.clock.sleep
        while True:
            try:
                async with self._runs.leases.hold(SERVER_LEASE, patience_s=0):
                    await Recovery(self.due, self.take_up, _complain, sleep).watch(every_s)
            except ThreadBusy:
                pass
            except Exception as error:  # noqa: BLE001 # a busy disk: the next try may fare better
                _complain("", error)
            await sleep(every_s)

    async def due(self) -> list[str]:
        """The threads that are due, wherever they were started; their deadlines are applied.

        What the server says of threads is brought up to what is true of them on the way: its own record of them is
        written every ten seconds, gone after a kill, and not touched by answers that are given elsewhere.
        """
        due = await self._sup.due(by_server=True)
        if not self._has_registered:
            await self._register()
            self._has_registered = True
        for thread_id in await self._outdated():
            await self._show(thread_id)
        return due

    async def _register(self) -> None:
        """Make known again the threads that came in by a server, newest first, and that this one has no record of."""
        for row in await self._runs.listed(MOST_REGISTERED):
            if row.door == SERVER and _is_uuid(row.thread_id) and await self._thread(row.thread_id) is None:
                await self._client.threads.create(thread_id=row.thread_id, graph_id=GRAPH, if_exists="do_nothing")
                await self._show(row.thread_id)

    async def _outdated(self) -> list[str]:
        """The threads whose record may be wrong: what they ask, by it, is not what their runs ask."""
        open_here = {row.thread_id for row in await self._runs.open_rows() if row.door == SERVER}
        asked = await self._client.threads.search(status="interrupted", limit=MOST_REGISTERED)
        return sorted({*(str(thread["thread_id"]) for thread in asked), *open_here})

    async def _show(self, thread_id: str) -> None:
        """Have the server look at a thread that stands, where its record of it is not what is true.

        Where nothing is open any more that is an empty edit; where a human is asked, the question is put again, as a
        run that changes nothing: only so the server takes it into its record.
        """
        try:
            position = await self._runs.position(thread_id)
        except (ThreadUnknown, ThreadDamaged):
            return
        if self._shown.get(thread_id) == position.checkpoint or await self._runs.is_held(thread_id):
            return
        thread = await self._thread(thread_id)
        if thread is None or thread["status"] == "busy":
            return
        self._shown[thread_id] = position.checkpoint
        asked = {str(question) for one in position.asked for question in _questions(one)}
        recorded = [one.get("value") for ones in (thread.get("interrupts") or {}).values() for one in ones]
        shown = {str(question) for one in recorded for question in _questions(one)}
        is_asked = position.asked and asked != shown
        with suppress(ConflictError):  # the server is at work on it by now
            if position.has_ended and (thread["status"] == "interrupted" or recorded or not thread.get("values")):
                await self._client.threads.update_state(thread_id, None)
            elif is_asked and (await self._sup.view(thread_id)).waits_for in ("answers", "release"):
                await self._client.runs.create(
                    thread_id,
                    GRAPH,
                    command={"resume": LOOK_AT_SIGNALS},
                    multitask_strategy="reject",
                    durability="sync",
                )

    async def take_up(self, thread_id: str) -> None:
        """Go on with a run, if it is the server's and nobody has stopped it there."""
        position, now = await self._runs.position(thread_id), self._runs.services.clock.now()
        before, at = self._considered.get(thread_id, ("", 0.0))
        if not _is_uuid(thread_id) or (before == position.checkpoint and now < at + AGAIN_S):
            return
        self._considered[thread_id] = (position.checkpoint, now)
        run = await self._sup.view(thread_id)
        if not is_due(run) or not await self._is_ours(run):
            return
        await self._sup.check_team(thread_id)
        progress = (
            position.checkpoint,
            sum(event.kind != "phase_entered" for event in await self._runs.events(thread_id)),
        )
        if self._stood.get(thread_id) == progress:
            self._considered[thread_id] = (position.checkpoint, inf)
            _log.warning("%s: going on has changed nothing; it is left alone until somebody changes it", thread_id)
            return
        self._stood[thread_id] = progress
        if was_ended_from_outside(await self._runs.graph.aget_state(config(thread_id))):
            async with self._runs.leases.hold(thread_id, patience_s=0):
                await self._runs.enter_again(thread_id)
        command: Command | None = {"resume": LOOK_AT_SIGNALS} if position.asked else None
        with suppress(ConflictError):  # the server is at work on it by now
            await self._client.runs.create(
                thread_id, GRAPH, command=command, multitask_strategy="reject", durability="sync"
            )
            _log.info("going on with thread %s", thread_id)

    async def _is_ours(self, run: Run) -> bool:
        """Whether the server knows the thread, or did before it was killed, and is to go on with it."""
        thread = await self._thread(run.thread_id)
        if thread is None:
            doors = {row.thread_id: row.door for row in await self._runs.open_rows()}
            if doors.get(run.thread_id) != SERVER:
                return False
            await self._client.threads.create(thread_id=run.thread_id, graph_id=GRAPH, if_exists="do_nothing")
            return True
        if thread["status"] == "busy":
            return False
        return run.waits_for != "process" or not await self._was_cancelled(run.thread_id)

    async def _thread(self, thread_id: str) -> Thread | None:
        try:
            return await self._client.threads.get(thread_id)
        except NotFoundError:
            return None

    async def _was_cancelled(self, thread_id: str) -> bool:
        """Whether somebody stopped the thread's last run through the server."""
        last = await self._client.runs.list(thread_id, limit=1)
        return bool(last) and last[0]["status"] == "interrupted"


def _questions(asked: object) -> list[object]:
    """The ids of the questions in what was raised as an interrupt; what it says of who drives, where it has none."""
    if not isinstance(asked, Mapping):
        return [asked]
    return [one.get("id") for one in asked.get("approvals") or []] or [asked.get("control")]


def _is_uuid(thread_id: str) -> bool:
    """Whether it can name a thread of LangGraph's server."""
    try:
        return str(UUID(thread_id)) == thread_id
    except ValueError:
        return False


def _complain(thread_id: str, error: Exception) -> None:
    _log.warning("%s", ": ".join(filter(None, [thread_id, " ".join(str(error).split())])))


@asynccontextmanager
async def _while_up(app: Starlette) -> AsyncIterator[None]:
    settings, services = await asyncio.to_thread(read_settings), await asyncio.to_thread(served)
    async with open_database(settings.db, settings.synchronous) as database:
        runs = Runs(services, database, database.leases(services.clock))
        uploads = await asyncio.to_thread(uploads_of, settings, settings.db)
        room = opened_room(app, runs, uploads, settings.files)
        async with room, recovering(get_client):  # without a URL: the server that runs this
            yield


app = Starlette(
    routes=[*CARD_ROUTES, *ROUTES],
    exception_handlers=HANDLERS,
    lifespan=_while_up,
    middleware=[Middleware(Gate)],
)
