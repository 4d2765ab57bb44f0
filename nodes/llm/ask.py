"""One call of a chat model. Retrying is not done here: whoever asked decides by the class of the error."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from langchain_openai import ChatOpenAI

from nodes.llm.failures import explained, name_of
from state.errors import ModelUnavailable
from state.text import all_unicode
from state.usage import Usage

SAID = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")
"""The parts of a reply that hold what the model has written."""


async def ask(
    model: BaseChatModel, messages: Sequence[BaseMessage], *, tools: Sequence[BaseTool] = (), tags: Sequence[str] = ()
) -> AIMessage:
    """What `model` replies to `messages`; with `tools`, the reply may be calls of them.

    Raises:
        ModelUnavailable: it could not be asked now; another try may work.
        ModelRejected: it will not answer this, however often it is asked.

    """
    with explained(model):
        bound = model.bind_tools(tools) if tools else model
        reply: Any = await bound.ainvoke(list(messages), {"tags": list(tags)})
    return whole(reply, model)


def whole(reply: object, model: BaseChatModel) -> AIMessage:
    """`reply`, if it is a message that arrived to its end; what in it is no text is replaced.

    Raises:
        ModelUnavailable: it is no message, or the stream broke off before the finish reason.

    """
    if not isinstance(reply, AIMessage):
        raise ModelUnavailable(f"{name_of(model)} returned {type(reply).__name__}, not a message; use another model")
    if isinstance(model, ChatOpenAI) and not {"finish_reason", "status"} & reply.response_metadata.keys():
        raise ModelUnavailable(f"{name_of(model)} stopped in the middle of its answer; try again")
    said = {field: all_unicode(getattr(reply, field)) for field in SAID}
    changed = {field: value for field, value in said.items() if value != getattr(reply, field)}
    return reply.model_copy(update=changed) if changed else reply


def usage_of(message: AIMessage) -> Usage:
    """What the call that returned `message` has used: one call, and the tokens if the provider counted them."""
    counted = message.usage_metadata
    if counted is None:
        return Usage(calls=1)
    return Usage(input_tokens=counted["input_tokens"], output_tokens=counted["output_tokens"], calls=1)
