"""A run as it is now: the last checkpoint, the board on top of it, and who runs it.

Read from the database alone: looking compiles no graph and imports no node. What LangGraph itself would say of a
thread (`get_state`) it derives from its nodes, by a way that is not public; here three facts take its place. A run has
ended when it says when it did; it stands at a question or is stopped when the last checkpoint has an interrupt of a
step that has not finished since; everything else is work that somebody does, or did until a process died. Questions
inside nested supervisors are not looked for in the checkpoints of these: the outermost run has them on its board.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from graph.pictures import pictures_of
from nodes.policy.approvals import most_urgent_first, open_questions, plan_in_question
from nodes.policy.growth import followed
from nodes.policy.phases import needed
from nodes.policy.report import joined, sinks, write_report
from nodes.runtime.journal import asked_below, asked_on
from nodes.runtime.rows import RUN, used_by
from state.answer import DataField
from state.approval import Approval
from state.channels import RunState, phase_of, terms_of
from state.delegation import Delegation
from state.episode import Advice
from state.errors import ThreadUnknown
from state.record import Artifact, Doubt, TaskRecord, Usage
from state.run import ENDS, DelegationView, Mode, Phase, Run, RunStatus, TaskView, WaitsFor
from state.text import Json

_INTERRUPT, _ERROR = "__interrupt__", "__error__"
_NO_OUTPUT = frozenset({_INTERRUPT, _ERROR, "__resume__"})
"""Names under which LangGraph's checkpointers keep what is no output of a step (part of their format)."""
_INPUT = "00000000-0000-0000-0000-000000000000"
"""The step that stands for what came from outside."""
_CUT_OFF = "CancelledError"
"""What LangGraph notes where whoever ran it stopped (Ctrl-C, a closed stream): no failure, it can go on."""


@dataclass(frozen=True)
class Position:
    """Where a thread stands."""

    state: RunState
    asked: Sequence[Json]
    """What the step that it stands at has raised as interrupts; empty where it does not wait."""
    failures: Sequence[str]
    """What broke steps that have not been done since, one line each."""
    is_begun: bool
    """Whether a request has come in that no step has taken up yet."""
    checkpoint: str
    """The same as long as it stands there."""

    @property
    def has_ended(self) -> bool:
        """Whether the run is over, its end written down."""
        phase = self.state.get("phase")
        return phase in ENDS and self.state.get("finished_at") is not None and not self.is_begun


async def read_position(saver: BaseCheckpointSaver[str], thread_id: str) -> Position:
    """Where a thread stands.

    Raises:
        ThreadUnknown: nothing has ever run on it.
    """
    found = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    if found is None:
        raise ThreadUnknown(f"there is no thread {thread_id!r} in this database; `baton runs` lists those there are")
    return position_of(found)


def position_of(found: CheckpointTuple) -> Position:
    """What a checkpoint says, with what its steps have written since."""
    writes = [write for write in found.pending_writes or [] if write[0] != _INPUT]
    finished = {step for step, channel, _ in writes if channel not in _NO_OUTPUT}
    fields = RunState.__annotations__.keys()
    since = {channel: value for _, channel, value in writes if channel in fields}
    raised = [value for step, channel, value in writes if channel == _INTERRUPT and step not in finished]
    values = [one.value for raise_ in raised for one in (raise_ if isinstance(raise_, Sequence) else [raise_])]
    errors = [str(error) for step, channel, error in writes if channel == _ERROR and step not in finished]
    return Position(
        state=cast(RunState, {**found.checkpoint["channel_values"], **since}),
        asked=[value for value in values if isinstance(value, dict)],
        failures=[_one_line(error) for error in errors if not error.startswith(_CUT_OFF)],
        is_begun=(found.metadata["source"], int(found.metadata["step"]))[0] == "input",
        checkpoint=str(found.config["configurable"]["checkpoint_id"]),
    )


def _one_line(error: str) -> str:
    """LangGraph keeps an error as `Type('message')` and nothing besides; people get the message."""
    text = " ".join(error.split())
    name, bracket, rest = text.partition("(")
    return rest.rstrip(")").strip("'\"") if bracket and name.isidentifier() else text


