"""One run as a node sees it: the thread, its policy, its journal, its folder, its sources."""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, Protocol, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, PutOp

from nodes.runtime.audit import Audit, decided
from nodes.runtime.journal import Journal
from nodes.runtime.nesting import NestedJournal, OuterRun
from nodes.runtime.observing import Place
from nodes.runtime.services import Services
from nodes.tools.pages import Web
from nodes.tools.snapshots import FOLDER as PAGES
from nodes.tools.sources import Sources, open_sources
from nodes.tools.storage import Location
from nodes.tools.web import Outside
from state.channels import RunState, terms_of
from state.event import EventKind
from state.policy import Policy
from state.record import TaskRecord
from state.run import Phase
from state.supervisor import SupervisorState
from state.text import Json

BY_HAND = "|work:"
"""Stands in LangGraph's name for a step of a graph that code of an agent runs, below the @task of that agent's task."""
DEFAULT_THREAD = "unsaved"
"""The thread of a graph that runs without a checkpointer: nothing to resume, nothing to tell apart."""


@dataclass
class RunContext:
    """What the nodes of one superstep share. Made anew in each node; nothing in it is checkpointed."""

    services: Services
    store: BaseStore
    thread_id: str
    scope: str
    """Stable name of the superstep: the same after a crash, another one in the next round or on another branch."""
    policy: Policy
    phase: Phase
    paths: list[str]
    journal: Journal
    saver: BaseCheckpointSaver[str] | None = None
    """The run's checkpointer, for graphs that run on threads of their own below it."""
    outer: OuterRun | None = None
    """The supervisor that this one is an agent of."""
    can_wait: bool = True
    """Whether a question can be answered later: without a checkpointer, or a thread, the run is gone with its end."""
    started_at: float = 0.0
    """When the run began, seconds since the epoch."""
    by_hand: bool = False
    """Whether code of an agent runs it: it has rows of its own, and only that agent knows it."""

    async def emit(
        self,
        kind: EventKind,
        *,
        task_id: str | None = None,
        agent: str | None = None,
        path: Sequence[str] | None = None,
        also: Sequence[PutOp] = (),
        **data: object,
    ) -> None:
        """Record an event of this phase, together with the rows in `also`."""
        await self.journal.emit(
            kind, phase=self.phase, task_id=task_id, agent=agent, path=path, data=_plain(data), also=also
        )

    async def enter(self, also: Sequence[PutOp] = ()) -> None:
        """Say that the phase was entered, together with the rows in `also`."""
        row = self.journal.row("run", {"phase": self.phase.value, "at": self.services.clock.now()})
        await self.emit("phase_entered", also=[*also, row])

    async def sources(self) -> Sources | None:
        """The user's files and the pages that were fetched, indexed once per process; None if there are none."""
        has_pages = await self.outside.has_pages(self.folder)
        paths = [*self.paths, *([str(self.folder / PAGES)] if has_pages else [])]
        if not paths:
            return None
        return await asyncio.to_thread(open_sources, paths, max_file_bytes=self.services.max_source_bytes)

    @cached_property
    def outside(self) -> Outside:
        """The way to the web."""
        services = self.services
        return Outside(Web(is_open=services.fetches_inside), services.search, services.clock.now)

    @cached_property
    def audit(self) -> Audit:
        """The log of what humans were asked and what was decided."""
        return Audit(self.store, self.thread_id, self.services.seals)

    async def decided(self, state: RunState) -> dict[str, Json]:
        """The answers that count. Without a Store the state alone has them, which nobody forges."""
        on_record = await decided(self.store, self.thread_id, state, self.services.seals)
        is_kept = self.store is not self.services.fallback_store
        return on_record if is_kept else {**(state.get("decisions") or {}), **on_record}

    @cached_property
    def folder(self) -> Location:
        """Where this run's artifacts go."""
        if self.outer:
            return self.outer.folder
        return run_folder(self.services.artifacts, self.thread_id)

    def place(self, task_id: str = "", agent: str = "supervisor", label: str = "", segment: str = "") -> Place:
        """Where something happens in this run, for whoever looks on."""
        return Place(self.thread_id, self.started_at, label, task_id, agent, segment)

    @property
    def depth_limit(self) -> int:
        """How deep agents may delegate or nest: the policy's limit, and what an outer supervisor has left."""
        own = self.policy.max_delegation_depth
        return min(own, self.outer.depth_limit) if self.outer else own


def open_context(services: Services, state: SupervisorState, runtime: Runtime[None], phase: Phase) -> RunContext:
    """The context of the node that is running now.

    A graph that code of an agent runs gets the thread and the context of that agent's run from LangGraph, and is to
    touch neither.
    """
    terms = terms_of(state)
    config: RunnableConfig = get_config()
    configurable = config.get("configurable", {})
    above, _, step = str(configurable.get("checkpoint_ns", "")).rpartition("|")
    by_hand = BY_HAND in above
    thread_id = f"{thread_of(config)}/{above}" if by_hand else thread_of(config)
    store = runtime.store or services.fallback_store
    given = cast(object, runtime.context)
    outer = given if isinstance(given, OuterRun) and not by_hand else None
    if outer or by_hand:
        services = services.below(
            *(outer.journal.clock, outer.servers) if outer else (services.clock, services.servers)
        )
    journal = NestedJournal(outer, thread_id) if outer else Journal(store, thread_id, services.clock)
    journal.writer = partial(_written_here, copy_context(), runtime.stream_writer)
    saver = configurable.get("__pregel_checkpointer")
    return RunContext(
        services=services,
        store=store,
        thread_id=thread_id,
        scope=step.rpartition(":")[2],
        policy=terms.policy,
        phase=phase,
        paths=terms.sources,
        journal=journal,
        saver=saver if isinstance(saver, BaseCheckpointSaver) else None,
        can_wait=isinstance(saver, BaseCheckpointSaver) or by_hand,
        outer=outer,
        started_at=state.get("started_at", 0.0),
        by_hand=by_hand,
    )


def _written_here(node: Context, writer: Callable[[Json], None], event: Json) -> None:
    """Stream an event as the node's own, also from within one of its steps, which LangGraph streams as a subgraph's."""
    node.copy().run(writer, event)


def thread_of(config: RunnableConfig) -> str:
    """The thread of the node that is running now."""
    return str(config.get("configurable", {}).get("thread_id") or DEFAULT_THREAD)


def _plain(data: dict[str, object]) -> Json:
    return {key: value for key, value in data.items() if value is not None}  # type: ignore[misc]


_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def run_folder(artifacts: Location, thread_id: str) -> Location:
    """The folder of a thread below `artifacts`: its name where that can be one, else one that no other thread has."""
    if _PLAIN.fullmatch(thread_id):
        return artifacts / thread_id
    mark = sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return artifacts / f"{re.sub(r'[^A-Za-z0-9_-]+', '_', thread_id)[:60]}-{mark}"


def nested_folder(folder: Location, task_id: str) -> Location:
    """The folder of a nested supervisor, by that of the outer run and the outer task."""
    return folder / "nested" / task_id


class Node(Protocol):
    """An async function of state and runtime; it returns the changed channels only: edges decide what comes next."""

    async def __call__(self, state: SupervisorState, runtime: Runtime[None]) -> Any:
        """Do the node's work."""


def is_by_model(record: TaskRecord, run: RunContext) -> bool:
    """Whether a chat model did the task, not a function."""
    name = record.outcome.agent if record.outcome else ""
    return name in run.services.team and run.services.team.agent(name).run is None
