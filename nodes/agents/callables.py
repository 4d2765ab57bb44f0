"""Functions (`async def run(brief, desk) -> str | dict`) and LangChain Runnables as agents.

LangGraph's `interrupt()` works in both: each call is a question to a human, like those of compiled graphs. The agent
ends there; when it is answered it runs again from its top, and the calls return the answers in the order in which
they were asked, as inside a LangGraph node.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import takewhile

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import merge_configs
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt
from pydantic import JsonValue

from nodes.agents.callbacks import BudgetCallbacks
from nodes.agents.internals import Answers, within
from nodes.agents.interrupts import InterruptQuestion, is_control, questions_of
from nodes.agents.invocation import Invocation
from nodes.agents.prompts import agent_input
from nodes.agents.results import outcome_of, result_of
from nodes.agents.tool_guard import ToolGuard
from nodes.llm.cut_off import CUT_OFF, CUT_OFF_FOR_GOOD, answer_at_end, request_for_rest
from nodes.llm.tokens import prompt_tokens
from nodes.runtime.calling import Parked, call, first_of_group
from nodes.runtime.desk import Desk
from nodes.tools.thread import in_thread
from state.errors import AgentFailed
from state.record import Outcome, Usage
from state.text import to_json


async def run_function(invocation: Invocation, make_desk: Callable[[], Desk]) -> Outcome:
    """One try of a function agent; it gets a new desk each time it begins. Model calls in it are counted.

    Raises:
        Parked: it asks a human, by its desk or by LangGraph's `interrupt()`.
        AgentFailed: the function declared failure, or returned what is not an outcome; and whatever it raises itself.
    """

    async def work() -> object:
        return await call(invocation.spec.run, invocation.brief, make_desk())

    around = get_config().get("callbacks")
    own = around.parent_run_id if isinstance(around, BaseCallbackManager) else None
    metered = BudgetCallbacks(invocation, is_limited=False)
    guard = ToolGuard(invocation, goes_on=False, own=(own,))
    try:
        with metered.counting():
            returned = await answering(invocation, work, guard, [*metered.handlers, *guard.handlers])
    finally:
        await metered.close()
        await guard.close()
    outcome = outcome_of(returned, invocation.spec.name, invocation.brief)
    uncounted = _beyond(outcome.usage, metered.used)
    await invocation.execution.budget.settle(invocation.charged_task, invocation.spec.name, uncounted)
    return outcome.model_copy(update={"usage": uncounted + metered.used, "doubts": metered.doubts()})


def _beyond(declared: Usage, counted: Usage) -> Usage:
    """What a function says it has used, without the calls that were counted while it made them."""
    if not counted:
        return declared
    return Usage(
        input_tokens=max(0, declared.input_tokens - counted.input_tokens),
        output_tokens=max(0, declared.output_tokens - counted.output_tokens),
        calls=max(0, declared.calls - counted.calls),
        cost=declared.cost,
    )


async def run_runnable(invocation: Invocation) -> Outcome:
    """One try. A chat model gets the messages, anything else `{"messages": [...], "task": {...}}`.

    Raises:
        Parked: it asks by LangGraph's `interrupt()`.
        AgentFailed: it returned what is not an outcome, or the run's budget had no room for one of its model calls.
    """
    given, run = agent_input(invocation), invocation.spec.run
    metered, guard = BudgetCallbacks(invocation), ToolGuard(invocation, goes_on=False)
    entry = given["messages"] if isinstance(run, BaseChatModel) else given
    told: RunnableConfig = {"callbacks": [*metered.handlers, *guard.handlers]}
    is_blocking = isinstance(run, RunnableLambda) and not hasattr(run, "afunc")
    work = partial(in_thread, partial(run.invoke, entry, told)) if is_blocking else partial(run.ainvoke, entry, told)
    endless = ""
    try:
        with metered.counting():
            answer = result_of(await answering(invocation, work, guard))
            if metered.cut_off and answer == metered.cut_off.text and isinstance(run, BaseChatModel):
                answer, endless = await _with_its_rest(invocation, metered, [*given["messages"], metered.cut_off], told)
    finally:
        await metered.close()
        await guard.close()
    outcome = outcome_of(answer, invocation.spec.name, invocation.brief)
    await invocation.execution.budget.settle(invocation.charged_task, invocation.spec.name, outcome.usage)
    return outcome.model_copy(update={"usage": outcome.usage + metered.used, "doubts": metered.doubts(endless)})


async def _with_its_rest(
    invocation: Invocation, metered: BudgetCallbacks, said: Sequence[BaseMessage], told: RunnableConfig
) -> tuple[str, str]:
    """A chat model's answer that was cut off, with the rest, which is asked for once; and what is said of its end."""
    asked = [*said, *filter(None, [request_for_rest(said)])]
    if await invocation.execution.budget.refusal(prompt_tokens(said)):
        return said[-1].text, CUT_OFF_FOR_GOOD
    try:
        reply = await invocation.spec.run.ainvoke(asked, told)
    except Exception:  # noqa: BLE001 - whatever it is, the first half is there
        return said[-1].text, CUT_OFF_FOR_GOOD
    return answer_at_end([*asked, reply]), CUT_OFF * (metered.cut_off is not None)


