"""A reply as it arrives: streamed, so that only silence is a time-out; a limit of its own ends one that trickles.

Silence is what the client calls a time-out: for models that Baton makes, no byte in `BATON_MODEL_TIMEOUT_S` seconds. A
server that does not know `stream_options`, or does not stream at all, is asked without, and from then on at once so.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, InvalidToolCall, ToolCall, message_chunk_to_message
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import ValidationError

from nodes.llm.bounds import current_bounds
from nodes.llm.openai import is_chat_openai
from nodes.llm.server import address_of
from state.text import in_words

Way = Literal["counted", "streamed", "whole"]
"""With what was used told at the end of the stream, without that, and all at once."""
WAYS: tuple[Way, ...] = ("counted", "streamed", "whole")
_accepted: dict[str, Way] = {}
"""What servers have accepted that refused a better way, by address."""


_hears: ContextVar[Callable[[str], None] | None] = ContextVar("hears", default=None)


@contextmanager
def told_to(hear: Callable[[str], None]) -> Iterator[None]:
    """Within this, each piece of a reply's text is told as it arrives."""
    token = _hears.set(hear)
    try:
        yield
    finally:
        _hears.reset(token)


class TookTooLong(TimeoutError):
    """A reply that went on arriving for longer than a call may take."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the reply was not complete after {seconds:g} s")
        self.seconds = seconds


class OddReply(Exception):
    """A reply that came, and that the client cannot make a message of; says what is odd."""


class BrokenOff(Exception):
    """A stream that ended in an error after a part of the reply; `__cause__` is the error."""


async def reply_of(
    model: BaseChatModel, bound: Runnable[Any, Any], messages: Sequence[BaseMessage], config: RunnableConfig
) -> object:
    """What `bound`, which is `model` with what it was told, replies to `messages`, to its end.

    Raises:
        TookTooLong: it was still arriving when the time of the call was up.
        BrokenOff: it stopped in the middle.
    """
    limit = asyncio.timeout(current_bounds().seconds)
    try:
        async with limit:
            return await _in_some_way(model, bound, list(messages), config)
    except TimeoutError as error:
        if limit.expired():
            raise TookTooLong(current_bounds().seconds or 0) from error
        raise


async def _in_some_way(
    model: BaseChatModel, bound: Runnable[Any, Any], messages: list[BaseMessage], config: RunnableConfig
) -> object:
    if not is_chat_openai(model):
        return await _streamed(bound, messages, config)
    server = address_of(model)
    way = _accepted.get(server, WAYS[0])
    while True:
        try:
            reply = await _in_way(way, bound, messages, config)
        except Exception as error:
            other = _next_way(way, error)
            if other is None:
                raise
            way = other
            continue
        if way != WAYS[0]:
            _accepted[server] = way
        return reply


async def _in_way(way: Way, bound: Runnable[Any, Any], messages: list[BaseMessage], config: RunnableConfig) -> object:
    if way != "whole":
        try:
            return await _streamed(bound.bind(stream_usage=way == "counted"), messages, config)
        except (ValueError, TypeError, LookupError, AttributeError, BrokenOff) as error:
            cause = error.__cause__ if isinstance(error, BrokenOff) else error
            if not isinstance(cause, ODD) or isinstance(cause, UnicodeError) or _EMPTY in str(cause):
                raise
            raise OddReply(_odd(cause)) from error
    seconds = current_bounds().seconds  # it is silent until it is done
    return await bound.bind(stream=False, **({"timeout": seconds} if seconds else {})).ainvoke(messages, config)


ODD = (ValidationError, TypeError, LookupError, AttributeError)
"""What the client raises of a reply that it did not expect."""
_EMPTY = "No generation chunks"
"""LangChain's words for an empty stream."""


def _odd(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return in_words(error)
    found = {".".join(str(part) for part in one["loc"]): one["msg"] for one in error.errors()[:3]}
    return "; ".join(f"{place}: {what}" for place, what in found.items())


def _next_way(way: Way, error: Exception) -> Way | None:
    """The way to try where this one was refused; None where something else went wrong."""
    if way == "whole":
        return None
    if isinstance(error, ValueError) and _EMPTY in str(error):
        return "whole"
    status, text = getattr(error, "status_code", None), str(error).lower()
    if not isinstance(status, int) or "stream" not in text:
        return None
    return "streamed" if way == "counted" and ("stream_options" in text or "include_usage" in text) else "whole"


async def _streamed(bound: Runnable[Any, Any], messages: list[BaseMessage], config: RunnableConfig) -> object:
    chunks: list[Any] = []
    stream: Any = bound.astream(messages, config)
    hear = _hears.get()
    try:
        async with aclosing(stream):
            async for chunk in stream:
                chunks.append(chunk)
                current_bounds().arrived += 1  # servers send a token a chunk, or few
                if hear and (text := str(getattr(chunk, "text", ""))):
                    hear(text)
    except TimeoutError:
        raise
    except Exception as error:
        if chunks and "Timeout" not in type(error).__name__:
            raise BrokenOff(str(error)) from error
        raise
    whole = chunks[0] if len(chunks) == 1 else chunks[0] + chunks[1:]
    return _message(whole) if isinstance(whole, AIMessageChunk) else whole


def _message(whole: AIMessageChunk) -> BaseMessage:
    """All chunks as one message; tool calls as they were said: LangChain completes arguments that were cut off."""
    calls: list[ToolCall] = []
    broken: list[InvalidToolCall] = []
    for number, piece in enumerate(whole.tool_call_chunks):
        name, said, call_id = piece["name"] or "", piece["args"] or "", piece["id"] or f"call-{number}"
        args = _arguments(said)
        if args is None:
            broken.append(InvalidToolCall(name=name, args=said, id=call_id, error=None, type="invalid_tool_call"))
        else:
            calls.append(ToolCall(name=name, args=args, id=call_id, type="tool_call"))
    message = message_chunk_to_message(whole)
    return (
        message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": broken}) if calls or broken else message
    )


def _arguments(said: str) -> dict[str, Any] | None:
    try:
        args = json.loads(said or "{}", strict=False)
    except (ValueError, RecursionError):
        return None
    return args if isinstance(args, dict) else None
