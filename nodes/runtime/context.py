"""One run as a node sees it: the thread, its policy, its journal, its sources."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, PutOp

from nodes.runtime.audit import Audit
from nodes.runtime.folder import run_folder
from nodes.runtime.journal import Journal, Json
from nodes.runtime.services import Services
from nodes.tools.sources import Sources, open_sources
from state.event import EventKind
from state.phase import Phase
from state.policy import Policy
from state.supervisor import SupervisorState, Terms

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

    async def emit(
        self,
        kind: EventKind,
        *,
        task_id: str | None = None,
        agent: str | None = None,
        also: Sequence[PutOp] = (),
        **data: object,
    ) -> None:
        """Record an event of this phase, together with the rows in `also`."""
        await self.journal.emit(kind, phase=self.phase, task_id=task_id, agent=agent, data=_plain(data), also=also)

    async def enter(self) -> None:
        """Say that the phase was entered."""
        row = self.journal.row("run", {"phase": self.phase.value, "at": self.services.clock.now()})
        await self.emit("phase_entered", also=[row])

    async def sources(self) -> Sources | None:
        """The user's files, indexed once per process; None if none were given."""
        if not self.paths:
            return None
        return await asyncio.to_thread(open_sources, self.paths, max_file_bytes=self.services.max_source_bytes)

    @cached_property
    def audit(self) -> Audit:
        """The log of what humans were asked and what was decided."""
        return Audit(self.store, self.thread_id)

    @cached_property
    def folder(self) -> Path:
        """Where this run's artifacts go."""
        return run_folder(self.services.artifacts, self.thread_id)


def open_context(services: Services, state: SupervisorState, runtime: Runtime[None], phase: Phase) -> RunContext:
    """The context of the node that is running now."""
    terms = Terms.model_validate(state.get("terms") or {})
    config: RunnableConfig = get_config()
    configurable = config.get("configurable", {})
    thread_id = str(configurable.get("thread_id") or DEFAULT_THREAD)
    store = runtime.store or services.fallback_store
    journal = Journal(store, thread_id, services.clock)
    journal.writer = runtime.stream_writer
    return RunContext(
        services=services,
        store=store,
        thread_id=thread_id,
        scope=str(configurable.get("checkpoint_ns", "")).rpartition(":")[2],
        policy=terms.policy,
        phase=phase,
        paths=terms.sources,
        journal=journal,
    )


def _plain(data: dict[str, object]) -> Json:
    return {key: value for key, value in data.items() if value is not None}  # type: ignore[misc]
