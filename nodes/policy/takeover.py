"""A human at the wheel (chapter 15.12.4): who drives after a signal, what they see, handing back, rolling back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from nodes.policy.readiness import downstream
from state.plan import Plan
from state.record import FINAL, HUMAN, Outcome, TaskRecord
from state.side_effect import Effect
from state.signal import Cancel, Control, Driving, Pause, Resume, Signal, Takeover
from state.text import as_text

_DRIVES: dict[type[Signal], Driving] = {
    Pause: "paused",
    Takeover: "handed_over",
    Cancel: "cancelled",
    Resume: "running",
}
STOPS = frozenset(kind.model_fields["kind"].default for kind, driving in _DRIVES.items() if driving != "running")
"""The kinds of signals after which the run does not go on by itself."""


def control_by(signal: Pause | Resume | Takeover | Cancel) -> Control:
    """The control that a signal takes."""
    return Control(
        driving=_DRIVES[type(signal)],
        reason=getattr(signal, "reason", ""),
        by=signal.by,
        rollback=getattr(signal, "rollback", False),
    )


Results = Mapping[str, JsonValue]


def hand_back_faults(records: Sequence[TaskRecord], results: Results, plan: Plan | None) -> list[str]:
    """What keeps a hand-back from being merged, in words; empty when nothing does."""
    known = [task.id for task in plan.tasks] if plan else [record.id for record in records]
    unknown = [repr(task_id) for task_id in results if task_id not in known]
    empty = [repr(task_id) for task_id, result in results.items() if result in (None, "", {}, [])]
    faults = []
    if unknown:
        faults.append(f"there is no task {', '.join(unknown)} to give a result for; there are {', '.join(known)}")
    if empty:
        faults.append(f"the result of {', '.join(empty)} is empty; leave it out, or say what came of it")
    return faults


def handed_back(
    records: Sequence[TaskRecord], results: Results, plan: Plan | None, *, at: float, iteration: int, by: str = HUMAN
) -> list[TaskRecord]:
    """`records` after a human has handed back.

    Tasks that are the same in the changed plan stay as they are; those that changed, and all that is built on them or
    on a result that is new, are to be done again. What a human gave a result for is done. `at`: seconds since epoch,
    `by`: who handed back.
    """
    kept = _kept(records, plan)
    old = {record.id: record for record in records}
    changed = [record.id for record in kept if record.id not in old or old[record.id].task != record.task]
    stale = downstream([record.task for record in kept], [*changed, *results])
    return [
        _given(record, results[record.id], at, iteration, by)
        if record.id in results
        else (record.model_copy(update=ANEW) if record.id in stale else record)
        for record in kept
    ]


ANEW: dict[str, object] = {"status": "pending", "outcome": None, "feedback": ""}
"""What becomes of a record whose task is to be done again."""


def dropped(before: Sequence[TaskRecord], after: Sequence[TaskRecord]) -> list[TaskRecord]:
    """The records that are gone, or are to be done again: what they had parked or recruited is void."""
    now = {record.id: record for record in after}
    return [record for record in before if record.id not in now or now[record.id] != record]


def _kept(records: Sequence[TaskRecord], plan: Plan | None) -> list[TaskRecord]:
    """A record for each task of the plan, in its order, then the recruits of those that are left as they were."""
    if plan is None:
        return list(records)
    old = {record.id: record for record in records}
    kept = [
        old[task.id] if task.id in old and old[task.id].task == task else TaskRecord(task=task) for task in plan.tasks
    ]
    staying = {record.id for record in kept if record is old.get(record.id)} | {HUMAN}
    for record in records:
        is_known = record.id in {one.id for one in kept}
        has_recruiter = record.recruiter in staying or record.recruiter not in old  # a person is always there
        if record.recruited_by and not is_known and has_recruiter:
            kept.append(record)
            staying.add(record.id)
    return kept


def _given(record: TaskRecord, result: JsonValue, at: float, iteration: int, by: str) -> TaskRecord:
    outcome = Outcome(
        task_id=record.id,
        agent=HUMAN,
        status="done",
        result=result,
        decided_by=by,
        iteration=iteration,
        started_at=at,
        finished_at=at,
    )
    return record.model_copy(update={"status": "done", "outcome": outcome, "feedback": ""})


LONGEST_RESULT = 4_000
"""Characters of an intermediate result, or of one message, that are shown."""
FOR_PEOPLE = "for_people"
"""Where a message that a model gets keeps what people are shown instead."""
MESSAGES_SHOWN = 20
"""Of what a parked agent said and saw."""


def takeover_context(records: Sequence[TaskRecord], control: Control) -> dict[str, JsonValue]:
    """Who stopped it and why, how far it is, results so far, what agents wait with, the next step, what went wrong."""
    ended = [record for record in records if record.status in FINAL]
    pending = [record for record in records if record.status not in FINAL]
    results = {r.id: as_text(r.outcome.result)[:LONGEST_RESULT] for r in ended if r.outcome and r.status == "done"}
    reasons = [r.outcome.failure.message for r in records if r.outcome and r.outcome.failure]
    return {
        "by": control.by,
        "reason": control.reason,
        "current_step": len(ended),
        "total_steps": len(records),
        "completed_tasks": [record.id for record in ended if record.status == "done"],
        "failed_tasks": [record.id for record in ended if record.status != "done"],
        "pending_tasks": [record.id for record in pending],
        "intermediate_results": dict(results),
        "conversations": {record.id: said for record in pending if (said := _said(record.outcome))},
        "suggested_next_action": _next(pending, {record.id for record in ended}),
        "failure_reason": "; ".join(reasons),
    }


def _said(outcome: Outcome | None) -> list[JsonValue]:
    """What a parked agent that thinks with a model said, and what its tools answered: the last of it, who and what.

    What the model was told besides, its instructions and remarks like "do not call it again", is no conversation.
    """
    shown: list[JsonValue] = []
    for message in outcome.conversation if outcome else []:
        data = message.get("data") if isinstance(message, dict) else None
        if isinstance(message, dict) and isinstance(data, dict) and message.get("type") in ("ai", "tool"):
            more = data.get("additional_kwargs")
            text = more.get(FOR_PEOPLE) if isinstance(more, dict) else None
            said = as_text(data.get("content") if text is None else text)[:LONGEST_RESULT]
            shown.append({"by": message.get("type"), "text": said, "calls": data.get("tool_calls") or []})
    return shown[-MESSAGES_SHOWN:]


def _next(pending: Sequence[TaskRecord], ended: set[str]) -> str:
    ready = [record for record in pending if set(record.task.depends_on) <= ended]
    if not ready:
        return "nothing is left to do" if not pending else "wait for what the pending tasks build on"
    return f"do {ready[0].id}: {ready[0].task.description}"


Undoing = Literal["undone", "stuck", "no undo", "unclear"]


class RollbackResult(BaseModel):
    """What became of one action when the run was rolled back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str
    args: dict[str, JsonValue]
    how: Undoing
    why: str = ""


