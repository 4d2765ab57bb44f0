"""LangGraph's `interrupt()` in agents that are no graphs: a function, a Runnable.

Each call is a question to a human, like those of compiled graphs. The agent ends there; when it is answered it runs
again from its top, and the calls return the answers in the order in which they were asked: as inside a LangGraph node.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt
from pydantic import JsonValue

from nodes.agents.internals import Answers, with_handlers, within
from nodes.agents.job import Job
from nodes.agents.questions import Question, is_control, questions_of
from nodes.agents.toolgate import ToolGate
from nodes.runtime.leaving import Parked, ungrouped
from nodes.runtime.subthread import plain
from state.errors import AgentFailed

ASKED = "interrupts"
"""Under this the conversation of a parked agent keeps what it has asked, in order."""


async def answering(
    job: Job, work: Callable[[], Awaitable[object]], gate: ToolGate, handlers: Sequence[BaseCallbackHandler] = ()
) -> object:
    """What `work` returns, with the questions answered that it asks; it is called again for each new answer.

    `handlers` are told of what it calls.

    Raises:
        Parked: it asks what was not answered yet, or `gate` does.
        AgentFailed: a human said no, or it asks in a way in which answers cannot be told apart.
    """
    if why := gate.denied():
        raise AgentFailed(why, "denied")
    asked = _asked_before(job)
    while True:
        if waiting := gate.waiting():
            raise Parked(*waiting, conversation=_kept(job, asked, gate))
        known = _answers(asked, job, gate)
        answers = Answers(known)
        try:
            with within(answers.config(with_handlers(get_config(), handlers))):
                return await ungrouped(work())
        except Parked as parked:
            raise Parked(*parked.approvals, conversation=_kept(job, asked, gate)) from None
        except GraphInterrupt as error:
            if gate.waiting() or (gate.asked and not any(error.args)):
                continue
            value = _value(error)
        if answers.given < len(known):
            raise AgentFailed("a graph that it runs has asked, and cannot be answered with nothing", "permanent")
        if is_control(value):  # a supervisor that it runs is paused
            raise Parked(conversation=_kept(job, asked, gate))
        asked = [*asked, value]


def _asked_before(job: Job) -> list[JsonValue]:
    found = job.kept.get(ASKED)
    return found if isinstance(found, list) else []


def _kept(job: Job, asked: list[JsonValue], gate: ToolGate) -> list[JsonValue]:
    return job.keeping(**{ASKED: asked}, **gate.kept())


def _answers(asked: list[JsonValue], job: Job, gate: ToolGate) -> list[object]:
    """The answers to what was asked; Parked where one is missing."""
    decisions = job.floor.steering.decisions
    questions = questions_of([Interrupt(value, id=f"i{n}") for n, value in enumerate(asked)], job)
    answered = list(takewhile(lambda question: question.is_answered(decisions), questions))
    if len(answered) < len(questions):
        waiting: Sequence[Question] = questions[len(answered) :]
        still_open = [one for question in waiting for one in question.approvals if one.id not in decisions]
        raise Parked(*still_open, conversation=_kept(job, asked, gate))
    return [question.answer(decisions, job.asks) for question in questions]


def _value(error: GraphInterrupt) -> JsonValue:
    """What is asked, as plain data."""
    found: Sequence[Interrupt] = error.args[0] if error.args else ()
    if len(found) != 1:
        raise AgentFailed(
            "a graph that it runs asks several things at once, which cannot be answered one by one: make that graph"
            " an agent of its own",
            "permanent",
        )
    return plain(found[0].value)
