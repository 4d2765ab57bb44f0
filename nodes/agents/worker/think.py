"""Opens the worker's conversation, reads its mail, and makes one model call: what to do next, or the answer.

An answer that was cut off by its limit of length is gone on with, once.
"""

from collections.abc import Sequence
from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from nodes.agents.mail import READ, in_brief, new_mail
from nodes.agents.prompts import system_prompt, task_prompt
from nodes.agents.worker.context import WorkerContext, WorkerState
from nodes.llm.ask import ask, name_of, usage_of, used_of
from nodes.llm.cut_off import CUT_OFF, CUT_OFF_FOR_GOOD, CUT_OFF_ONCE, REST, both, is_cut_off, rest_of
from nodes.llm.server import address_of
from nodes.llm.tokens import prompt_tokens
from nodes.policy.failures import failure_of
from nodes.runtime.budget import asking
from nodes.runtime.calling import Parked
from nodes.runtime.turns import Turn, in_turn
from state.agent import AgentSpec, ModelAt
from state.errors import AgentFailed, FailureClass, ModelFailed, ModelUnavailable
from state.record import Failure, Usage
from state.supervisor import Update


async def brief(state: WorkerState, runtime: Runtime[WorkerContext]) -> Update:  # noqa: ARG001 - a node takes both
    """Open the conversation."""
    context = runtime.context
    task = HumanMessage(task_prompt(context.invocation.brief), additional_kwargs={READ: in_brief(context.invocation)})
    return {"messages": [SystemMessage(system_prompt(context.invocation.spec, context.invocation.brief)), task]}


LAST_CALL = "This is your last turn: call no more tools and answer with what you have."


async def think(state: WorkerState, runtime: Runtime[WorkerContext]) -> Update:
    """Read new mail and ask the agent's model; at its own limit, for an answer without tools."""
    context = runtime.context
    if context.invocation.execution.signals.is_stopping:
        return {"halted": True}
    thoughts, used = state.get("thoughts", 0), Usage.model_validate(state.get("usage") or {})
    limited = _limit(context.invocation.spec, thoughts + 1, used) if thoughts else ""
    rest = _rest_of(state["messages"])
    mail = [] if rest else new_mail(state["messages"], context.invocation)
    note = [HumanMessage(rest, additional_kwargs={REST: True})] if rest else [HumanMessage(LAST_CALL)] * bool(limited)
    messages: list[AnyMessage] = [*state["messages"], *mail, *note]
    try:
        tools = [] if limited or rest else context.tools
        if rest and await context.invocation.execution.budget.refusal(prompt_tokens(messages)):
            return {"cut_off": CUT_OFF_FOR_GOOD, "failure": None}
        reply, spent = await _asked(context, messages, tools)
    except Parked:
        return {"halted": True}
    except ModelFailed as error:
        if rest and not isinstance(error, ModelUnavailable):
            return {"cut_off": f"{CUT_OFF_FOR_GOOD} ({error})", "failure": None}
        return _failed(failure_of(error), str(error))
    except AgentFailed as error:
        return _failed(error.failure, str(error))
    return {
        "messages": [*mail, *note, reply],
        "thoughts": thoughts + 1,
        "usage": (used + spent).model_dump(mode="json"),
        "limited": "" if rest else limited,
        "cut_off": (CUT_OFF if rest else CUT_OFF_ONCE if limited else "") if is_cut_off(reply) else "",
        "failure": None,
    }


async def _asked(
    context: WorkerContext, messages: Sequence[AnyMessage], tools: Sequence[BaseTool]
) -> tuple[AIMessage, Usage]:
    """The model's reply, within the budget and when its server may be asked; and what it has used.

    Raises:
        Parked: the run is to stop while it is waited.
    """
    invocation, spec, run = context.invocation, context.invocation.spec, context.invocation.execution.run
    size = prompt_tokens(messages, context.described if tools else [])

    async def once(own: Turn) -> tuple[AIMessage, Usage]:
        async with invocation.execution.budget.call(
            invocation.charged_task, spec.name, size, _cap(spec), model=name_of(context.model)
        ) as room:
            with asking(room, size, run.policy.call_timeout_s) as bounds:
                reply = await ask(context.model, messages, tools=tools)
            room.used = usage_of(reply, size, room.cap).model_copy(update={"models": [used_of(context.model)]})
        own.answered(bounds.headers)
        return reply, room.used

    return await in_turn(run, address_of(context.model), once, spec.limits.timeout_s, invocation.execution.safe_point)


def _rest_of(messages: Sequence[AnyMessage]) -> str:
    """What asks for the rest of the last reply, where it was cut off in an answer, and was not asked for before."""
    last, before = messages[-1], messages[-2:-1]
    if not isinstance(last, AIMessage) or last.tool_calls or last.invalid_tool_calls:
        return ""
    return "" if any(REST in message.additional_kwargs for message in before) else rest_of(last)


def answer_in(messages: Sequence[AnyMessage]) -> str:
    """The last thing said; where that is the rest of what was cut off, both halves."""
    halves = [message.text for message in messages[-3:] if isinstance(message, AIMessage)]
    is_in_two = len(messages) > 2 and REST in messages[-2].additional_kwargs
    return both(halves[0], halves[-1]) if is_in_two else messages[-1].text


def _cap(spec: AgentSpec) -> int | None:
    """Tokens of one reply, where the agent or its model has a cap of its own."""
    return spec.limits.max_tokens or (spec.model.max_tokens if isinstance(spec.model, ModelAt) else None)


def _limit(spec: AgentSpec, thoughts: int, used: Usage) -> str:
    """Which of the agent's own limits the next call reaches, if any."""
    if thoughts >= spec.limits.iterations:
        return f"it reached its limit of {spec.limits.iterations} model calls"
    calls = max(1, used.calls)
    if spec.limits.tokens is not None and used.total_tokens * (calls + 2) / calls > spec.limits.tokens:
        return f"it reached its limit of {spec.limits.tokens} tokens"
    return ""


def _failed(kind: FailureClass, message: str) -> Update:
    return {"failure": Failure(kind=kind, message=message).model_dump(mode="json")}


def after_think(state: WorkerState) -> Literal["think", "act", "conclude"]:
    """Tools, if the model asked for some; the rest of an answer that was cut off; otherwise it is done."""
    if state.get("failure") or state.get("limited") or state.get("halted") or state.get("cut_off"):
        return "conclude"
    last = state["messages"][-1]
    if isinstance(last, AIMessage) and (last.tool_calls or last.invalid_tool_calls):
        return "act"
    return "think" if _rest_of(state["messages"]) else "conclude"
