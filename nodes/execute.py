"""Execute: the dispatcher at work, until everything has ended or what is left waits for a human."""

import asyncio
from collections.abc import Sequence
from typing import cast

from langgraph.runtime import Runtime
from pydantic import JsonValue

from nodes.agents.worker.run import WorkerGraph
from nodes.execution.attempts import AttemptRunner
from nodes.execution.dispatcher import Dispatcher
from nodes.execution.task import TaskRunner, show_waiting
from nodes.policy.approvals import NOBODY_ANSWERS, objection_to, open_questions_of, to_replan
from nodes.policy.gates import is_escalated
from nodes.policy.growth import followed
from nodes.policy.judging import opinion_in
from nodes.policy.phases import is_executed
from nodes.policy.quality import fingerprint, is_to_review
from nodes.policy.readiness import goes_on
from nodes.runtime.context import Node, RunContext, is_by_model, open_context
from nodes.runtime.execution import ExecutionContext, catch_up, resumed_execution
from nodes.runtime.recorded import Recorded
from nodes.runtime.services import Services
from nodes.runtime.story import live
from state.conversation import Turn
from state.record import TaskRecord
from state.run import Mode, Phase
from state.supervisor import SupervisorState, Update

UNASKED = f"{NOBODY_ANSWERS}: the policy's `on_timeout` has decided every question at once"


def make_execute(services: Services, worker: WorkerGraph) -> Node:
    """The node; `worker` is held in its closure, so that `get_graph(xray=True)` draws it inside."""

    async def execute(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Run tasks; a superstep ends when nothing more can run."""
        run = open_context(services, state, runtime, Phase.executing)
        recorded = Recorded(run.store, run.thread_id, run.scope)
        execution, began, _ = await asyncio.gather(
            resumed_execution(run, state, recorded), recorded.load(began_with(state)), run.journal.load()
        )
        await run.enter([began])
        changed = await catch_up(execution, state)
        if execution.signals.control.driving == "running" and "phase" in changed:
            return changed  # who is stopped still collects what had finished before a crash
        if run.outer:
            await show_waiting(execution)
        else:
            run.journal.writer = live(state, execution.records, run.journal.writer)
        mode = Mode.model_validate(state["mode"])
        tasks = TaskRunner(
            execution,
            AttemptRunner(execution, worker, mode.name),
            query=state["goal"],
            mode=mode,
            iteration=state.get("iteration", 0),
            sources=await _files(run),
            earlier=[Turn.model_validate(turn) for turn in state.get("earlier") or []],
            notes=state.get("notes", []),
        )
        began = run.services.clock.now()
        worked_s = state.get("worked_s", 0.0)
        dispatcher = Dispatcher(execution, tasks, state.get("replanned", []), worked_s=worked_s)
        try:
            await dispatcher.work()
            await execution.approvals.wait_notified(
                open_questions_of(execution.records.values(), execution.signals.decisions)
            )
        finally:
            execution.approvals.cancel_notifications()
            await run.journal.flush()  # also where it is cancelled: nothing is to be written after the end
        return await _after(execution, dispatcher.abort, state, worked_s + run.services.clock.now() - began)

    return execute


BEGINNING = ("story", "iteration", "tasks", "handed_back", "replanned", "draft")


def began_with(state: SupervisorState) -> str:
    """Tells what a superstep begins from, from what any other does: a run, its round, and how its tasks stand."""
    return fingerprint([{name: cast(JsonValue, state.get(name)) for name in BEGINNING}])


async def _files(run: RunContext) -> list[str]:
    sources = await run.sources()
    return await asyncio.to_thread(sources.describe) if sources else []


async def _after(execution: ExecutionContext, abort: str | None, state: SupervisorState, worked_s: float) -> Update:
    """What has come of the superstep; the edges lead from there to whoever steers it, is asked, or comes next."""
    update: Update = {"worked_s": worked_s, **await catch_up(execution, state)}
    driving, records = execution.signals.control.driving, list(execution.records.values())
    warnings = list(state.get("warnings", []))
    if not execution.run.can_wait and execution.signals.decisions and UNASKED not in warnings:
        update["warnings"] = warnings = [*warnings, UNASKED]
    if driving == "cancelled":
        return {**update, "phase": Phase.assembling.value}
    if execution.budget.exhausted and any(map(is_escalated, records)):  # a human decides about what the limit cut short
        update["warnings"] = [*warnings, execution.budget.exhausted]
    elif execution.budget.exhausted:
        abort = execution.budget.exhausted
    if error := abort:
        is_at_limit = execution.budget.exhausted is not None
        return {**update, "error": error, "at_limit": is_at_limit, "phase": Phase.assembling.value}
    if driving != "running" or "phase" in update:
        return update
    if denied := to_replan(records, execution.run.policy, state.get("replanned", [])):
        return {**update, **_replanned(denied, state)}
    if is_executed(records):
        return {**update, **_after_the_last(records, execution.run, {**state, **update})}  # type: ignore[typeddict-item]
    if not goes_on(records, execution.signals.decisions) and all(record.status != "parked" for record in records):
        raise RuntimeError("tasks are left that can neither run nor end")
    return update


def _after_the_last(records: Sequence[TaskRecord], run: RunContext, state: SupervisorState) -> Update:
    """Review; or the end, where nothing is left to review, or review has let these very tasks pass."""
    tasks, iteration = fingerprint(state["tasks"]), state.get("iteration", 0)
    before = Mode.model_validate(state["mode"])
    mode = followed(before, records, run.policy.max_iterations)
    update: Update = {"mode": mode.model_dump(mode="json")} if mode != before else {}
    has_reviewer = bool(run.policy.reviewer)
    is_plain = (iteration == 0 and opinion_in(records, iteration) is None) and not any(
        is_to_review(one, by_model=has_reviewer or is_by_model(one, run)) for one in records
    )
    if not mode.review_rounds or is_plain or tasks == state.get("accepted", ""):
        return {**update, "accepted": tasks, "phase": Phase.assembling.value}
    return {**update, "phase": Phase.reviewing.value}


def _replanned(denied: Sequence[TaskRecord], state: SupervisorState) -> Update:
    """The state in which another plan is made, because a human said no."""
    return {
        "objections": [*state.get("objections", []), *(objection_to(record) for record in denied)],
        "replanned": [*state.get("replanned", []), *(record.id for record in denied)],
        "draft": None,
        "phase": Phase.decomposing.value,
    }
