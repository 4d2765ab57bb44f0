"""The execution context: what all agents of one executing superstep share."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from nodes.policy.plans import choose_mode, parse_plan
from nodes.policy.readiness import is_busy
from nodes.policy.takeover import dropped, handed_back
from nodes.runtime.approvals import Approvals, questions_for
from nodes.runtime.budget import Budget
from nodes.runtime.context import RunContext
from nodes.runtime.ledger import NestedLedger, SideEffectLedger
from nodes.runtime.listener import Listener
from nodes.runtime.nesting import ConcurrencyLimit, Ledger
from nodes.runtime.signals import SignalState
from state.approval import POLICY, Decision
from state.record import FINAL, Outcome, TaskRecord
from state.run import Phase
from state.signal import Control
from state.supervisor import SupervisorState, Terms, Update


@dataclass
class ExecutionContext:
    """The run, what signals did to it, what it may use, and its tasks as they are now."""

    run: RunContext
    signals: SignalState
    budget: Budget
    listener: Listener
    effects: Ledger
    approvals: Approvals
    concurrency: ConcurrencyLimit
    """Room for agents at work."""
    saver: BaseCheckpointSaver[str]
    """For graphs on threads of their own; in memory only where the run has no checkpointer and cannot wait anyway."""
    records: dict[str, TaskRecord] = field(default_factory=dict)
    outcomes: dict[str, "asyncio.Future[Outcome]"] = field(default_factory=dict)
    """The end of each task of this superstep."""
    aborted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the run gives up or is cancelled: calls in flight end."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing can run any more until a human answers."""

    awaiting: dict[str, str] = field(default_factory=dict)
    """Tasks whose agents do nothing but wait for another task, and that task."""

    def stop_if_idle(self) -> None:
        """Say so when nothing is at work and nothing can start: what is parked then goes to the `approve` node."""
        waiting = {task for task, other in self.awaiting.items() if self.records[other].status not in FINAL}
        if not is_busy(self.records.values(), waiting):
            self.idle.set()
            self.signals.changed.set()


def open_execution(run: RunContext) -> ExecutionContext:
    """An execution context; its signals and budget are still to be loaded."""
    signals, budget = open_signals(run), Budget(run)
    records: dict[str, TaskRecord] = {}
    questions = questions_for(run)
    listener = Listener(run, signals, budget, questions, records)
    effects = NestedLedger(run.outer) if run.outer else SideEffectLedger(run.store, run.thread_id, run.services.clock)
    concurrency = ConcurrencyLimit(run.policy.max_parallel, run.outer.concurrency if run.outer else None)
    saver = run.saver or InMemorySaver()
    return ExecutionContext(run, signals, budget, listener, effects, questions, concurrency, saver, records=records)


def open_signals(run: RunContext) -> SignalState:
    """The steering of a run, still to be loaded; that of a nested one follows the outer one's."""
    signals = SignalState(run.store, run.thread_id)
    if run.outer:
        signals.attach_to(run.outer.signals, run.outer.question_prefix)
    return signals


async def forget(
    run: RunContext, signals: SignalState, before: Sequence[TaskRecord], after: Sequence[TaskRecord]
) -> None:
    """Take what no longer fits off the board, and recruits that are gone out of the run."""
    void = dropped(before, after)
    rows = [run.journal.row(f"task:{record.id}", {}) for record in void]
    await run.journal.wipe(*(f"{record.id}/" for record in void))
    gone = {record.id for record in before} - {record.id for record in after}
    if rows := [*rows, *signals.forget_recruits(gone)]:
        await run.store.abatch(rows)


async def control_now(run: RunContext) -> Control:
    """Who is driving, after the signals that wait were applied: for nodes that work between two supersteps of tasks."""
    execution = open_execution(run)
    await asyncio.gather(execution.signals.load({}), execution.approvals.load())
    await execution.listener.look()
    return execution.signals.control


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
