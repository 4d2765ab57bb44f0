"""The floor: what everybody who works in one executing superstep shares."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from nodes.policy.plans import choose_mode, parse_plan
from nodes.policy.readiness import is_busy
from nodes.policy.takeover import dropped, handed_back
from nodes.runtime.approvals import Questions, questions_for
from nodes.runtime.budget import Meter
from nodes.runtime.context import RunContext
from nodes.runtime.ledger import Effects, InnerEffects
from nodes.runtime.listener import Listener
from nodes.runtime.nesting import SideEffects, Slots
from nodes.runtime.signals import Steering
from state.approval import POLICY, Decision
from state.record import FINAL, Outcome, TaskRecord
from state.run import Phase
from state.signal import Control
from state.supervisor import SupervisorState, Terms, Update


@dataclass
class Floor:
    """The run, what signals did to it, what it may use, and its tasks as they are now."""

    run: RunContext
    steering: Steering
    meter: Meter
    listener: Listener
    effects: SideEffects
    questions: Questions
    slots: Slots
    """Room for agents at work."""
    saver: BaseCheckpointSaver[str]
    """For graphs on threads of their own; in memory only where the run has no checkpointer and cannot wait anyway."""
    records: dict[str, TaskRecord] = field(default_factory=dict)
    ended: dict[str, "asyncio.Future[Outcome]"] = field(default_factory=dict)
    """The end of each task of this superstep."""
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the run gives up or is cancelled: calls in flight end."""
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing can run any more until a human answers."""

    waits: dict[str, str] = field(default_factory=dict)
    """Tasks whose agents do nothing but wait for another task, and that task."""

    def note_quiet(self) -> None:
        """Say so when nothing is at work and nothing can start: what is parked then leaves the floor."""
        waiting = {task for task, other in self.waits.items() if self.records[other].status not in FINAL}
        if not is_busy(self.records.values(), waiting):
            self.quiet.set()
            self.steering.changed.set()


def open_floor(run: RunContext) -> Floor:
    """A floor; its steering and meter are still to be loaded."""
    steering, meter = open_steering(run), Meter(run)
    records: dict[str, TaskRecord] = {}
    questions = questions_for(run)
    listener = Listener(run, steering, meter, questions, records)
    effects = InnerEffects(run.outer) if run.outer else Effects(run.store, run.thread_id, run.services.clock)
    slots = Slots(run.policy.max_parallel, run.outer.slots if run.outer else None)
    saver = run.saver or InMemorySaver()
    return Floor(run, steering, meter, listener, effects, questions, slots, saver, records=records)


def open_steering(run: RunContext) -> Steering:
    """The steering of a run, still to be loaded; that of a nested one follows the outer one's."""
    steering = Steering(run.store, run.thread_id)
    if run.outer:
        steering.follow(run.outer.steering, run.outer.asks)
    return steering


async def forget(
    run: RunContext, steering: Steering, before: Sequence[TaskRecord], after: Sequence[TaskRecord]
) -> None:
    """Take what no longer fits off the board, and recruits that are gone out of the run."""
    void = dropped(before, after)
    rows = [run.journal.row(f"task:{record.id}", {}) for record in void]
    await run.journal.wipe(*(f"{record.id}/" for record in void))
    gone = {record.id for record in before} - {record.id for record in after}
    if rows := [*rows, *steering.forget_recruits(gone)]:
        await run.store.abatch(rows)


async def control_now(run: RunContext) -> Control:
    """Who is driving, after the signals that wait were applied: for nodes that work between two supersteps of tasks."""
    floor = open_floor(run)
    await asyncio.gather(floor.steering.load({}), floor.questions.load())
    await floor.listener.look()
    return floor.steering.control


AfterPlan = Literal["decompose", "route", "assemble"]


def planned(state: SupervisorState, decision: Decision) -> tuple[Update, AfterPlan]:
    """What follows from what was decided about the plan, and where the run goes on."""
    update: Update = {"unread": "", "asked": None}
    if decision.type == "reject" and decision.by == POLICY:
        error = f"the plan was not carried out: {decision.message}"
        return {**update, "error": error, "phase": Phase.assembling.value}, "assemble"
    if decision.type == "reject":
        said = f"The plan was rejected: {decision.message or 'make a better one'}"
        objections = [*state.get("objections", []), said]
        return {**update, "objections": objections, "draft": None, "phase": Phase.decomposing.value}, "decompose"
    update["phase"] = Phase.routing.value
    if decision.type == "edit":
        plan = parse_plan(decision.args)
        policy = Terms.model_validate(state["terms"]).policy
        before = [TaskRecord.model_validate(task) for task in state["tasks"]]
        records = handed_back(before, {}, plan, at=0.0, iteration=state.get("iteration", 0))
        update["mode"] = choose_mode(plan, policy).model_dump(mode="json")
        update["draft"] = plan.model_dump(mode="json")
        update["tasks"] = [record.model_dump(mode="json") for record in records]
    return update, "route"
