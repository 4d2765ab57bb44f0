"""Approve: the one gate. One interrupt carries every open question; answers in any dialect are understood."""

from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from pydantic import JsonValue

from nodes.policy.answers import LOOK_AT_SIGNALS, already_answered, read_answers
from nodes.policy.approvals import payload
from nodes.runtime.approvals import open_questions, questions_for
from nodes.runtime.context import Node, RunContext, open_context
from nodes.runtime.execution import open_signals, planned
from nodes.runtime.services import Services
from nodes.runtime.signals import SignalState
from state.approval import Approval
from state.run import Phase
from state.supervisor import SupervisorState

Goto = Command[Literal["approve", "decompose", "route", "execute", "assemble"]]


def make_approve(services: Services) -> Node:
    """The node."""

    async def approve(state: SupervisorState, runtime: Runtime[None]) -> Goto:
        """Ask, and go on with whatever was answered."""
        questions = open_questions(state)
        run = open_context(services, state, runtime, Phase(state["phase"]))
        signals = open_signals(run)
        await signals.load(state.get("decisions") or {})
        is_open = any(question.id not in signals.decisions for question in questions)
        answers = interrupt(payload(questions, state.get("unread", ""))) if is_open else LOOK_AT_SIGNALS
        problems = await _decide(run, signals, questions, answers)
        decided = {q.id: signals.decisions[q.id] for q in questions if q.id in signals.decisions}
        if questions[0].subject == "plan" and decided:
            update, place = planned(state, decided[questions[0].id])
            return Command(update=update, goto=place)
        if not decided and answers != LOOK_AT_SIGNALS:
            return Command(update={"unread": problems or "there was no answer"}, goto="approve")
        known = state.get("decisions") or {}
        added = {key: decision.model_dump(mode="json") for key, decision in decided.items()}
        return Command(update={"unread": "", "decisions": {**known, **added}}, goto="execute")

    return approve


async def _decide(run: RunContext, signals: SignalState, questions: Sequence[Approval], answers: JsonValue) -> str:
    """Keep what the deadline and then the answers decide of what is still open; what could not be used, in words."""
    asked = questions_for(run)
    await asked.load()
    await asked.expire([q for q in questions if q.id not in signals.decisions], signals.decide)
    if answers == LOOK_AT_SIGNALS:
        await asked.wait_notified()
        return ""
    decisions, problems = read_answers(answers, questions)
    by_id = {question.id: question for question in questions}
    for key, decision in decisions.items():
        if first := signals.decisions.get(key):
            problems.append(already_answered(key, first))
        else:
            await asked.answer(by_id[key], decision, signals.decide)
    await asked.wait_notified()
    return "; ".join(problems)
