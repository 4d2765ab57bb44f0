"""Execute: the dispatcher at work, until everything has ended or what is left waits for a human."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from nodes.execution.attempts import Attempts, Worker, Working
from nodes.execution.dispatcher import Dispatcher
from nodes.execution.task import Assignment, show_waiting
from nodes.policy.approvals import asked_by, objection_to, to_replan
from nodes.policy.gates import is_escalated
from nodes.policy.phases import is_executed, is_routed
from nodes.policy.plans import choose_mode, parse_plan
from nodes.policy.quality import fingerprint
from nodes.policy.readiness import goes_on
from nodes.policy.takeover import handed_back
from nodes.runtime.approvals import plan_in_question
from nodes.runtime.context import Node, RunContext, open_context
from nodes.runtime.execution import Floor, forget, open_floor, planned
from nodes.runtime.services import Services
from state.approval import Decision
from state.record import TaskRecord, Usage
from state.run import Mode, Phase
from state.signal import phase_of
from state.supervisor import SupervisorState, Update

Goto = Command[Literal["approve", "control", "decompose", "route", "execute", "review", "assemble"]]

HAND_BACK = "hand-back"
"""The door of an approval that a human gave by handing back."""


def make_execute(services: Services, worker: Worker) -> Node:
    """The node; `worker` is held in its closure, so that `get_graph(xray=True)` draws it inside."""

    async def execute(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Run tasks; a superstep ends when nothing more can run."""
        run = open_context(services, state, runtime, Phase.executing)
        floor = open_floor(run)
        await asyncio.gather(
            run.enter(),
            floor.steering.load(state.get("decisions") or {}),
            floor.questions.load(),
            floor.meter.load(Usage.model_validate(state.get("spent") or {})),
        )
        if changed := await _looked(floor, state):
            return changed
        if run.outer:
            await show_waiting(floor)
        assignment = Assignment(
            floor,
            Attempts(floor, Working(worker, Mode.model_validate(state["mode"]).name)),
            query=state["goal"],
            iteration=state.get("iteration", 0),
            sources=await _files(run),
            notes=state.get("notes", []),
        )
        began = run.services.clock.now()
        worked_s = state.get("worked_s", 0.0)
        dispatcher = Dispatcher(floor, assignment, state.get("replanned", []), worked_s=worked_s)
        try:
            await dispatcher.work()
            await floor.questions.announced(asked_by(floor.records.values(), floor.steering.decisions))
        finally:
            floor.questions.hang_up()
        return _after(floor, dispatcher.abort, state, worked_s + run.services.clock.now() - began)

    return execute


async def _files(run: RunContext) -> list[str]:
    sources = await run.sources()
    return await asyncio.to_thread(sources.describe) if sources else []


async def _looked(floor: Floor, state: SupervisorState) -> Goto | None:
    """Take up the tasks and the signals that wait; where the run goes instead, if a human has changed what is to do."""
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    floor.records.update((record.id, record) for record in records)
    floor.listener.on_recruit = lambda record: floor.records.update({record.id: record})
    floor.listener.plan = plan = plan_in_question(state)
    await floor.listener.look()
    for record in floor.steering.recruits:
        floor.records.setdefault(record.id, record)
    if len(floor.steering.hand_backs) > state.get("handed_back", 0):
        return await _taken_back(floor, state)
    if floor.steering.control.driving != "running" or (plan is None and is_routed(records)):
        return None
    if plan and plan.id in floor.steering.decisions:
        update, place = planned(state, floor.steering.decisions[plan.id])
        return Command(update=update, goto=place)
    return Command(update={"phase": Phase.decomposing.value}, goto="decompose")


async def _taken_back(floor: Floor, state: SupervisorState) -> Goto:
    """The run with what humans have handed back: their results, their plan, and what that makes stale."""
    at, taken = floor.run.services.clock.now(), floor.steering.hand_backs[state.get("handed_back", 0) :]
    records, draft, plan = list(floor.records.values()), state.get("draft"), plan_in_question(state)
    for signal in taken:
        before = records
        round_ = state.get("iteration", 0)
        records = handed_back(before, signal.results, signal.plan, at=at, iteration=round_, by=signal.by)
        draft = signal.plan.model_dump(mode="json") if signal.plan else draft
        await forget(floor.run, floor.steering, before, records)
    update: Update = {
        "tasks": [record.model_dump(mode="json") for record in records],
        "draft": draft,
        "mode": choose_mode(parse_plan(draft), floor.run.policy).model_dump(mode="json"),
        "handed_back": len(floor.steering.hand_backs),
    }
    if not any(signal.plan for signal in taken) and (plan or not is_routed(records)):
        if plan and plan.id not in floor.steering.decisions:  # who works by a plan has accepted it
            said = Decision(type="approve", by=taken[-1].by, message="handed back", door=HAND_BACK)
            await floor.questions.answer(plan, said, floor.steering.decide)
        return Command(update={**update, "phase": Phase.executing.value}, goto="execute")
    return Command(update={**update, "asked": None, "phase": Phase.routing.value}, goto="route")


def _after(floor: Floor, abort: str | None, state: SupervisorState, worked_s: float) -> Goto:
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
        update["warnings"] = [*state.get("warnings", []), floor.meter.exhausted]
    elif floor.meter.exhausted:
        abort = floor.meter.exhausted
    if error := abort:
        return Command(update={**update, "error": error, "phase": Phase.assembling.value}, goto="assemble")
    if driving != "running":
        return Command(update={**update, "phase": phase_of(driving).value}, goto="control")
    if denied := to_replan(records, floor.run.policy, state.get("replanned", [])):
        return Command(update={**update, **_replanned(denied, state)}, goto="decompose")
    if goes_on(records, floor.steering.decisions):
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
