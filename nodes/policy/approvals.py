"""The life of a question: its urgency and payload, what happens when nobody answers (row M14), what a no means.

By its risk, a question that nobody answers is decided by the policy; a critical one, and one that `needs_human`, is
never approved so. A human's no to
what a required task does: chapter 15.12.5.
"""

from collections.abc import Container, Iterable, Sequence
from typing import get_args

from pydantic import JsonValue

from nodes.policy.plan_text import plan_as_text
from nodes.policy.shown import args_of, names_of
from nodes.policy.wording import asked
from state.approval import POLICY, PRIORITIES, Approval, Decision, FiredTrigger, Risk
from state.channels import RunState, records_of
from state.plan import Plan
from state.policy import Policy, Timeout
from state.record import TaskRecord

_RISKS: tuple[Risk, ...] = get_args(Risk)

PLAN_WAITS = FiredTrigger(
    trigger="oversight", priority="medium", reason="the plan waits for a human (oversight in_command)"
)


def open_questions_of(records: Iterable[TaskRecord], decided: Container[str] = ()) -> list[Approval]:
    """The questions that parked tasks wait for, without those that are `decided`."""
    outcomes = [record.outcome for record in records if record.status == "parked" and record.outcome]
    return [approval for outcome in outcomes for approval in outcome.approvals if approval.id not in decided]


def open_questions(state: RunState) -> list[Approval]:
    """Every question that waits for a human: the plan, or those of parked tasks, most urgent first."""
    if plan := plan_in_question(state):
        return [plan]
    return most_urgent_first(open_questions_of(records_of(state), state.get("decisions") or {}))


def plan_in_question(state: RunState) -> Approval | None:
    """The question about the plan, as long as it waits: also while the run is paused or in a human's hands."""
    asked = state.get("asked")
    return Approval.model_validate(asked) if asked else None


def most_urgent_first(questions: Iterable[Approval]) -> list[Approval]:
    """By priority, then by risk; among equals as they are."""
    return sorted(questions, key=urgency)


def urgency(question: Approval) -> tuple[int, int]:
    """Sorts the most urgent question first."""
    return PRIORITIES.index(question.priority), -_RISKS.index(question.risk)


def plan_question(plan: Plan, number: int) -> Approval:
    """The question whether the plan may be carried out (oversight in_command). `number` tells it from later ones."""
    return Approval(
        id=f"plan.{number}",
        task_id="",
        agent="supervisor",
        subject="plan",
        action="plan",
        args=plan.model_dump(mode="json"),
        risk="medium",
        triggers=[PLAN_WAITS],
        reason=PLAN_WAITS.reason,
        description=plan_as_text(plan),
    )


def payload(questions: Sequence[Approval], unread: str = "") -> dict[str, JsonValue]:
    """The interrupt's value: read alike by Studio, Agent Chat UI, Agent Inbox and code."""
    names = names_of(questions)
    value: dict[str, JsonValue] = {
        "action_requests": [
            {
                "name": name,
                "args": args_of(q),
                "arguments": args_of(q),
                "description": asked(q, unread),
            }
            for q, name in zip(questions, names, strict=True)
        ],
        "review_configs": [
            {
                "action_name": name,
                "allowed_decisions": [*q.choices],
                **({"args_schema": q.args_schema} if q.args_schema else {}),  # what a page makes a form from
            }
            for q, name in zip(questions, names, strict=True)
        ],
        "approvals": [q.model_dump(mode="json") for q in questions],
    }
    return {**value, "error": f"The last answer could not be read: {unread}"} if unread else value


DOOR = "deadline"


def is_expired(approval: Approval, now: float) -> bool:
    """Whether its time is up."""
    return approval.expires_at is not None and now >= approval.expires_at


def on_expiry(approval: Approval, policy: Policy) -> Timeout:
    """What the policy does then. Somebody else is told once, if anybody can be; after that it is rejected."""
    if approval.risk == "critical":
        return "reject"
    wanted = policy.on_timeout.get(approval.risk, policy.on_timeout["default"])
    is_last = approval.escalated or is_unanswerable(approval)
    is_refused = is_last if wanted == "escalate" else approval.needs_human
    return "reject" if is_refused else wanted


def is_unanswerable(approval: Approval) -> bool:
    """Whether it was asked in a run that cannot wait: its time was up at once."""
    return approval.expires_at is not None and approval.expires_at == approval.asked_at


NOBODY_ANSWERS = "nobody can be asked in a run without a checkpointer, or without a thread"


def decision_on_expiry(approval: Approval, policy: Policy) -> Decision | None:
    """The decision that takes the place of a human's; None where somebody else is to be told first."""
    what = on_expiry(approval, policy)
    if what == "escalate":
        return None
    verb = "approved" if what == "approve" else "rejected"
    seconds = _seconds(approval, policy)
    time = f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"
    why = NOBODY_ANSWERS if is_unanswerable(approval) else f"nobody answered within {time}"
    message = f"{why}: {verb} by policy ({approval.risk} risk)"
    return Decision(type=what, message=message, by=POLICY, door=DOOR)


def _seconds(approval: Approval, policy: Policy) -> float:
    """How long there is to answer it."""
    if approval.timeout_s is not None:
        return approval.timeout_s
    given = policy.approval_timeout_s
    return given.get(approval.risk, given["default"]) if isinstance(given, dict) else given


def with_deadline(approval: Approval, policy: Policy, now: float, *, can_wait: bool = True) -> Approval:
    """The question as it is asked now, with its deadline; at once, where the run cannot wait."""
    seconds = _seconds(approval, policy) if can_wait else 0.0
    return approval.model_copy(update={"asked_at": now, "expires_at": now + seconds})


def escalated(approval: Approval, policy: Policy, now: float) -> Approval:
    """The question as it goes to somebody else, with a new deadline."""
    return approval.model_copy(update={"escalated": True, "expires_at": now + _seconds(approval, policy)})


def denial(decision: Decision, action: str, policy: Policy) -> str:
    """Why the task ends with this decision, or an empty string: the agent goes on with the feedback then."""
    if decision.type != "reject" or policy.on_reject == "revise":
        return ""
    return f"{decision.who} did not allow {action}" + (f": {decision.message}" if decision.message else "")


def is_denied(record: TaskRecord) -> bool:
    """Whether the task failed because a human said no."""
    failure = record.outcome.failure if record.outcome else None
    return record.status == "failed" and failure is not None and failure.kind == "denied"


def to_replan(records: Iterable[TaskRecord], policy: Policy, replanned: Sequence[str]) -> list[TaskRecord]:
    """The denied tasks for which a new plan is to be made; none once that was done `max_iterations` times."""
    if policy.on_reject != "replan" or len(replanned) >= policy.max_iterations:
        return []
    return [record for record in records if is_denied(record) and record.id not in replanned]


def objection_to(record: TaskRecord) -> str:
    """What the planner is told about a denied task."""
    why = record.outcome.failure.message if record.outcome and record.outcome.failure else "it was not allowed"
    return f"Make another plan: {why}. That was task {record.id}: {record.task.description}"