@dataclass(frozen=True)
class Rows:
    """What the Store says of a run."""

    board: Mapping[str, Json]
    recruits: Sequence[TaskRecord]
    """All that were granted."""
    ledger: Mapping[str, Usage]
    """What its tasks have used."""
    decided: Collection[str]
    """Questions that were answered."""
    delegations: Sequence[Delegation]
    has_signals: bool
    """Whether signals wait to be looked at."""


def view_of(
    thread_id: str, position: Position, rows: Rows, team: Collection[str], *, is_held: bool, was_held: bool
) -> Run:
    """The run of a thread, for somebody who has `team`; `is_held` by a living process, or `was_held` a moment ago."""
    state = position.state
    if position.has_ended and _is_asked_more(state) and rows.board.get("run", {}).get("phase", "complete") not in ENDS:
        position = replace(position, is_begun=True)  # the first step of the next run is at work, or was cut off
    records = _records(state, rows.recruits)
    status, waits_for = _status(position, rows, is_held=is_held, was_held=was_held)
    missing = missing_agents(position, rows.recruits, team) if waits_for else []
    doubts = [Doubt.model_validate(one) for one in state.get("doubts", [])] if position.has_ended else []
    made = [artifact for record in records if record.outcome for artifact in record.outcome.artifacts]
    error = state.get("error") if position.has_ended else next(iter(position.failures), None)
    asked = [] if position.has_ended else questions_of(position, rows.board, is_at_work=status == "running")
    run = Run(
        thread_id=thread_id,
        status=status,
        waits_for="team" if missing and waits_for in ("resume", "process", "model") else waits_for,
        missing_agents=missing,
        phase=_phase(state, rows.board, is_held=is_held),
        query=state.get("goal") or state.get("query") or "",
        report=state.get("report") or (report_so_far(state, records, error or "") if status == "failed" else None),
        data=state.get("data"),
        fields=[DataField.model_validate(one) for one in state.get("fields") or []],
        tasks=[_task(record, rows.board.get(f"task:{record.id}"), is_held=is_held) for record in records],
        delegations=[_delegation(row) for row in rows.delegations if row.worker],
        approvals=[question for question in asked if question.id not in rows.decided],
        handover=next((cast(Json, one["context"]) for one in position.asked if "context" in one), None),
        artifacts=[Artifact.model_validate(one) for one in state.get("artifacts") or []] or made,
        usage=Usage.model_validate(state.get("spent") or {}) + rows.ledger.get(RUN, Usage()),
        used_by=used_by(rows.ledger),
        mode=_mode(state, records),
        advice=Advice.model_validate(state["advice"]) if state.get("advice") else None,
        model=terms_of(state).model,
        iteration=state.get("iteration", 0),
        error=error if position.has_ended or status == "failed" else None,
        doubts=doubts,
        warnings=[*state.get("warnings", []), *(doubt.said for doubt in doubts)],
        started_at=state.get("started_at"),
        finished_at=state.get("finished_at"),
    )
    return run.drawn_with(pictures_of)


def report_so_far(state: RunState, records: Sequence[TaskRecord], error: str) -> str | None:
    """What a run has finished that a failure stopped before its end; None where nothing was asked of it yet."""
    if not state.get("goal"):
        return None
    return write_report(
        state["goal"],
        joined(sinks(records)),
        records,
        mode=Mode.model_validate(state["mode"]) if state.get("mode") else None,
        models=[terms_of(state).model],
        warnings=state.get("warnings", []),
        error=error,
    )


def _mode(state: RunState, records: Sequence[TaskRecord]) -> Mode | None:
    """The mode as it is now: recruits count before a checkpoint has them."""
    if not state.get("mode"):
        return None
    policy = terms_of(state).policy
    return followed(Mode.model_validate(state["mode"]), records, policy.max_iterations)


def _records(state: RunState, recruits: Sequence[TaskRecord]) -> list[TaskRecord]:
    """The tasks of the last checkpoint, and the recruits that are not in it yet."""
    records = [TaskRecord.model_validate(task) for task in state.get("tasks") or []]
    known = {record.id for record in records}
    return records + [record for record in recruits if record.id not in known]


