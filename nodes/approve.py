"""Approve: the one gate. One interrupt carries every open question; answers in any dialect are understood."""

from collections.abc import Sequence

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import JsonValue

from nodes.policy.answers import LOOK_AT_SIGNALS, RESUME, already_answered, read_answers
from nodes.policy.approvals import open_questions, payload
from nodes.runtime.context import Node, open_context
from nodes.runtime.execution import ExecutionContext, catch_up, resumed_execution
from nodes.runtime.services import Services
from state.approval import Approval
from state.run import Phase
from state.supervisor import SupervisorState, Update


def make_approve(services: Services) -> Node:
    """The node."""

    async def approve(state: SupervisorState, runtime: Runtime[None]) -> Update:
        """Ask, and take up whatever was answered; what cannot be read is asked again, with the reason."""
        questions = open_questions(state)
        run = open_context(services, state, runtime, Phase(state["phase"]))
        execution = await resumed_execution(run, state)
        if not run.can_wait:
            await execution.approvals.expire(questions, execution.signals.decide)
        is_open = any(question.id not in execution.signals.decisions for question in questions)
        answers = interrupt(payload(questions, state.get("unread", ""))) if is_open else LOOK_AT_SIGNALS
        problems = await take_answers(execution, questions, answers)
        update = await catch_up(execution, state)
        is_unread = not update and answers != LOOK_AT_SIGNALS
        return {**update, "unread": (problems or "there was no answer") if is_unread else ""}

    return approve


async def take_answers(execution: ExecutionContext, questions: Sequence[Approval], answers: JsonValue) -> str:
    """Keep what the deadline and then the answers decide of what is still open; what could not be used, in words."""
    asked, signals = execution.approvals, execution.signals
    await asked.expire([q for q in questions if q.id not in signals.decisions], signals.decide)
    if answers == LOOK_AT_SIGNALS:
        await asked.wait_notified()
        return ""
    served = execution.run.services.door
    decisions, problems = read_answers(answers, questions, door=served or RESUME)
    if served:  # whatever the client says
        decisions = {key: said.model_copy(update={"door": served}) for key, said in decisions.items()}
    by_id = {question.id: question for question in questions}
    for key, decision in decisions.items():
        if first := signals.decisions.get(key):
            problems.append(already_answered(key, first))
        else:
            await asked.answer(by_id[key], decision, signals.decide)
    await asked.wait_notified()
    return "; ".join(problems)
