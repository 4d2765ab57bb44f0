"""The execution context that all agents of a superstep share, and `catch_up`: signals applied between supersteps."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from nodes.policy.approvals import plan_in_question
from nodes.policy.phases import is_executed, is_routed
from nodes.policy.plans import choose_mode, parse_plan
from nodes.policy.takeover import dropped, handed_back
from nodes.runtime.approvals import Approvals, questions_for
from nodes.runtime.budget import Budget
from nodes.runtime.calling import Parked
from nodes.runtime.context import RunContext
from nodes.runtime.ledger import NestedLedger, SideEffectLedger
from nodes.runtime.listener import Listener
from nodes.runtime.nesting import ConcurrencyLimit, Ledger
from nodes.runtime.recorded import Recorded
from nodes.runtime.records import Records
from nodes.runtime.signals import SignalState
from state.approval import POLICY, Decision
from state.channels import control_of, dumped, records_of, terms_of
from state.record import FINAL, Outcome, TaskRecord, Usage
from state.run import Phase
from state.supervisor import SupervisorState, Update


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
    recorded: Recorded
    records: Records = field(default_factory=Records)
    outcomes: dict[str, "asyncio.Future[Outcome]"] = field(default_factory=dict)
    """The end of each task of this superstep."""
    aborted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the run gives up or is cancelled: calls in flight end."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing can run any more until a human answers."""

    on_end: Callable[[Outcome], None] = lambda _: None
    """Told how a task ended, as soon as that is on disk."""
    awaiting: dict[str, str] = field(default_factory=dict)
    """Tasks whose agents do nothing but wait for another task, and that task."""

    put_off: set[str] = field(default_factory=set)
    """Tasks that are left to the next superstep."""

    @cached_property
    def stop(self) -> "asyncio.Task[Any]":
        """What ends when calls in flight are to end; one for all of them."""
        return asyncio.create_task(self.aborted.wait())

    async def safe_point(self) -> None:
        """Parked, where the run is paused or taken over."""
        if self.signals.is_stopping:
            raise Parked

    def stop_if_idle(self) -> None:
        """Say so when nothing is at work and nothing can start: what is parked then goes to the `approve` node."""
        waiting = {task for task, other in self.awaiting.items() if self.records[other].status not in FINAL}
        if not self.records.is_busy(waiting | self.put_off):
            self.idle.set()
            self.signals.changed.set()


def open_execution(run: RunContext, recorded: Recorded | None = None) -> ExecutionContext:
    """An execution context; its signals and budget are still to be loaded."""
    signals, budget = open_signals(run), Budget(run)
    records = Records()
    questions = questions_for(run)
    listener = Listener(run, signals, budget, questions, records)
    effects = NestedLedger(run.outer) if run.outer else SideEffectLedger(run.store, run.thread_id, run.services.clock)
    concurrency = ConcurrencyLimit(run.policy.max_parallel, run.outer.concurrency if run.outer else None)
    saver = run.saver or InMemorySaver()
    recorded = recorded or Recorded(run.store, run.thread_id, run.scope)
    return ExecutionContext(
        run, signals, budget, listener, effects, questions, concurrency, saver, recorded, records=records
    )


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


HAND_BACK = "hand-back"
"""The door of an approval that a human gave by handing back."""


async def resumed_execution(
    run: RunContext, state: SupervisorState, recorded: Recorded | None = None
) -> ExecutionContext:
    """An execution context with what the state and the Store hold: tasks, signals, questions, budget."""
    execution = open_execution(run, recorded)
    decided, *_ = await asyncio.gather(
        run.decided(state),
        execution.signals.load(),
        execution.approvals.load(),
        execution.budget.load(Usage.model_validate(state.get("spent") or {})),
    )
    execution.signals.know(decided)
    execution.signals.taken_back = state.get("handed_back", 0)
    execution.records.update((record.id, record) for record in records_of(state))
    execution.records.has_changed = False
    execution.listener.on_recruit = lambda record: execution.records.update({record.id: record})
    return execution


