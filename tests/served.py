"""A server's graph, driven node by node, and another process on the same file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig

from graph.address import address_of
from graph.builder import Graph, build_graph
from graph.composition import compose
from graph.database import Database, Over, open_database
from graph.guard import LeaseGuard
from graph.lease import STEP_S
from graph.runs import SERVER
from graph.settings import Settings
from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.errors import ThreadBusy
from tests.runs import agent, opened

THREAD = "0b0ec1b5-6a2f-4d0b-9a53-3f3a3f1c5d11"
"""LangGraph's server names its threads so."""


def config(thread_id: str = THREAD) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


@dataclass(frozen=True)
class Two:
    """A server's graph, and another process on the same file."""

    graph: Graph
    other: Supervisor
    clock: HeldClock
    database: Database
    guard: LeaseGuard

    async def nodes(self, given: Any) -> AsyncIterator[str]:
        """The nodes of a run of the server, each when it is through."""
        async for chunk in self.graph.astream(given, config(), stream_mode="updates"):
            for name in chunk.keys() & {*self.graph.nodes, "__interrupt__"}:  # not their @tasks
                yield name

    def a_step_is_late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let so much time pass that whoever stands between two steps is taken for gone, also by a server's clock."""
        self.clock.time += STEP_S + 1
        monkeypatch.setattr("graph.postgres.lease.STEP_S", 0.0)

    async def rows(self) -> list[Any]:
        """Everything that the database has of checkpoints and in the Store."""
        kept = [one async for one in self.database.checkpointer.alist(None)]
        return [sorted(map(repr, kept)), sorted(map(repr, await self.database.store.asearch((), limit=10_000)))]

    async def can_take_it(self) -> bool:
        """Whether the other process could run the thread now."""
        try:
            async with self.other._runs.leases.hold(THREAD):
                return True
        except ThreadBusy:
            return False


@asynccontextmanager
async def two(
    *team: AgentSpec, model: ScriptedModel | None = None, saver: Over | None = None, **policy: Any
) -> AsyncIterator[Two]:
    clock, guard, made, thinks = HeldClock(), LeaseGuard(), team or (agent(),), model or ScriptedModel([])
    services = replace(compose(Settings(), team=made, policy=policy, model=thinks, clock=clock), door=SERVER)
    async with open_database(address_of("runs.db"), over=saver) as database:
        graph = build_graph(services, guard=guard, checkpointer=database.checkpointer, store=database.store)
        async with opened(*made, model=thinks, clock=clock, **policy) as other:
            with guard.leasing(database.leases(clock)):
                if saver:
                    cast(Any, database.checkpointer).record = database.store
                yield Two(graph, other, clock, database, guard)
