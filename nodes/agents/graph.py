"""Compiled graphs as agents, `create_agent` included: own state, own models, own `interrupt()`, own breakpoints.

At a breakpoint (`interrupt_before`, `interrupt_after`) a human says whether the graph goes on.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn, cast

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from pydantic import JsonValue

from nodes.agents.callbacks import BudgetCallbacks
from nodes.agents.internals import guarded, is_model_loop
from nodes.agents.interrupts import InterruptQuestion, questions_of
from nodes.agents.invocation import Invocation
from nodes.agents.mail import new_mail
from nodes.agents.prompts import agent_input, fit_input, input_schema
from nodes.agents.results import outcome_of, result_as_json, result_of
from nodes.agents.tool_calls import without_answer
from nodes.agents.tool_guard import ToolGuard
from nodes.llm.cut_off import (
    CUT_OFF,
    CUT_OFF_FOR_GOOD,
    CUT_OFF_ONCE,
    REST,
    answer_at_end,
    is_cut_off,
    request_for_rest,
)
from nodes.llm.tokens import prompt_tokens
from nodes.runtime.calling import Parked
from nodes.runtime.durable import GraphPosition, GraphThread, open_graph_thread
from state.approval import Approval
from state.errors import AgentFailed
from state.record import Outcome
from state.text import to_json


async def run_graph(invocation: Invocation) -> Outcome:
    """One try, on a thread of its own below the run's: it goes on where it stood, after an answer or after a crash.

    Raises:
        Parked: it asks, or calls a tool that a human has to allow; all that its branches ask is asked at once, and it
            goes on when all of that is answered.
        AgentFailed: it ended without a result, or the run's budget had no room for one of its model calls.
    """
    metered, guard = BudgetCallbacks(invocation), ToolGuard(invocation, goes_on=True)
    graph = guarded(invocation.spec.run, guard.around, lambda said: new_mail(said, invocation))
    callbacks = (*metered.handlers, *guard.handlers)
    thread = open_graph_thread(invocation.execution, graph, invocation.thread, callbacks=callbacks)
    given = fit_input(agent_input(invocation), input_schema(invocation.spec.run))
    try:
        with guard.governing(), metered.counting():
            position = await onwards(invocation, thread, given, guard)
            answer, endless = await _to_its_end(invocation, thread, position, guard)
    except (AgentFailed, GraphRecursionError) as error:
        is_endless = isinstance(error, GraphRecursionError)
        if not (metered.reached or is_endless):
            raise
        said = await _said(thread)
        calls = metered.reached or f"{metered.used.calls} calls"
        why = f"its graph went on without end: {error}; " if is_endless else ""
        raise AgentFailed(f"{why}{without_answer(calls, said)}", "limit") from error
    finally:
        await metered.close()
        await guard.close()
    outcome = outcome_of(result_as_json(answer), invocation.spec.name, invocation.brief)
    await invocation.execution.budget.settle(invocation.charged_task, invocation.spec.name, outcome.usage)
    return outcome.model_copy(update={"usage": outcome.usage + metered.used, "doubts": metered.doubts(endless)})


async def _to_its_end(
    invocation: Invocation, thread: GraphThread, position: GraphPosition, guard: ToolGuard
) -> tuple[object, str]:
    """What a graph has answered, and what is said of that where it has no end.

    Of an answer that was cut off the rest is asked for, once, where that runs no code of the user's again: in a model's
    loop with its tools.
    """
    rest = _rest(invocation, position)
    if rest and not await invocation.execution.budget.refusal(prompt_tokens(rest)):
        try:
            position = await onwards(invocation, thread, {"messages": rest}, guard, is_more=True)
        except GraphBubbleUp:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, the first half is there
            return result_of(position.values), CUT_OFF_FOR_GOOD
    said = _messages(position)
    answer = result_of(position.values)
    if not (said and answer == said[-1].text):
        return answer, ""
    last = said[-1]
    is_endless = isinstance(last, AIMessage) and is_cut_off(last)
    was_asked = any(REST in message.additional_kwargs for message in said)
    return answer_at_end(said), (CUT_OFF if was_asked else CUT_OFF_ONCE) * is_endless


def _rest(invocation: Invocation, position: GraphPosition) -> list[BaseMessage]:
    """The conversation that asks for what is missing of its answer; empty where nothing is, or nobody can be asked."""
    said = _messages(position)
    asked = request_for_rest(said) if position.has_ended and is_model_loop(invocation.spec.run) else None
    return [*said, asked] if asked and result_of(position.values) == said[-1].text else []


def _messages(position: GraphPosition) -> list[BaseMessage]:
    found = position.values.get("messages")
    return found if isinstance(found, list) and all(isinstance(one, BaseMessage) for one in found) else []


async def _said(thread: GraphThread) -> Sequence[object]:
    """The messages of a graph that was stopped."""
    position = await thread.position()
    said = position.values.get("messages") if position and isinstance(position.values, Mapping) else None
    return said if isinstance(said, list) else []


async def onwards(
    invocation: Invocation,
    thread: GraphThread,
    given: object,
    guard: ToolGuard | None = None,
    *,
    is_more: bool = False,
) -> GraphPosition:
    """Run a graph to its end, answering what is answered; Parked where it or its `guard` asks, or at a breakpoint.

    `is_more`: it has come to its end, and is given something more.
    """
    decisions = invocation.execution.signals.decisions
    before = await thread.position()
    asked = questions_of(before.questions, invocation) if before else []
    held = breakpoint_before(invocation, thread, before) if before and not asked else None
    is_open = any(not question.is_answered(decisions) for question in asked) or bool(guard and guard.waiting())
    if invocation.execution.signals.is_stopping or is_open or held:
        _park(invocation, asked, guard, before, held)
    if guard and (why := guard.denied()):
        raise AgentFailed(why, "denied")
    answers = {question.interrupt.id: question.answer(decisions, invocation.question_prefix) for question in asked}
    position = await thread.run(given, answers, hear=lambda said: _report(invocation, said), is_more=is_more)
    if position.questions or (guard and guard.asked and not position.has_ended):
        _park(invocation, questions_of(position.questions, invocation), guard)
    if held := breakpoint_after(invocation, thread, position):
        _park(invocation, [], guard, position, held)
    return position


def _park(
    invocation: Invocation,
    asked: Sequence[InterruptQuestion],
    guard: ToolGuard | None,
    position: GraphPosition | None = None,
    held: Approval | None = None,
) -> NoReturn:
    known = invocation.execution.signals.decisions
    still_open = [approval for question in asked for approval in question.approvals if approval.id not in known]
    kept: dict[str, JsonValue] = {"thread": invocation.thread}
    if position and held:
        still_open.append(held)
        kept |= kept_place(position)
    if guard:
        still_open += guard.waiting()
        kept |= guard.kept([one for question in asked for one in question.approvals if question.is_about_tools])
    raise Parked(*still_open, conversation=invocation.keeping(**kept))


async def _report(invocation: Invocation, said: object) -> None:
    """Pass on what a graph tells about itself."""
    await invocation.execution.run.emit(
        "agent_reported",
        task_id=invocation.charged_task,
        agent=invocation.spec.name,
        path=invocation.path,
        said=to_json(said),
    )


GO_ON = "go on"
HELD = "held"
"""Under this the conversation of a parked agent keeps the checkpoint at which its graph was held."""


def breakpoint_before(invocation: Invocation, thread: GraphThread, position: GraphPosition) -> Approval | None:
    """The question whether a graph that is found at a breakpoint may go on, as long as nobody has answered it.

    Found is one that parked there, or that was cut off in front of a step which has a breakpoint.

    Raises:
        AgentFailed: class `denied`, a human said no.
    """
    stops = thread.graph.interrupt_before_nodes
    is_in_front = stops == "*" or bool(set(stops) & set(position.upcoming))
    if position.has_ended or not (is_in_front or invocation.kept.get(HELD) == position.checkpoint):
        return None
    question = _question(invocation, position)
    said = invocation.execution.signals.decisions.get(question.id)
    if said and said.type == "reject":
        raise AgentFailed(f"{said.who} did not allow it to go on {said.message}".strip(), "denied")
    return None if said else question


def breakpoint_after(invocation: Invocation, thread: GraphThread, position: GraphPosition) -> Approval | None:
    """The same for a graph that has run until it stopped."""
    graph = thread.graph
    is_held = bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes) and not position.has_ended
    return _question(invocation, position) if is_held else None


def kept_place(position: GraphPosition) -> dict[str, JsonValue]:
    """What is kept of where it stands."""
    return {HELD: position.checkpoint}


def _question(invocation: Invocation, position: GraphPosition) -> Approval:
    steps = ", ".join(position.upcoming)
    return Approval(
        id=f"{invocation.question_prefix}{position.checkpoint}",
        task_id=invocation.brief.task.id,
        agent=invocation.spec.name,
        path=invocation.path,
        action=GO_ON,
        args={"next": cast(list[JsonValue], list(position.upcoming))},
        choices=["approve", "reject"],
        reason=f"its graph has a breakpoint before it goes on with {steps}",
        description=f"{invocation.spec.name} stands at a breakpoint of its graph. Next: {steps}",
    )
