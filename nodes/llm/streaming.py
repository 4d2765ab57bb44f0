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
from nodes.llm.tokens import tokens_in
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

    def __init__(self, said: str, *, is_about_usage: bool = False) -> None:
        super().__init__(said)
        self.is_about_usage = is_about_usage
        """Whether nothing is odd but what it is said to have used."""


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
    way = _accepted.get(server, WAYS[0]) if _may_stream(model) else "whole"
    while True:
        try:
            reply = await _in_way(way, bound, messages, config)
        except Exception as error:
            other = _next_way(way, error)
            if other is None:
                raise
            way = other
            continue
        if way != WAYS[0] and _may_stream(model):
            _accepted[server] = way
        return reply


def _may_stream(model: BaseChatModel) -> bool:
    """Whether whoever made the model lets it stream; LangChain asks it at once otherwise."""
    is_told = "streaming" in model.model_fields_set and not getattr(model, "streaming", True)
    return not (model.disable_streaming or is_told)


async def _in_way(way: Way, bound: Runnable[Any, Any], messages: list[BaseMessage], config: RunnableConfig) -> object:
    if way != "whole":
        try:
            return await _streamed(bound.bind(stream_usage=way == "counted"), messages, config)
        except (ValueError, TypeError, LookupError, AttributeError, BrokenOff) as error:
            cause = error.__cause__ if isinstance(error, BrokenOff) else error
            if not isinstance(cause, ODD) or isinstance(cause, UnicodeError) or _EMPTY in str(cause):
                raise
            raise OddReply(_odd(cause), is_about_usage=_is_about_usage(cause)) from error
    seconds = current_bounds().seconds  # it is silent until it is done
    try:
        return await bound.bind(stream=False, **({"timeout": seconds} if seconds else {})).ainvoke(messages, config)
    except Exception as error:
        current_bounds().arrived += (current_bounds().cap or 0) * is_lost(error)
        raise


def arrived(pieces: Sequence[str]) -> int:
    """About how many tokens the pieces have that came of a reply: servers send a token a piece, or few."""
    return max(len(pieces), tokens_in("".join(pieces)))


def is_lost(error: BaseException | None) -> bool:
    """Whether an answer may have been written that nobody got: the connection ended while it was waited for."""
    while error is not None:
        if type(error).__name__ in _LOST:
            return True
        error = error.__cause__ or error.__context__
    return False


_LOST = frozenset({"ReadError", "ReadTimeout", "RemoteProtocolError", "ClientPayloadError", "IncompleteRead"})
"""What httpx, aiohttp and http.client raise then."""


ODD = (ValidationError, TypeError, LookupError, AttributeError)
"""What the client raises of a reply that it did not expect."""
_EMPTY = "No generation chunks"
"""LangChain's words for an empty stream."""


def _odd(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return in_words(error)
    found = {".".join(str(part) for part in one["loc"]): one["msg"] for one in error.errors()[:3]}
    return "; ".join(f"{place}: {what}" for place, what in found.items())


def _is_about_usage(error: BaseException | None) -> bool:
    return isinstance(error, ValidationError) and all(one["loc"][:1] == ("usage_metadata",) for one in error.errors())


def _next_way(way: Way, error: Exception) -> Way | None:
    """The way to try where this one was refused; None where something else went wrong."""
    if way == "whole":
        return None
    if isinstance(error, OddReply):
        return "streamed" if error.is_about_usage and way == "counted" else None
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
                if hear and (text := str(getattr(chunk, "text", ""))):
                    hear(text)
    except BaseException as error:
        current_bounds().arrived += arrived([str(getattr(chunk, "content", "")) for chunk in chunks])
        if chunks and isinstance(error, Exception) and "Timeout" not in type(error).__name__:
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
