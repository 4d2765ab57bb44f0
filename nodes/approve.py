"""Approve: the one gate. One interrupt carries every open question; answers in any dialect are understood."""

from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from pydantic import JsonValue

from nodes.control import LOOK
from nodes.policy.answers import came_second, read_answers
from nodes.policy.asked import asked_by, most_urgent_first, payload
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

AfterPlan = Literal["decompose", "route", "assemble"]
Goto = Command[Literal["approve", "decompose", "route", "execute", "assemble"]]


def make_approve(services: Services) -> Node:
    """The node."""

    async def approve(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Ask, and go on with whatever was answered."""
        questions = open_questions(state)
        run = open_context(services, state, runtime, Phase(state["phase"]))
        steering = open_steering(run)
        await steering.load(state.get("decisions") or {})
        is_open = any(question.id not in steering.decisions for question in questions)
        answers = interrupt(payload(questions, state.get("unread", ""))) if is_open else LOOK
        problems = await _decide(run, steering, questions, answers)
        decided = {q.id: steering.decisions[q.id] for q in questions if q.id in steering.decisions}
        if questions[0].subject == "plan" and decided:
            update, place = planned(state, decided[questions[0].id])
            return Command(update=update, goto=place)
        if not decided and answers != LOOK:
            return Command(update={"unread": problems or "there was no answer"}, goto="approve")
        known = state.get("decisions") or {}
        added = {key: decision.model_dump(mode="json") for key, decision in decided.items()}
        return Command(update={"unread": "", "decisions": {**known, **added}}, goto="execute")

    return approve


def open_questions(state: SupervisorState) -> list[Approval]:
    """Every question that waits for a human: the plan, or those of parked tasks, most urgent first."""
    if plan := plan_in_question(state):
        return [plan]
    records = [TaskRecord.model_validate(task) for task in state["tasks"]]
    return most_urgent_first(asked_by(records, state.get("decisions") or {}))


def plan_in_question(state: SupervisorState) -> Approval | None:
    """The question about the plan, as long as it waits: also while the run is paused or in a human's hands."""
    asked = state.get("asked")
    return Approval.model_validate(asked) if asked else None


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
            problems.append(came_second(key, first))
        else:
            await asked.answer(by_id[key], decision, steering.decide)
    await asked.announced()
    return "; ".join(problems)


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
