"""A worker that calls the same tool with the same arguments over and over is told so, and then stopped."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolCall

REFUSED_FROM = 4
"""The call with which a worker is told that the answer will be the same."""
STOPPED_FROM = 8
"""The call with which it is stopped."""


def refused(call: ToolCall, messages: Sequence[AnyMessage]) -> str:
    """Why this call is not made again, or an empty string."""
    times = _times(messages)[_mark(call)]
    if times < REFUSED_FROM:
        return ""
    return (
        f"you have called {call['name']} {times} times with the same arguments, the answer will be the same: "
        "use what you have, try something else, or give your final answer"
    )


def stopped(messages: Sequence[AnyMessage]) -> str:
    """Why a worker is stopped, or an empty string."""
    found = _times(messages).most_common(1)
    if not found or found[0][1] < STOPPED_FROM:
        return ""
    name, times = found[0][0].partition(" ")[0], found[0][1]
    return f"it was stopped: it called {name} {times} times with the same arguments"


def _times(messages: Sequence[AnyMessage]) -> Counter[str]:
    """How often each call was asked for, the open ones included."""
    return Counter(_mark(call) for message in messages if isinstance(message, AIMessage) for call in message.tool_calls)


def _mark(call: ToolCall | Mapping[str, Any]) -> str:
    return f"{call['name']} {json.dumps(call['args'], sort_keys=True, default=str)}"
