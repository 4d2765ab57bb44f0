"""Tool calls of a conversation: which are open, what tells them apart, and what each does to the outside world.

For tools that Baton's own worker calls, and for those of agents that bring their own loop. What triggers look at comes
from a tool's name and its marks (`metadata`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, cast, get_args

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import JsonValue

from nodes.agents.invocation import Invocation
from nodes.policy.orders import objection
from nodes.policy.oversight import effective_oversight, fired, is_sensitive, response
from nodes.policy.takeover import FOR_PEOPLE
from nodes.runtime.calling import contained
from nodes.runtime.side_effects import SideEffect, idempotency_key, is_grave, signs_of
from state.agent import AgentSpec
from state.approval import Risk, TriggerInput
from state.errors import AgentFailed
from state.policy import Policy
from state.side_effect import Effect
from state.text import as_text


def side_effect_of(call: ToolCall, mark: str, tool: BaseTool | None, invocation: Invocation) -> SideEffect:
    """The call, as what it does; `mark` tells it from the others of the task. No tool: there is none of that name."""
    marks, schema = (None, None) if tool is None else (tool.metadata or {}, _schema_of(tool))
    return side_effect_by_marks(call["name"], call["args"], marks, mark, invocation, schema)


def side_effect_by_marks(
    name: str,
    args: dict[str, JsonValue],
    marks: Mapping[str, Any] | None,
    mark: str,
    invocation: Invocation,
    schema: dict[str, JsonValue] | None = None,
) -> SideEffect:
    """The same for a tool of which only the marks are known; None where there is no such tool."""
    task, policy = invocation.brief.task, invocation.execution.run.policy
    signs = _signs_of(name, marks, policy) if marks is not None else None
    must_ask = str((marks or {}).get("ask") or "")
    if signs and not must_ask and changes_the_world(name, marks or {}, policy):
        must_ask = objection(name, invocation.brief.requests, is_grave=is_grave(signs))
    return SideEffect(
        # Without the round: a task that review sends back does not publish the same thing twice, nor ask twice.
        id=f"{task.id}.{mark}",
        task=task,
        agent=invocation.spec.name,
        name=name,
        args=args,
        signs=signs,
        args_schema=schema,
        path=tuple(invocation.path),
        undo=str((marks or {}).get("undo") or ""),
        must_ask=must_ask,
    )


def is_overseen(side_effect: SideEffect, policy: Policy) -> bool:
    """Whether it is asked about, or put on record before it is done, also where the agent is not trusted yet."""
    found = fired(side_effect.signs, policy) if side_effect.signs else []
    return bool(side_effect.must_ask) or response(found, effective_oversight(policy.oversight, "novice"))[0] != "pass"


def _signs_of(name: str, marks: Mapping[str, Any], policy: Policy) -> TriggerInput:
    """A risk that nobody knows counts as critical: a slip in it never lets more through."""
    risk = str(marks["risk"]).strip().lower() if marks.get("risk") is not None else None
    known = cast(Risk, risk if risk in get_args(Risk) else "critical") if risk is not None else None
    cost = float(marks.get("cost", 0.0))
    return signs_of(name, policy, risk=known, is_marked=bool(marks.get("sensitive")), cost=cost)


def _schema_of(tool: BaseTool) -> dict[str, JsonValue]:
    """JSON Schema of what a caller gives the tool."""
    schema: dict[str, JsonValue] = convert_to_openai_tool(tool)["function"]["parameters"]
    return schema


FOUND_CHARS = 300
"""How much of each thing that tools have found people are shown."""
MOST_FOUND = 5


def own_limit(spec: AgentSpec, calls: int) -> str:
    """Which of its own limits an agent has come to that has made so many model calls."""
    return f"{calls} calls" if calls >= spec.limits.iterations else f"{spec.limits.tokens} tokens"


def without_answer(limit: str, messages: Sequence[object]) -> str:
    """What is said of an agent that came to its `limit` without an answer: with what its tools found last."""
    answers = [one for one in messages if isinstance(one, ToolMessage) and one.status != "error" and one.text.strip()]
    found = dict.fromkeys(f"{one.name}: {' '.join(one.text.split())[:FOUND_CHARS]}" for one in answers)
    shown = "; ".join(list(found)[-MOST_FOUND:])
    return f"it reached {limit} without an answer; its tools found {shown or 'nothing'}"


_PROPOSED = "proposed"
"""Where a reply keeps the marks of calls as the model made them, for those that a human has edited."""


def last_reply(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """What the model said last."""
    return next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)


def answered_ids(messages: Sequence[AnyMessage]) -> set[str]:
    """The ids of the last reply's calls that have their answer."""
    last = max((n for n, message in enumerate(messages) if isinstance(message, AIMessage)), default=0)
    return {message.tool_call_id for message in messages[last:] if isinstance(message, ToolMessage)}


