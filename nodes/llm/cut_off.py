"""Replies that a limit of tokens cut off: how they are told, how the rest is asked for, and how the halves join."""

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from nodes.policy.headings import without_thoughts
from state.record import Doubt

_FIELDS = ("finish_reason", "stop_reason", "done_reason")
"""Where OpenAI and Google, Anthropic, and Ollama say why a reply ended."""
_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})

GO_ON = (
    "Your reply was cut off by its limit of length. Go on where it stopped: repeat its last five words, then write the "
    "rest, as briefly as you can, and nothing that stands there already."
)
SHORTER = "Your reply was cut off by its limit of length before it said anything. Answer again, briefly."
CUT_OFF = "its answer was cut off by its limit of length (max_tokens), also when it was asked to go on"
CUT_OFF_FOR_GOOD = "its answer was cut off by its limit of length (max_tokens), and it could not be asked to go on"
CUT_OFF_ONCE = "its last reply was cut off by its limit of length (max_tokens)"
"""What people are told of a reply without an end."""


def is_cut_off(message: AIMessage) -> bool:
    """Whether a reply reached its limit before its end."""
    told = message.response_metadata
    details = told.get("incomplete_details")
    reasons = [*(told.get(field) for field in _FIELDS), details.get("reason") if isinstance(details, dict) else None]
    return any(isinstance(reason, str) and reason.lower() in _REASONS for reason in reasons)


def doubt_of_end(agent: str, task_id: str, why: str) -> Doubt:
    """That an agent's answer has no end."""
    return Doubt(kind="limited", task_id=task_id, said=f"{agent} at {task_id}: {why}")


def rest_of(message: AIMessage) -> str:
    """How the model is asked for what is missing of a reply; empty where nothing is."""
    return (GO_ON if without_thoughts(message.text).strip() else SHORTER) if is_cut_off(message) else ""


REST = "rest"
"""Key, in a message's `additional_kwargs`, that tells a request to go on with a reply that was cut off."""


def request_for_rest(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """What asks for the rest of the answer at the end of a conversation, where it was cut off; once in all of it."""
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage) or last.tool_calls or last.invalid_tool_calls:
        return None
    asked = any(REST in message.additional_kwargs for message in messages)
    return None if asked or not is_cut_off(last) else HumanMessage(rest_of(last), additional_kwargs={REST: True})


def answer_at_end(messages: Sequence[BaseMessage]) -> str:
    """The last thing said; where the rest of what was cut off was asked for, both halves."""
    asked = max((n for n, message in enumerate(messages) if n and REST in message.additional_kwargs), default=0)
    return both(messages[asked - 1].text, messages[-1].text) if asked else messages[-1].text


LONGEST_OVERLAP = 400
"""Characters in which the end of the first half is looked for at the beginning of the second."""
SHORTEST_OVERLAP = 8
BEGINNING = 60
"""Characters by which a second half that starts all over is known."""


def both(first: str, second: str) -> str:
    """Both halves as one text: what the second repeats stands there once, a first half of mere thoughts not at all."""
    begun = second.lstrip()
    if not without_thoughts(first).strip() or (
        len(first) >= BEGINNING and begun.startswith(first.lstrip()[:BEGINNING])
    ):
        return begun
    for length in range(min(LONGEST_OVERLAP, len(first), len(begun)), SHORTEST_OVERLAP - 1, -1):
        if first.rstrip().endswith(begun[:length]):
            return first.rstrip() + begun[length:]
    is_apart = first[-1].isspace() or second[:1].isspace() or not second or re.match(r"[^\w\s(\[\"'*`#-]", second)
    return f"{first}{'' if is_apart else ' '}{second}"
