"""Tokens of a model call: estimated before it is made, and how many its reply may have at most (`max_tokens`).

Estimate: a token is four bytes of UTF-8 (OpenAI's rule of thumb for English text; other scripts have more bytes a
letter, and more tokens), and each message has four more around it. What providers report corrects it (`Budget`).
"""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from nodes.llm.bounds import current_bounds
from nodes.llm.openai import is_at_openai, is_chat_openai

BYTES_PER_TOKEN = 4
PER_MESSAGE = 4
"""Tokens that the form of a chat adds to each message."""


def tokens_in(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def prompt_tokens(messages: Sequence[BaseMessage | str], tools: Sequence[Any] = ()) -> int:
    """About how many tokens a request has: messages with the tool calls in them, and what describes the tools."""
    described = sum(tokens_in(json.dumps(convert_to_openai_tool(tool))) for tool in tools)
    return described + sum(PER_MESSAGE + message_tokens(message) for message in messages)


def message_tokens(message: BaseMessage | str) -> int:
    """About how many tokens the text of one message and its tool calls have."""
    if isinstance(message, str):
        return tokens_in(message)
    called = message.tool_calls if isinstance(message, AIMessage) else []
    return tokens_in(str(message.text)) + sum(
        tokens_in(call["name"] + json.dumps(call["args"], default=str)) for call in called
    )


def current_cap() -> int:
    """The cap within which models are asked here; 0 if there is none."""
    return current_bounds().cap or 0


def own_cap(model: object) -> int | None:
    """The longest reply that a model was made for, where its maker set one."""
    found = (getattr(model, field, None) for field in ("max_tokens", *_FIELDS))
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def capped(model: BaseChatModel) -> tuple[BaseChatModel, dict[str, Any]]:
    """The model with the cap of `bounded`, and what is to be bound to it besides.

    Servers of OpenAI's protocol all know `max_tokens`; OpenAI itself wants `max_completion_tokens`, which LangChain
    makes of it, and some models have a field of their own for it.
    """
    cap = current_bounds().cap
    if cap is None:
        return model, {}
    cap = min(cap, own_cap(model) or cap)
    if is_chat_openai(model) and not is_at_openai(model):
        return model, {"extra_body": {**(getattr(model, "extra_body", None) or {}), "max_tokens": cap}}
    for field in _FIELDS:
        if field in type(model).model_fields:
            return model.model_copy(update={field: cap}), {}
    return model, {"max_tokens": cap}


_FIELDS = ("num_predict", "max_output_tokens", "max_new_tokens")
"""What Ollama, Google and Hugging Face call it."""
