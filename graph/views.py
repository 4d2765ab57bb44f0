"""A run as it is now: the last checkpoint, the board on top of it, and who runs it."""

from collections.abc import Collection, Mapping, Sequence

from langgraph.types import StateSnapshot

from nodes.policy.approvals import most_urgent_first
from nodes.runtime.approvals import open_questions, plan_in_question
from nodes.runtime.journal import asked_below, asked_on
from state.approval import Approval
from state.errors import ThreadUnknown
from state.record import Artifact, TaskRecord, Usage
from state.run import ENDS, Mode, Phase, Run, RunStatus, TaskView
from state.supervisor import SupervisorState, Terms
from state.text import Json


def view_of(
    thread_id: str,
    snapshot: StateSnapshot,
    board: Mapping[str, Json],
    recruits: Sequence[TaskRecord],
    ledger: Usage,
    *,
    decided: Collection[str],
    is_held: bool,
    was_held: bool,
) -> Run:
    """The run of a thread; `is_held` by a living process, or `was_held` by one a moment ago.

    `recruits`: all that were granted. `ledger`: what its tasks have used. `decided`: questions that were answered.

    Raises:
        ThreadUnknown: the thread has no run.
    """
    state = _known(thread_id, snapshot)
    records = _records(state, recruits)
    status, error = _status(snapshot, state, is_held=is_held, was_held=was_held)
    return Run(
        thread_id=thread_id,
        status=status,
        phase=_phase(state, board, is_held=is_held),
        query=state.get("goal") or state.get("query") or "",
        report=state.get("report") or None,
        tasks=[_task(record, board.get(f"task:{record.id}"), is_held=is_held) for record in records],
        approvals=[question for question in _asked(snapshot, state, board, status) if question.id not in decided],
        handover=_handover(snapshot),
        artifacts=[Artifact.model_validate(artifact) for artifact in state.get("artifacts") or _artifacts(records)],
        usage=Usage.model_validate(state.get("spent") or {}) + ledger,
        mode=Mode.model_validate(state["mode"]) if state.get("mode") else None,
        model=Terms.model_validate(state.get("terms") or {}).model,
        iteration=state.get("iteration", 0),
        error=error,
        warnings=state.get("warnings", []),
        started_at=state.get("started_at"),
        finished_at=state.get("finished_at"),
    )


def _known(thread_id: str, snapshot: StateSnapshot) -> SupervisorState:
    if not snapshot.created_at:
        raise ThreadUnknown(f"there is no thread {thread_id!r} in this database; `baton runs` lists those there are")
    state: SupervisorState = snapshot.values  # type: ignore[assignment]
    return state


def _records(state: SupervisorState, recruits: Sequence[TaskRecord]) -> list[TaskRecord]:
    """The tasks of the last checkpoint, and the recruits that are not in it yet."""
    records = [TaskRecord.model_validate(task) for task in state.get("tasks") or []]
    known = {record.id for record in records}
    return records + [record for record in recruits if record.id not in known]


def _asked(
    snapshot: StateSnapshot, state: SupervisorState, board: Mapping[str, Json], status: RunStatus
) -> list[Approval]:
    """The questions to humans: the checkpoint's where the run waits, the board's while work is in flight."""
    if status in ENDED or not state.get("tasks"):
        return []
    if waits(snapshot) and (status != "running" or plan_in_question(state)):
        return at_rest(state, board)
    return most_urgent_first(asked_on(board))


def at_rest(state: SupervisorState, board: Mapping[str, Json]) -> list[Approval]:
    """The questions of a run that waits or was stopped; stopped nested supervisors have theirs on the board."""
    asked = open_questions(state)
    known = {question.id for question in asked}
    below = [] if plan_in_question(state) else asked_below(board)
    return most_urgent_first([*asked, *(question for question in below if question.id not in known)])


def _handover(snapshot: StateSnapshot) -> Json | None:
    """The context of the control node's interrupt, where the run waits there."""
    values = [interrupt.value for task in snapshot.tasks for interrupt in task.interrupts]
    return next((value["context"] for value in values if isinstance(value, dict) and "context" in value), None)


def _status(
    snapshot: StateSnapshot, state: SupervisorState, *, is_held: bool, was_held: bool
) -> tuple[RunStatus, str | None]:
    """The status, and the line that explains it."""
    phase = state.get("phase", "")
    if not snapshot.next and phase in ENDS:
        return _ENDED[phase], state.get("error")
    if is_held:
        return "running", None
    for interrupt in (interrupt for task in snapshot.tasks for interrupt in task.interrupts):
        driving = interrupt.value.get("control") if isinstance(interrupt.value, dict) else None
        return (driving or "waiting"), None
    errors = [str(task.error) for task in snapshot.tasks if task.error and not str(task.error).startswith(_CUT_OFF)]
    if errors:
        return "failed", _one_line(errors[0])
    if was_held:  # whoever gave it back is about to write down where it stands
        return "running", None
    return "paused", GONE


def waits(snapshot: StateSnapshot) -> bool:
    """Whether the graph stands at a question, or is stopped."""
    return any(task.interrupts for task in snapshot.tasks)


GONE = "the process that ran it is gone; nothing is lost: resume it"

_CUT_OFF = "CancelledError"
"""What LangGraph notes where whoever ran it stopped (Ctrl-C, a closed stream): no failure, it can go on."""

ENDED = frozenset({"complete", "failed", "cancelled"})


def has_ended(run: Run) -> bool:
    """Whether nothing can follow; a run that failed on its model can still be resumed, its phase is no end."""
    return run.status in ENDED and run.phase in ENDS


_ENDED: dict[str, RunStatus] = {
    Phase.complete.value: "complete",
    Phase.failed.value: "failed",
    Phase.cancelled.value: "cancelled",
}


def _phase(state: SupervisorState, board: Mapping[str, Json], *, is_held: bool) -> str:
    row = board.get("run")
    if is_held and row:
        return str(row["phase"])
    return str(state.get("phase") or Phase.decomposing.value)


def _task(record: TaskRecord, row: Json | None, *, is_held: bool) -> TaskView:
    outcome = record.outcome
    view = TaskView(
        **record.task.model_dump(exclude={"tools"}),
        agent=(outcome.agent if outcome else None) or record.agent,
        status=record.status,
        result=outcome.result if outcome else None,
        confidence=outcome.confidence if outcome else None,
        attempts=outcome.attempts if outcome else 0,
        error=outcome.failure.message if outcome and outcome.failure else None,
        started_at=outcome.started_at or None if outcome else None,
        finished_at=outcome.finished_at or None if outcome else None,
        tokens=outcome.usage.total_tokens if outcome else 0,
        recruited_by=record.recruited_by,
        route_reason=record.route.reason if record.route else "",
        scores=record.route.scores if record.route else [],
        marks=[mark.reason for mark in record.marks],
    )
    if row and (record.status == "pending" or (is_held and record.status == "parked")):
        return view.model_copy(update={key: value for key, value in row.items() if key in TaskView.model_fields})
    return view


def _artifacts(records: list[TaskRecord]) -> list[Artifact]:
    return [artifact for record in records if record.outcome for artifact in record.outcome.artifacts]


def _one_line(error: str) -> str:
    """LangGraph keeps an error as `Type('message')`; people get the message."""
    text = " ".join(error.split())
    name, bracket, rest = text.partition("(")
    return rest.rstrip(")").strip("'\"") if bracket and name.isidentifier() else text
