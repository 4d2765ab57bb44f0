"""Execute: the dispatcher at work, until everything has ended or what is left waits for a human."""

import asyncio
from contextlib import nullcontext
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from nodes.agents.assignment import Assignment
from nodes.agents.attempts import Attempts
from nodes.agents.dispatch import Dispatcher
from nodes.agents.escalation import is_escalated
from nodes.agents.working import Worker, Working
from nodes.policy.phases import is_executed
from nodes.policy.readiness import goes_on
from nodes.runtime.context import RunContext, open_context
from nodes.runtime.floor import Floor, open_floor
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from state.control import phase_of
from state.mode import Mode
from state.phase import Phase
from state.record import TaskRecord
from state.supervisor import SupervisorState, Update
from state.usage import Usage

Goto = Command[Literal["approve", "control", "execute", "review", "assemble"]]


def make_execute(services: Services, worker: Worker) -> Node:
    """The node; `worker` is held in its closure, so that `get_graph(xray=True)` draws it inside."""

    async def execute(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Run tasks; a superstep ends when nothing more can run."""
        run = open_context(services, state, runtime, Phase.executing)
        await run.enter()
        floor = open_floor(run)
        await floor.steering.load(state.get("decisions") or {})
        await floor.meter.load(Usage.model_validate(state.get("spent") or {}))
        records = (TaskRecord.model_validate(task) for task in state["tasks"])
        floor.records.update((record.id, record) for record in records)
        assignment = Assignment(
            floor,
            Attempts(floor, Working(worker, Mode.model_validate(state["mode"]).name)),
            query=state["goal"],
            iteration=state.get("iteration", 0),
            sources=await _files(run),
            notes=state.get("notes", []),
        )
        began, worked_s = services.clock.now(), state.get("worked_s", 0.0)
        dispatcher = Dispatcher(floor, assignment, worked_s=worked_s)
        async with nullcontext() if run.outer else services.guard(run.thread_id):  # the outer lease covers a nested one
            await dispatcher.work()
        took_s = worked_s + services.clock.now() - began
        return _after(floor, dispatcher.abort, state.get("warnings", []), took_s)

    return execute


async def _files(run: RunContext) -> list[str]:
    sources = await run.sources()
    return await asyncio.to_thread(sources.describe) if sources else []


def _after(floor: Floor, abort: str | None, warnings: list[str], worked_s: float) -> Goto:
    """Where the run goes: to an end, to whoever steers it, to the human who is asked, or on to review."""
    records = list(floor.records.values())
    update: Update = {
        "worked_s": worked_s,
        "tasks": [record.model_dump(mode="json") for record in records],
        "decisions": {key: decision.model_dump(mode="json") for key, decision in floor.steering.decisions.items()},
    }
    driving = floor.steering.control.driving
    if driving == "cancelled":
        return Command(update={**update, "phase": Phase.cancelled.value}, goto="assemble")
    if floor.meter.exhausted and any(map(is_escalated, records)):  # a human decides about what the limit cut short
        update["warnings"] = [*warnings, floor.meter.exhausted]
    elif floor.meter.exhausted:
        abort = floor.meter.exhausted
    if error := abort:
        return Command(update={**update, "error": error, "phase": Phase.assembling.value}, goto="assemble")
    if driving != "running":
        return Command(update={**update, "phase": phase_of(driving).value}, goto="control")
    if goes_on(records, floor.steering.decisions):
        return Command(update=update, goto="execute")
    if any(record.status == "parked" for record in records):
        return Command(update=update, goto="approve")
    if not is_executed(records):
        raise RuntimeError("tasks are left that can neither run nor end")
    return Command(update={**update, "phase": Phase.reviewing.value}, goto="review")
