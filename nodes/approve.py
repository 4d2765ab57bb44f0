"""Approve: the one gate. One interrupt carries every open question; answers in any dialect are understood."""

from collections.abc import Mapping, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from pydantic import JsonValue

from nodes.control import LOOK
from nodes.policy.answers import read_answers
from nodes.policy.asked import most_urgent_first, payload, plan_question
from nodes.policy.handback import handed_back
from nodes.policy.modes import choose_mode
from nodes.policy.plans import parse_plan
from nodes.runtime.asking import questions_for
from nodes.runtime.context import RunContext, open_context
from nodes.runtime.floor import open_steering
from nodes.runtime.node import Node
from nodes.runtime.services import Services
from nodes.runtime.steering import Steering
from state.approval import POLICY, Approval, Decision
from state.phase import Phase
from state.record import TaskRecord
from state.supervisor import SupervisorState, Terms, Update

Place = Literal["approve", "decompose", "route", "execute", "assemble"]
Goto = Command[Place]


def make_approve(services: Services) -> Node:
    """The node."""

    async def approve(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Ask, and go on with whatever was answered."""
        questions = open_questions(state)
        answers = interrupt(payload(questions, state.get("unread", "")))
        run = open_context(services, state, runtime, Phase(state["phase"]))
        steering = open_steering(run)
        await steering.load(state.get("decisions") or {})
        problems = await _decide(run, steering, questions, answers)
        decided = {q.id: steering.decisions[q.id] for q in questions if q.id in steering.decisions}
        if questions[0].subject == "plan" and (decided or answers != LOOK):
            return _planned(state, questions[0], decided, problems)
        if not decided and answers != LOOK:
            return Command(update={"unread": problems or "there was no answer"}, goto="approve")
        known = state.get("decisions") or {}
        added = {key: decision.model_dump(mode="json") for key, decision in decided.items()}
        return Command(update={"unread": "", "decisions": {**known, **added}}, goto="execute")

    return approve


def open_questions(state: SupervisorState) -> list[Approval]:
    """Every question that waits for a human: the plan, or those of parked tasks, most urgent first."""
    if state["phase"] == Phase.decomposing:
        asked = state.get("asked")
        known = Approval.model_validate(asked) if asked else None
        expected = plan_question(parse_plan(state.get("draft")), len(state.get("objections", [])))
        return [known if known and known.id == expected.id else expected]
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    waiting = [record.outcome for record in records if record.status == "parked" and record.outcome]
    known_ids = state.get("decisions") or {}
    return most_urgent_first(a for outcome in waiting for a in outcome.approvals if a.id not in known_ids)


async def _decide(run: RunContext, steering: Steering, questions: Sequence[Approval], answers: JsonValue) -> str:
    """Keep what the deadline and then the answers decide of what is still open; what could not be used, in words."""
    asked = questions_for(run)
    await asked.load()
    await asked.expire([q for q in questions if q.id not in steering.decisions], steering.decide)
    if answers == LOOK:
        await asked.announced()
        return ""
    decisions, problems = read_answers(answers, questions)
    by_id = {question.id: question for question in questions}
    for key, decision in decisions.items():
        if first := steering.decisions.get(key):
            problems.append(f"{first.by} has answered {key} before ({first.type})")
        else:
            await asked.answer(by_id[key], decision, steering.decide)
    await asked.announced()
    return "; ".join(problems)


def _planned(state: SupervisorState, question: Approval, decided: Mapping[str, Decision], problems: str) -> Goto:
    """What follows from what was decided about the plan."""
    decision = decided.get(question.id)
    if decision is None:
        return Command(update={"unread": problems}, goto="approve")
    if decision.type == "reject" and decision.by == POLICY:
        error = f"the plan was not carried out: {decision.message}"
        return Command(update={"unread": "", "error": error, "phase": Phase.assembling.value}, goto="assemble")
    if decision.type == "reject":
        said = f"The plan was rejected: {decision.message or 'make a better one'}"
        objections = [*state.get("objections", []), said]
        return Command(update={"unread": "", "objections": objections, "draft": None}, goto="decompose")
    update: Update = {"unread": "", "phase": Phase.routing.value}
    if decision.type == "edit":
        plan = parse_plan(decision.args)
        policy = Terms.model_validate(state["terms"]).policy
        before = [TaskRecord.model_validate(task) for task in state["tasks"]]
        records = handed_back(before, {}, plan, at=0.0, iteration=state.get("iteration", 0))
        update["mode"] = choose_mode(plan, policy).model_dump(mode="json")
        update["draft"] = plan.model_dump(mode="json")
        update["tasks"] = [record.model_dump(mode="json") for record in records]
    return Command(update=update, goto="route")