def questions_of(position: Position, board: Mapping[str, Json], *, is_at_work: bool = False) -> list[Approval]:
    """The questions to humans, answered ones too: the checkpoint's where the run waits, the board's while it works.

    Where it waits or was stopped, nested supervisors that were stopped with it have theirs on the board.
    """
    state = position.state
    if not state.get("tasks"):
        return []
    plan = plan_in_question(state)
    if not position.asked or (is_at_work and not plan):
        return most_urgent_first(asked_on(board))
    asked = open_questions(state)
    known = {question.id for question in asked}
    below = [] if plan else asked_below(board)
    return most_urgent_first([*asked, *(question for question in below if question.id not in known)])


def missing_agents(position: Position, recruits: Sequence[TaskRecord], team: Collection[str]) -> list[str]:
    """The agents that the run needs to go on, and that `team` does not have."""
    state = position.state
    if not state.get("terms") or state.get("phase") in ENDS:
        return []
    names = needed(_records(state, recruits), terms_of(state).team)
    return [name for name in names if name not in team]


def _is_asked_more(state: RunState) -> bool:
    """Whether a request has come in that is not taken in: that clears it."""
    messages: list[Any] = cast(dict[str, Any], state).get("messages") or []
    return bool(state.get("query") or (messages and messages[-1].type == "human"))


def _status(position: Position, rows: Rows, *, is_held: bool, was_held: bool) -> tuple[RunStatus, WaitsFor]:
    """How the run stands, and what it waits for."""
    if position.has_ended:
        return _ENDED[position.state["phase"]], ""
    if is_held:
        return "running", ""
    if position.asked:
        driving = next((one["control"] for one in position.asked if "control" in one), None)
        if driving:
            return cast(RunStatus, driving), "release"
        questions = questions_of(position, rows.board)
        is_answered = any(question.id in rows.decided for question in open_questions(position.state))
        is_open = not is_answered or any(question.id not in rows.decided for question in questions)
        return "waiting" if is_open else "paused", "resume" if is_answered or rows.has_signals else "answers"
    if position.failures:
        return "failed", "model"
    if was_held:  # whoever gave it back is about to write down where it stands
        return "running", ""
    return "paused", "process"


_ENDED: dict[str, RunStatus] = {
    Phase.complete.value: "complete",
    Phase.partial.value: "partial",
    Phase.failed.value: "failed",
    Phase.cancelled.value: "cancelled",
}


def is_due(run: Run) -> bool:
    """Whether it could be taken up; what somebody paused stays paused, and who lacks its agents leaves it alone."""
    return run.waits_for in ("resume", "process") or (run.waits_for == "team" and run.status != "failed")


def _phase(state: RunState, board: Mapping[str, Json], *, is_held: bool) -> str:
    row = board.get("run")
    if is_held and row:
        return str(row["phase"])
    return (phase_of(state) or Phase.decomposing).value


def _delegation(row: Delegation) -> DelegationView:
    made = row.outcome
    return DelegationView(
        **row.model_dump(include={"task_id", "agent", "worker", "task", "constraints"}),
        status=made.status if made else "running",
        result=made.result if made else None,
        confidence=made.confidence if made else None,
        error=made.failure.message if made and made.failure else None,
        tokens=(row.earlier + made.usage).total_tokens if made else 0,
    )


def _task(record: TaskRecord, row: Json | None, *, is_held: bool) -> TaskView:
    outcome = record.outcome
    said = outcome.former if outcome and outcome.former and outcome.result == "" else outcome
    view = TaskView(
        **record.task.model_dump(exclude={"tools", "to"}),
        agent=(outcome.agent if outcome else None) or record.agent,
        status=record.status,
        result=said.result if said else None,
        confidence=outcome.confidence if outcome else None,
        attempts=outcome.attempts if outcome else 0,
        error=outcome.failure.message if outcome and outcome.failure else None,
        started_at=outcome.started_at or None if outcome else None,
        finished_at=outcome.finished_at or None if outcome else None,
        tokens=outcome.usage.total_tokens if outcome else 0,
        cost=None if outcome and outcome.usage.unpriced else outcome.usage.cost if outcome else 0.0,
        provider=outcome.usage.providers if outcome else "",
        model=outcome.model if outcome else "",
        recruited_by=record.recruited_by,
        route_reason=record.route.reason if record.route else "",
        scores=record.route.scores if record.route else [],
        marks=[mark.reason for mark in record.marks],
    )
    if row and (record.status == "pending" or (is_held and record.status == "parked")):
        return view.model_copy(update={key: value for key, value in row.items() if key in TaskView.model_fields})
    return view