def open_calls(messages: Sequence[AnyMessage]) -> list[tuple[ToolCall, str]]:
    """The calls of the last reply that have no answer yet, each with its mark.

    A mark is made of the tool, its arguments and, from the second time on, how often they came in this conversation:
    ids of calls are the model's, and some models give the same one again and again.
    """
    reply = last_reply(messages)
    if reply is None:
        return []
    answered = answered_ids(messages)
    seen: Counter[str] = Counter()
    marks: list[str] = []
    for message in (message for message in messages if isinstance(message, AIMessage)):
        marks = []
        for call in message.tool_calls:
            mark = _proposed(message).get(str(call["id"])) or _mark(call)
            seen[mark] += 1
            marks.append(mark if seen[mark] == 1 else f"{mark}.{seen[mark]}")
    return [(call, mark) for call, mark in zip(reply.tool_calls, marks, strict=True) if call["id"] not in answered]


def broken_calls(messages: Sequence[AnyMessage]) -> list[ToolMessage]:
    """Answers to the calls of the last reply that could not even be parsed."""
    reply = last_reply(messages)
    answered = answered_ids(messages)
    return [
        ToolMessage(
            f"the arguments are no JSON object: {call.get('args')}; call again",
            tool_call_id=str(call["id"]),
            status="error",
        )
        for call in (reply.invalid_tool_calls if reply else [])
        if call["id"] not in answered
    ]


def with_edits(reply: AIMessage, edits: Mapping[str, dict[str, Any]]) -> AIMessage:
    """The reply with what a human made of its calls, by call id: that is what ran, and what the model goes on from."""
    marks = {str(call["id"]): _mark(call) for call in reply.tool_calls if call["id"] in edits}
    calls = [
        cast(ToolCall, {**call, "args": edits[str(call["id"])]}) if call["id"] in edits else call
        for call in reply.tool_calls
    ]
    kept = {key: value for key, value in reply.additional_kwargs.items() if key != "tool_calls"}
    return reply.model_copy(
        update={"tool_calls": calls, "additional_kwargs": {**kept, _PROPOSED: {**_proposed(reply), **marks}}}
    )


def _proposed(reply: AIMessage) -> dict[str, str]:
    return cast(dict[str, str], reply.additional_kwargs.get(_PROPOSED, {}))


def _mark(call: ToolCall) -> str:
    return idempotency_key(call["name"], call["args"])


def changes_the_world(name: str, marks: Mapping[str, Any], policy: Policy) -> bool:
    """Whether what the tool does is to happen once: it is sensitive or a risk, can be undone, or says `side_effect`."""
    is_risky = str(marks.get("risk", "")).strip().lower() in ("high", "critical")
    return (
        is_risky or any(marks.get(mark) for mark in ("sensitive", "side_effect", "undo")) or is_sensitive(name, policy)
    )


GO_ON = "; do not call it again, go on without it"
"""What a model is told besides of what a human did not allow; nobody else needs it."""


def recorded(call: ToolCall, effect: Effect) -> ToolMessage:
    """What the tool answers where the action was done, was refused or failed."""
    told = as_text(effect.reply)
    is_refused = effect.status == "refused"
    return ToolMessage(
        told + GO_ON if is_refused else told,
        tool_call_id=str(call["id"]),
        name=call["name"],
        status="success" if effect.status == "done" else "error",
        artifact=effect.artifact,
        additional_kwargs={FOR_PEOPLE: told} if is_refused else {},
    )


def failed(call: ToolCall, why: str) -> ToolMessage:
    """What goes back to the model when a call came to nothing."""
    return ToolMessage(why, tool_call_id=str(call["id"]), name=call["name"], status="error")


async def charged(marks: Mapping[str, Any], call: ToolCall, invocation: Invocation) -> ToolMessage | None:
    """Put the tool's price on the ledger; an answer, instead of the call, where the run's budget has no room for it."""
    cost = float(marks.get("cost", 0.0))
    try:
        if cost:
            await invocation.execution.budget.charge(invocation.charged_task, invocation.spec.name, cost)
    except AgentFailed as error:
        return failed(call, str(error))
    return None


class GovernedTool(StructuredTool):
    """A tool that asks by itself (`nodes.agents.tool_guard.governed`)."""

    inner: StructuredTool
    """What it does when it may."""


def contained_tool(tool: BaseTool) -> BaseTool:
    """The tool, with a thread of its own if it blocks, and unable to end the process; a class of one's own as it is.

    Whoever calls it has asked before, so that a governed one does not ask again.
    """
    if isinstance(tool, GovernedTool):
        return contained_tool(tool.inner)
    if not isinstance(tool, StructuredTool | Tool):
        return tool
    if tool.coroutine:
        return tool.model_copy(update={"coroutine": contained(tool.coroutine, is_blocking=False)})
    if tool.func is None or "callbacks" in signature(tool.func).parameters:  # LangChain would hand it async ones
        return tool
    return tool.model_copy(update={"coroutine": contained(tool.func, is_blocking=True)})
