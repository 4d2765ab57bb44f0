"""Execute: the dispatcher at work, until everything has ended or what is left waits for a human."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from nodes.agents.worker.run import WorkerGraph
from nodes.execution.attempts import AttemptRunner
from nodes.execution.dispatcher import Dispatcher
from nodes.execution.task import TaskRunner, show_waiting
from nodes.policy.approvals import objection_to, open_questions_of, to_replan
from nodes.policy.gates import is_escalated
from nodes.policy.phases import is_executed, is_routed
from nodes.policy.plans import choose_mode, parse_plan
from nodes.policy.quality import fingerprint
from nodes.policy.readiness import goes_on
from nodes.policy.takeover import handed_back
from nodes.runtime.approvals import plan_in_question
from nodes.runtime.context import Node, RunContext, open_context
from nodes.runtime.execution import ExecutionContext, forget, open_execution, planned
from nodes.runtime.services import Services
from state.approval import Decision
from state.record import TaskRecord, Usage
from state.run import Mode, Phase
from state.signal import phase_of
from state.supervisor import SupervisorState, Update

Goto = Command[Literal["approve", "control", "decompose", "route", "execute", "review", "assemble"]]

HAND_BACK = "hand-back"
"""The door of an approval that a human gave by handing back."""


def make_execute(services: Services, worker: WorkerGraph) -> Node:
    """The node; `worker` is held in its closure, so that `get_graph(xray=True)` draws it inside."""

    async def execute(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Run tasks; a superstep ends when nothing more can run."""
        run = open_context(services, state, runtime, Phase.executing)
        execution = open_execution(run)
        await asyncio.gather(
            run.enter(),
            execution.signals.load(state.get("decisions") or {}),
            execution.approvals.load(),
            execution.budget.load(Usage.model_validate(state.get("spent") or {})),
        )
        if changed := await _looked(execution, state):
            return changed
        if run.outer:
            await show_waiting(execution)
        tasks = TaskRunner(
            execution,
            AttemptRunner(execution, worker, Mode.model_validate(state["mode"]).name),
            query=state["goal"],
            iteration=state.get("iteration", 0),
            sources=await _files(run),
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
        return _after(execution, dispatcher.abort, state, worked_s + run.services.clock.now() - began)

    return execute


async def _files(run: RunContext) -> list[str]:
    sources = await run.sources()
    return await asyncio.to_thread(sources.describe) if sources else []


async def _looked(execution: ExecutionContext, state: SupervisorState) -> Goto | None:
    """Take up the tasks and the signals that wait; where the run goes instead, if a human has changed what is to do."""
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    execution.records.update((record.id, record) for record in records)
    execution.listener.on_recruit = lambda record: execution.records.update({record.id: record})
    execution.listener.plan = plan = plan_in_question(state)
    await execution.listener.look()
    for record in execution.signals.recruits:
        execution.records.setdefault(record.id, record)
    if len(execution.signals.hand_backs) > state.get("handed_back", 0):
        return await _taken_back(execution, state)
    if execution.signals.control.driving != "running" or (plan is None and is_routed(records)):
        return None
    if plan and plan.id in execution.signals.decisions:
        update, place = planned(state, execution.signals.decisions[plan.id])
        return Command(update=update, goto=place)
    return Command(update={"phase": Phase.decomposing.value}, goto="decompose")


async def _taken_back(execution: ExecutionContext, state: SupervisorState) -> Goto:
    """The run with what humans have handed back: their results, their plan, and what that makes stale."""
    at, taken = execution.run.services.clock.now(), execution.signals.hand_backs[state.get("handed_back", 0) :]
    records, draft, plan = list(execution.records.values()), state.get("draft"), plan_in_question(state)
    for signal in taken:
        before = records
        round_ = state.get("iteration", 0)
        records = handed_back(before, signal.results, signal.plan, at=at, iteration=round_, by=signal.by)
        draft = signal.plan.model_dump(mode="json") if signal.plan else draft
        await forget(execution.run, execution.signals, before, records)
    update: Update = {
        "tasks": [record.model_dump(mode="json") for record in records],
        "draft": draft,
        "mode": choose_mode(parse_plan(draft), execution.run.policy).model_dump(mode="json"),
        "handed_back": len(execution.signals.hand_backs),
    }
    if not any(signal.plan for signal in taken) and (plan or not is_routed(records)):
        if plan and plan.id not in execution.signals.decisions:  # who works by a plan has accepted it
            said = Decision(type="approve", by=taken[-1].by, message="handed back", door=HAND_BACK)
            await execution.approvals.answer(plan, said, execution.signals.decide)
        return Command(update={**update, "phase": Phase.executing.value}, goto="execute")
    return Command(update={**update, "asked": None, "phase": Phase.routing.value}, goto="route")


def _after(execution: ExecutionContext, abort: str | None, state: SupervisorState, worked_s: float) -> Goto:
    """Where the run goes: to an end, to whoever steers it, to the human who is asked, or on to review."""
    records = list(execution.records.values())
    update: Update = {
        "worked_s": worked_s,
        "tasks": [record.model_dump(mode="json") for record in records],
        "decisions": {key: decision.model_dump(mode="json") for key, decision in execution.signals.decisions.items()},
    }
    driving = execution.signals.control.driving
    if driving == "cancelled":
        return Command(update={**update, "phase": Phase.cancelled.value}, goto="assemble")
    if execution.budget.exhausted and any(map(is_escalated, records)):  # a human decides about what the limit cut short
        update["warnings"] = [*state.get("warnings", []), execution.budget.exhausted]
    elif execution.budget.exhausted:
        abort = execution.budget.exhausted
    if error := abort:
        return Command(update={**update, "error": error, "phase": Phase.assembling.value}, goto="assemble")
    if driving != "running":
        return Command(update={**update, "phase": phase_of(driving).value}, goto="control")
    if denied := to_replan(records, execution.run.policy, state.get("replanned", [])):
        return Command(update={**update, **_replanned(denied, state)}, goto="decompose")
    if goes_on(records, execution.signals.decisions):
        return Command(update=update, goto="execute")
    if any(record.status == "parked" for record in records):
        return Command(update=update, goto="approve")
    if not is_executed(records):
        raise RuntimeError("tasks are left that can neither run nor end")
    return _done(update, state.get("accepted", ""))


def _done(update: Update, accepted: str) -> Goto:
    """On to review; or on to the end, where review has let these very tasks pass and somebody had the wheel since."""
    if fingerprint(update["tasks"]) == accepted:
        return Command(update={**update, "phase": Phase.assembling.value}, goto="assemble")
    return Command(update={**update, "phase": Phase.reviewing.value}, goto="review")


def _replanned(denied: Sequence[TaskRecord], state: SupervisorState) -> Update:
    """The state in which another plan is made, because a human said no."""
    return {
        "objections": [*state.get("objections", []), *(objection_to(record) for record in denied)],
        "replanned": [*state.get("replanned", []), *(record.id for record in denied)],
        "draft": None,
        "phase": Phase.decomposing.value,
    }
