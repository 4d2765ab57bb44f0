"""The tool calls of a conversation: which are open, what tells them apart, and how an edited one is shown."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from nodes.runtime.deeds import mark_of

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
        ToolMessage(f"the arguments are not valid JSON: {call.get('args')}; call again", tool_call_id=str(call["id"]))
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
    return mark_of(call["name"], call["args"])