def undo_args(effect: Effect, wanted: Iterable[str]) -> dict[str, JsonValue]:
    """What the undo is called with: those of the action's arguments that it takes, and its answer as `result`."""
    offered: Mapping[str, JsonValue] = {"result": effect.reply, **effect.args}
    return {name: offered[name] for name in wanted if name in offered}


def is_left_behind(effect: Effect) -> bool:
    """Whether the action has, or may have, left something in the world."""
    return effect.status not in ("refused", "undone")


def rollback_section(undone: Sequence[RollbackResult]) -> str:
    """The report's section: what was undone, in that order, and what is left for a human to do."""
    if not undone:
        return "Nothing had been done to the outside world."
    return "\n".join(f"- {_line(one)}" for one in undone)


def _line(one: RollbackResult) -> str:
    shown = ", ".join(f"{name}: {_short(value)}" for name, value in one.args.items())
    what = f"`{one.tool}` ({shown})" if shown else f"`{one.tool}`"
    if one.how == "undone":
        return f"{what} was undone: {one.why}"
    left = {
        "stuck": "could not be undone",
        "no undo": "has no undo",
        "unclear": "may or may not have happened",
    }[one.how]
    return f"**Left for a human:** {what} {left}" + (f": {one.why}" if one.why else "")


def _short(value: JsonValue) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"