ASKED = "interrupts"
"""Under this the conversation of a parked agent keeps what it has asked, in order."""


async def answering(
    invocation: Invocation,
    work: Callable[[], Awaitable[object]],
    guard: ToolGuard,
    handlers: Sequence[BaseCallbackHandler] = (),
) -> object:
    """What `work` returns, with the questions answered that it asks; it is called again for each new answer.

    `handlers` are told of what it calls.

    Raises:
        Parked: it asks what was not answered yet, or `guard` does.
        AgentFailed: a human said no, or it asks in a way in which answers cannot be told apart.
    """
    if why := guard.denied():
        raise AgentFailed(why, "denied")
    asked = _asked_before(invocation)
    while True:
        if waiting := guard.waiting():
            raise Parked(*waiting, conversation=_kept(invocation, asked, guard))
        known = _answers(asked, invocation, guard)
        answers = Answers(known)
        try:
            told = _heard_by(handlers, get_config())
            with guard.governing(), within(answers.config(told)):
                return await first_of_group(work())
        except Parked as parked:
            raise Parked(*parked.approvals, conversation=_kept(invocation, asked, guard)) from None
        except GraphInterrupt as error:
            if guard.waiting() or (guard.asked and not any(error.args)):
                continue
            value = _value(error)
        if answers.given < len(known):
            raise AgentFailed("a graph that it runs has asked, and cannot be answered with nothing", "permanent")
        if is_control(value):  # a supervisor that it runs is paused
            raise Parked(conversation=_kept(invocation, asked, guard))
        asked = [*asked, value]


def _heard_by(handlers: Sequence[BaseCallbackHandler], config: RunnableConfig) -> RunnableConfig:
    """`config` with handlers added; LangChain's merging copies all that it has besides."""
    around = config.get("callbacks")
    if not handlers or not isinstance(around, BaseCallbackManager):
        return merge_configs(config, {"callbacks": list(handlers)}) if handlers else config
    manager = around.copy()
    for handler in handlers:
        manager.add_handler(handler)
    return {**config, "callbacks": manager}


def _asked_before(invocation: Invocation) -> list[JsonValue]:
    found = invocation.kept.get(ASKED)
    return found if isinstance(found, list) else []


def _kept(invocation: Invocation, asked: list[JsonValue], guard: ToolGuard) -> list[JsonValue]:
    return invocation.keeping(**{ASKED: asked}, **guard.kept())


def _answers(asked: list[JsonValue], invocation: Invocation, guard: ToolGuard) -> list[object]:
    """The answers to what was asked; Parked where one is missing."""
    decisions = invocation.execution.signals.decisions
    questions = questions_of([Interrupt(value, id=f"i{n}") for n, value in enumerate(asked)], invocation)
    answered = list(takewhile(lambda question: question.is_answered(decisions), questions))
    if len(answered) < len(questions):
        waiting: Sequence[InterruptQuestion] = questions[len(answered) :]
        still_open = [one for question in waiting for one in question.approvals if one.id not in decisions]
        raise Parked(*still_open, conversation=_kept(invocation, asked, guard))
    return [question.answer(decisions, invocation.question_prefix) for question in questions]


def _value(error: GraphInterrupt) -> JsonValue:
    """What is asked, as plain data."""
    found: Sequence[Interrupt] = error.args[0] if error.args else ()
    if len(found) != 1:
        raise AgentFailed(
            "a graph that it runs asks several things at once, which cannot be answered one by one: make that graph"
            " an agent of its own",
            "permanent",
        )
    return to_json(found[0].value)
