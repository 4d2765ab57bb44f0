"""The phase machine: which node is next, when a phase is over, how a run ends, which agents it cannot do without.

`next_node` is the one table of conditional edges (supervisor guide, phases and control). It depends on nothing but
what the state says, so an edit of the state at any checkpoint, a fork, and a thread that somebody ended go on by it.
The first row that holds:

    phase                                 | who drives            | and                        | next
    ------------------------------------- | --------------------- | -------------------------- | ------------------
    none: nothing was taken in            | any                   |                            | intake
    any                                   | any                   | a request is turned away   | intake: says so
    complete, partial, failed, cancelled  | any                   | it is over                 | END
    the same                              | any                   | reported / not             | finish / assemble
    assembling                            | any                   | reported                   | finish
    any but assembling                    | cancelled             | tasks are open             | execute: ends them
    any other                             | cancelled             |                            | assemble
    any other                             | paused, handed over   | has not given up           | control
    handed_over                           | itself                |                            | control
    any but assembling                    | itself                | the plan waits for a human | approve
    executing                             | itself                | nothing can work           | approve
    any other                             | itself                |                            | the phase's own node

`EXITS` says where each node may lead; what is not there goes by way of `intake`, which leads everywhere.
A new node needs a row here, its exits, and its place in `graph.builder`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nodes.policy.approvals import is_denied
from state.plan import Task, faults
from state.policy import OnReject
from state.record import FINAL, HUMAN, TaskRecord
from state.run import ENDS, Phase
from state.signal import Driving

NodeName = Literal["intake", "decompose", "route", "execute", "approve", "control", "review", "assemble", "finish"]
END: Literal["__end__"] = "__end__"
Place = NodeName | Literal["__end__"]

_AT_WORK: Mapping[Phase, NodeName] = {
    Phase.decomposing: "decompose",
    Phase.routing: "route",
    Phase.executing: "execute",
    Phase.reviewing: "review",
    Phase.assembling: "assemble",
}

EXITS: Mapping[NodeName, tuple[Place, ...]] = {
    "intake": (*_AT_WORK.values(), "approve", "control", "finish", "intake", END),
    "decompose": ("route", "approve", "intake"),
    "route": ("execute", "intake"),
    "execute": ("execute", "approve", "control", "decompose", "review", "assemble", "intake"),
    "approve": ("approve", "decompose", "route", "execute", "intake"),
    "control": ("control", "intake"),
    "review": ("route", "execute", "assemble", "control", "intake"),
    "assemble": ("finish", "control", "intake"),
}
"""Where each node may lead; `finish` leads to the end and nowhere else. `intake` stands for whatever is rare."""


@dataclass(frozen=True)
class Facts:
    """What decides where a run goes next."""

    phase: Phase | None
    """None before anything was taken in."""
    driving: Driving = "running"
    plan_waits: bool = False
    """The plan is a question to a human."""
    gave_up: bool = False
    """There is an error: it only reports any more, whoever takes the wheel."""
    can_work: bool = True
    """A task can start or go on without a human, or all have ended."""
    has_open_tasks: bool = False
    """Some tasks have not ended."""
    reported: bool = False
    is_over: bool = False
    """It has come to its end, and said so."""
    turned_away: bool = False
    """What came last cannot be worked on: the thread says why, and whoever sent it is to hear it too."""


def next_node(facts: Facts) -> Place:
    """The table above."""
    phase = facts.phase
    if phase is None or facts.turned_away:
        return "intake"
    if phase in ENDS:
        return END if facts.is_over else "finish" if facts.reported else "assemble"
    if phase == Phase.assembling and facts.reported:
        return "finish"
    if facts.driving == "cancelled":
        return "execute" if facts.has_open_tasks and phase != Phase.assembling else "assemble"
    if (facts.driving != "running" and not facts.gave_up) or phase == Phase.handed_over:
        return "control"
    if facts.plan_waits and phase != Phase.assembling:
        return "approve"
    return _AT_WORK[phase] if facts.can_work or phase != Phase.executing else "approve"


def way_out(node: NodeName, facts: Facts) -> Place:
    """Where a run goes from a node: on by the table, directly or by way of `intake`."""
    place = next_node(facts)
    return place if place in EXITS[node] else "intake"


def is_decomposed(tasks: Sequence[Task]) -> bool:
    """All tasks exist, with valid dependencies."""
    return bool(tasks) and not faults(tasks)


def is_routed(records: Sequence[TaskRecord]) -> bool:
    """Every task has an agent."""
    return all(record.agent for record in records)


def is_executed(records: Sequence[TaskRecord]) -> bool:
    """Every task is done, failed, skipped or cancelled."""
    return all(record.status in FINAL for record in records)


def is_reviewed(feedback: Mapping[str, str], iteration: int, rounds: int) -> bool:
    """Nothing is sent back, or the rounds are used up."""
    return not feedback or iteration >= rounds


def is_assembled(report: str | None) -> bool:
    """The final output exists."""
    return bool(report and report.strip())


def needed(records: Sequence[TaskRecord], team: Sequence[str]) -> list[str]:
    """The agents that what is unfinished was routed or handed to; all of `team` while something has nobody yet.

    `team`: the names the run was started with; none in runs that did not keep them, and nothing is known of those.
    """
    if not team:
        return []
    left = [record for record in records if record.status not in FINAL]
    if not records or not is_routed(left):
        return list(team)
    names = (name for record in left for name in (record.agent, record.outcome.agent if record.outcome else None))
    return [name for name in dict.fromkeys(names) if name and name != HUMAN]


def ending(
    records: Sequence[TaskRecord],
    *,
    error: str | None,
    is_cancelled: bool,
    is_at_limit: bool,
    on_reject: OnReject,
    report: str | None,
    lacking: str = "",
    unaccepted: Mapping[str, str] | None = None,
) -> tuple[Phase, str | None]:
    """How a run ends, and the line that says why it is no success.

    Complete: every required task is done, by an agent or a human. Partial: something was delivered, and a required task
    was not done, or the reviewer did not accept it (`unaccepted`: why, by task id; what the request asks for and no
    task was given has the id ""), a limit of the run (`is_at_limit`) came first, or the data that was asked for lacks
    something. Failed: it gave up (`error`), nothing was delivered, or a human refused a required task where that is to
    fail the run (chapter 15.12.5, `on_reject`).
    """
    if is_cancelled:
        return Phase.cancelled, None
    is_delivered = any(record.status == "done" for record in records)
    if error:
        return Phase.partial if is_at_limit and is_delivered else Phase.failed, error
    undone = [record for record in records if record.task.required and record.status != "done"]
    reasons = {r.id: r.outcome.failure.message for r in records if r.outcome and r.outcome.failure}
    refused = [record.id for record in undone if is_denied(record)] if on_reject == "fail" else []
    if refused:
        return Phase.failed, reasons[refused[0]]
    if not is_delivered:
        return Phase.failed, "no task delivered a result" + "".join(f": {why}" for why in list(reasons.values())[:1])
    if not is_assembled(report):
        return Phase.failed, "no report was put together"
    named = [f"{record.id} ({reasons.get(record.id, record.status)})" for record in undone]
    ids = {record.id for record in records if record.task.required} | {""}
    lacks = [f"{name} ({why})" if name else why for name, why in (unaccepted or {}).items() if name in ids]
    said = {"not done": ", ".join(named), "not accepted by the reviewer": "; ".join(lacks)}
    missing = "; ".join(
        [*(f"{what}: {which}" for what, which in said.items() if which), *([lacking] if lacking else [])]
    )
    return (Phase.partial, missing) if missing else (Phase.complete, None)