async def catch_up(execution: ExecutionContext, state: SupervisorState) -> Update:
    """Apply the signals that wait; the channels that have changed by them, and by what became of the tasks.

    The one place where signals change what a run does next: `control` says who drives it from now on, `phase` that
    something else is to be done now. A run that has given up (`error`) can only be cancelled.
    """
    execution.listener.plan = plan_in_question(state)
    execution.listener.gave_up = execution.listener.gave_up or state.get("error") or ""
    await execution.listener.look()
    signals = execution.signals
    for record in signals.recruits:
        execution.records.setdefault(record.id, record)
    update: Update = {}
    if execution.records.has_changed:
        update["tasks"] = dumped(execution.records.values())
    if signals.control != control_of(state):
        update["control"] = signals.control.model_dump(mode="json")
    if not state.get("error"):
        update.update(await _turned(execution, {**state, **update}))  # type: ignore[typeddict-item]
    decisions = {key: decision.model_dump(mode="json") for key, decision in signals.decisions.items()}
    if decisions != (state.get("decisions") or {}):
        update["decisions"] = decisions
    return update


def is_turned(update: Update) -> bool:
    """Whether what `catch_up` found leads away from what was being done."""
    return "phase" in update or update.get("control", {}).get("driving", "running") != "running"


async def _turned(execution: ExecutionContext, state: SupervisorState) -> Update:
    """What has to be done instead, if anything; a run that was stopped goes into it when it is let go on."""
    driving = execution.signals.control.driving
    if driving != "running":
        is_taken = driving == "handed_over" and state["phase"] != Phase.handed_over
        return {"phase": Phase.handed_over.value} if is_taken else {}
    if len(execution.signals.hand_backs) > state.get("handed_back", 0):
        return await _taken_back(execution, state)
    plan = plan_in_question(state)
    if plan and plan.id in execution.signals.decisions:
        return planned(state, execution.signals.decisions[plan.id])
    phase = _fitting(state, list(execution.records.values()))
    return {"phase": phase.value} if phase != state["phase"] else {}


def _fitting(state: SupervisorState, records: Sequence[TaskRecord]) -> Phase:
    """The phase that fits the tasks: what is not planned is planned, what is not done is done."""
    phase, plan_waits = Phase(state["phase"]), bool(state.get("asked"))
    if phase is Phase.handed_over:
        phase = Phase.decomposing if plan_waits else Phase.executing
    is_planned = plan_waits or (state.get("mode") and is_routed(records))
    if phase in (Phase.executing, Phase.reviewing) and not is_planned:
        return Phase.decomposing
    if phase in (Phase.reviewing, Phase.assembling) and not is_executed(records):
        return Phase.executing
    return phase


async def _taken_back(execution: ExecutionContext, state: SupervisorState) -> Update:
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
        "tasks": dumped(records),
        "draft": draft,
        "mode": choose_mode(parse_plan(draft), execution.run.policy).model_dump(mode="json"),
        "handed_back": len(execution.signals.hand_backs),
        "asked": None,
        "phase": Phase.routing.value,
    }
    if any(signal.plan for signal in taken):
        return update
    if plan is None:
        return update if is_routed(records) else {**update, "phase": Phase.decomposing.value}
    if plan.id not in execution.signals.decisions:  # who works by a plan has accepted it
        said = Decision(type="approve", by=taken[-1].by, message="handed back", door=HAND_BACK)
        await execution.approvals.answer(plan, said, execution.signals.decide)
    return {**update, **planned({**state, **update}, execution.signals.decisions[plan.id])}  # type: ignore[typeddict-item]


def planned(state: SupervisorState, decision: Decision) -> Update:
    """What follows from what was decided about the plan."""
    update: Update = {"unread": "", "asked": None}
    if decision.type == "reject" and decision.by == POLICY:
        error = f"the plan was not carried out: {decision.message}"
        return {**update, "error": error, "phase": Phase.assembling.value}
    if decision.type == "reject":
        said = f"The plan was rejected: {decision.message or 'make a better one'}"
        objections = [*state.get("objections", []), said]
        return {**update, "objections": objections, "draft": None, "phase": Phase.decomposing.value}
    update["phase"] = Phase.routing.value
    if decision.type == "edit":
        plan = parse_plan(decision.args)
        policy = terms_of(state).policy
        records = handed_back(records_of(state), {}, plan, at=0.0, iteration=state.get("iteration", 0))
        update["mode"] = choose_mode(plan, policy).model_dump(mode="json")
        update["draft"] = plan.model_dump(mode="json")
        update["tasks"] = dumped(records)
    return update
