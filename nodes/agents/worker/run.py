"""Running the built-in worker: where its conversation starts from."""

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import messages_from_dict
from pydantic import JsonValue


def _opening(conversation: Sequence[JsonValue]) -> dict[str, object]:
    """The worker's input: nothing, or the conversation it goes on from."""
    if not conversation:
        return {"thoughts": 0}
    messages = messages_from_dict(cast(list[dict[str, Any]], list(conversation)))
    return {"messages": messages, "thoughts": sum(message.type == "ai" for message in messages)}
