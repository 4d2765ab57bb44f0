"""Which question is the most urgent, and the one form in which every page and program reads them."""

from collections.abc import Container, Iterable, Sequence
from typing import get_args

from pydantic import JsonValue

from state.approval import Approval
from state.plan import Plan
from state.record import TaskRecord
from state.trigger import PRIORITIES, Fired, Risk

_RISKS: tuple[Risk, ...] = get_args(Risk)

PLAN_WAITS = Fired(trigger="oversight", priority="medium", reason="the plan waits for a human (oversight in_command)")


def asked_by(records: Iterable[TaskRecord], decided: Container[str] = ()) -> list[Approval]:
    """The questions that parked tasks wait for, without those that are `decided`."""
    outcomes = [record.outcome for record in records if record.status == "parked" and record.outcome]
    return [approval for outcome in outcomes for approval in outcome.approvals if approval.id not in decided]


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
        description="\n".join(f"- `{task.id}` ({task.role}): {task.description}" for task in plan.tasks),
    )


def payload(questions: Sequence[Approval], unread: str = "") -> dict[str, JsonValue]:
    """The interrupt's value: read alike by Studio, Agent Chat UI, Agent Inbox and code."""
    asked: dict[str, JsonValue] = {
        "action_requests": [
            {
                "name": q.action,
                "args": q.args,
                "arguments": q.args,
                "description": f"{q.description}\n\nRisk: {q.risk}. Why: {q.reason}.",
            }
            for q in questions
        ],
        "review_configs": [{"action_name": q.action, "allowed_decisions": [*q.choices], **_form(q)} for q in questions],
        "approvals": [q.model_dump(mode="json") for q in questions],
    }
    return {**asked, "error": f"The last answer could not be read: {unread}"} if unread else asked


def _form(question: Approval) -> dict[str, JsonValue]:
    """What a page makes a form from."""
    return {"args_schema": question.args_schema} if question.args_schema else {}
