"""Approve: the one gate. One interrupt carries every open question; answers in any dialect are understood."""

from collections.abc import Iterable, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from nodes.control import LOOK
from nodes.policy.answers import read_answers
from nodes.policy.handback import handed_back
from nodes.policy.plans import parse_plan
from nodes.runtime.context import open_context
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from state.approval import Approval, Decision
from state.phase import Phase
from state.record import TaskRecord
from state.supervisor import Json, SupervisorState, Update

Place = Literal["approve", "decompose", "route", "execute"]
Goto = Command[Place]


def make_approve(services: Services) -> Node:
    """The node."""

    async def approve(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Ask, and go on with whatever was answered."""
        questions = open_questions(state)
        answers = interrupt(payload(questions, state.get("unread", "")))
        if answers == LOOK:
            return Command(goto="execute")
        decisions, problems = read_answers(answers, questions)
        run = open_context(services, state, runtime, Phase(state["phase"]))
        for key, decision in decisions.items():
            await run.emit(
                "approval_answered", id=key, decision=decision.type, by=decision.by, message=decision.message
            )
        if not decisions:
            return Command(update={"unread": "; ".join(problems) or "there was no answer"}, goto="approve")
        if questions[0].id == plan_question(state).id:
            return _planned(state, decisions[questions[0].id])
        known = state.get("decisions") or {}
        added = {key: decision.model_dump(mode="json") for key, decision in decisions.items()}
        return Command(update={"unread": "", "decisions": {**known, **added}}, goto="execute")

    return approve


def open_questions(state: SupervisorState) -> list[Approval]:
    """Every question that waits for a human: the plan, or those of parked tasks, critical ones first."""
    if state["phase"] == Phase.decomposing:
        return [plan_question(state)]
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    asked = [a for record in records if record.status == "parked" and record.outcome for a in record.outcome.approvals]
    known = state.get("decisions") or {}
    return most_urgent_first(a for a in asked if a.id not in known)


def most_urgent_first(questions: Iterable[Approval]) -> list[Approval]:
    """The questions in the order in which they are shown."""
    urgency = ("critical", "high", "medium", "low")
    return sorted(questions, key=lambda question: urgency.index(question.risk))


def plan_question(state: SupervisorState) -> Approval:
    """The question whether the plan may be carried out (oversight in_command)."""
    plan = parse_plan(state.get("draft"))
    return Approval(
        id=f"plan.{len(state.get('notes', []))}",
        task_id="",
        agent="supervisor",
        action="plan",
        args=plan.model_dump(mode="json"),
        risk="medium",
        reason="the plan waits for a human (oversight in_command)",
        description="\n".join(f"- `{task.id}` ({task.role}): {task.description}" for task in plan.tasks),
    )


def payload(questions: Sequence[Approval], unread: str = "") -> Json:
    """The interrupt's value: read alike by Studio, Agent Chat UI, Agent Inbox and code."""
    asked: Json = {
        "action_requests": [
            {
                "name": q.action,
                "args": q.args,
                "arguments": q.args,
                "description": f"{q.description}\n\nRisk: {q.risk}. Why: {q.reason}.",
            }
            for q in questions
        ],
        "review_configs": [
            {"action_name": q.action, "allowed_decisions": ["approve", "edit", "reject"], **_form(q)} for q in questions
        ],
        "approvals": [q.model_dump(mode="json") for q in questions],
    }
    return {**asked, "error": f"The last answer could not be read: {unread}"} if unread else asked


def _form(question: Approval) -> Json:
    """What a page makes a form from."""
    return {"args_schema": question.args_schema} if question.args_schema else {}


def _planned(state: SupervisorState, decision: Decision) -> Goto:
    """What follows from a decision about the plan."""
    if decision.type == "reject":
        notes = [*state.get("notes", []), f"The plan was rejected: {decision.message or 'make a better one'}"]
        return Command(update={"unread": "", "notes": notes, "draft": None}, goto="decompose")
    update: Update = {"unread": "", "phase": Phase.routing.value}
    if decision.type == "edit":
        plan = parse_plan(decision.args)
        before = [TaskRecord.model_validate(task) for task in state["tasks"]]
        records = handed_back(before, {}, plan, at=0.0, iteration=state.get("iteration", 0))
        update["draft"] = plan.model_dump(mode="json")
        update["tasks"] = [record.model_dump(mode="json") for record in records]
    return Command(update=update, goto="route")
