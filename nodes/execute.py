"""Execute: the dispatcher at work, until everything has ended or what is left waits for a human."""

import asyncio
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from nodes.agents.attempts import Attempts, Worker
from nodes.agents.dispatch import Dispatcher
from nodes.runtime.context import RunContext, open_context
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from state.approval import Decision
from state.phase import Phase
from state.record import TaskRecord
from state.supervisor import SupervisorState, Update

Goto = Command[Literal["approve", "review", "assemble"]]


def make_execute(services: Services, worker: Worker) -> Node:
    """The node; `worker` is held in its closure, so that `get_graph(xray=True)` draws it inside."""

    async def execute(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Run tasks; a superstep ends when nothing more can run."""
        run = open_context(services, state, runtime, Phase.executing)
        dispatcher = Dispatcher(
            Attempts(run, worker),
            [TaskRecord.model_validate(task) for task in state["tasks"]],
            query=state["goal"],
            decisions={key: Decision.model_validate(value) for key, value in (state.get("decisions") or {}).items()},
            iteration=state.get("iteration", 0),
            sources=await _files(run),
        )
        return _after(await dispatcher.work(), dispatcher.abort)

    return execute


async def _files(run: RunContext) -> list[str]:
    sources = await run.sources()
    return await asyncio.to_thread(sources.describe) if sources else []


def _after(records: list[TaskRecord], abort: str | None) -> Goto:
    """Where the run goes: to the human who is asked, to what there is after giving up, or on to review."""
    update: Update = {"tasks": [record.model_dump(mode="json") for record in records]}
    if abort:
        return Command(update={**update, "error": abort, "phase": Phase.assembling}, goto="assemble")
    if any(record.status == "parked" for record in records):
        return Command(update=update, goto="approve")
    return Command(update={**update, "phase": Phase.reviewing}, goto="review")
