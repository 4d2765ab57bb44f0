"""One call of a chat model, and what can go wrong with it: as one line that says what to do, transient or permanent.

Retrying is not done here: whoever asked decides by the class of the error. Providers differ in their exceptions but
agree on HTTP statuses and on LangChain's `ModelError` family, so that is what decides. The line may quote the
provider; keys are taken out of the quote.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from pydantic import SecretStr

from nodes.llm.bounds import current_bounds
from nodes.llm.cut_off import is_cut_off
from nodes.llm.openai import is_chat_openai, is_openai_error
from nodes.llm.server import address_of
from nodes.llm.streaming import BrokenOff, OddReply, TookTooLong, reply_of
from nodes.llm.tokens import capped, message_tokens
from state.errors import ModelFailed, ModelRejected, ModelUnavailable, ServerUnusable, StillAnswering
from state.record import ModelUsed, Usage
from state.text import all_unicode

COUNTED = "baton:counted"
"""Tag of calls that whoever makes them puts on the ledger."""
NOT_STREAMED = "nostream"
"""LangGraph's tag of calls whose text is not streamed as a message of the thread."""
SAID = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")
"""The parts of a reply that hold what the model has written."""


async def ask(
    model: BaseChatModel, messages: Sequence[BaseMessage], *, tools: Sequence[BaseTool] = (), tags: Sequence[str] = ()
) -> AIMessage:
    """What `model` replies to `messages`; with `tools`, the reply may be calls of them.

    Raises:
        ModelUnavailable: it could not be asked now; another try may work.
        ServerUnusable: its server did not answer in time.
        ModelRejected: it will not answer this, however often it is asked.

    """
    with explained(model):
        asked, more = capped(model)
        bound: Any = asked.bind_tools(tools) if tools else asked
        reply = await reply_of(model, bound.bind(**more), messages, {"tags": [COUNTED, *tags]})
    return whole(reply, model)


def whole(reply: object, model: BaseChatModel) -> AIMessage:
    """`reply`, if it is a message that arrived to its end; what in it is no text is replaced.

    Raises:
        ModelUnavailable: it is no message, or the stream broke off before the finish reason.
        ModelRejected: the provider has withheld it.

    """
    if not isinstance(reply, AIMessage):
        raise ModelUnavailable(f"{name_of(model)} returned {type(reply).__name__}, not a message; use another model")
    about = dict(reply.response_metadata)
    current_bounds().headers = _lower(about.pop("headers", None))
    if is_chat_openai(model) and not {"finish_reason", "status"} & about.keys():
        raise ModelUnavailable(_BROKEN_OFF.format(name_of(model)))
    if finished := about.get("finish_reason"):
        about["finish_reason"] = _once(str(finished))
    if about.get("finish_reason") == "content_filter" and not reply.text.strip() and not reply.tool_calls:
        raise ModelRejected(_WITHHELD.format(_server(model), name_of(model)))
    reply = reply.model_copy(update={"response_metadata": about})
    said = {field: all_unicode(getattr(reply, field)) for field in SAID}
    changed = {field: value for field, value in said.items() if value != getattr(reply, field)}
    return reply.model_copy(update=changed) if changed else reply


def _once(finished: str) -> str:
    """A finish reason that came with several chunks, and was put together like text, as it was said."""
    return next((word for word in _FINISHED if finished == word * (len(finished) // len(word))), finished)


_FINISHED = ("stop", "length", "tool_calls", "content_filter")


MOST_TOKENS = 10_000_000
"""More than any model reads or writes in one call."""


def usage_of(message: AIMessage, prompt: int = 0, cap: int = 0) -> Usage:
    """What the call that returned `message` has used: one call, and the tokens.

    Where the provider told none, or what cannot be, they are estimated, if the size of the `prompt` (in tokens) is
    given: from it and from the text, and for a reply that was cut off at its `cap`, from that.
    """
    counted: Mapping[str, object] = dict(message.usage_metadata or {})
    read, written = counted.get("input_tokens"), counted.get("output_tokens")
    if not prompt:
        return Usage(input_tokens=_possible(read, 0), output_tokens=_possible(written, 0), calls=1)
    text = message_tokens(message)
    estimated = max(text, cap) if is_cut_off(message) else text
    return Usage(input_tokens=_possible(read, prompt), output_tokens=_possible(written, estimated), calls=1)


def used_of(model: BaseChatModel) -> ModelUsed:
    """The model, and whose it is, as the ledger has them."""
    return ModelUsed(name=name_of(model), provider=address_of(model))


def _possible(told: object, estimated: int) -> int:
    """The number told, if it can be; nothing for something cannot."""
    can_be = isinstance(told, int) and (0 < told <= MOST_TOKENS or (told == 0 and not estimated))
    return int(told) if can_be else estimated  # type: ignore[call-overload]


LONGEST_LINE = 500
QUOTE_CHARS = 200
"""How much of what a provider said is passed on."""

_BROKEN_OFF = "{} stopped in the middle of its answer; try again"
_WITHHELD = "{} withheld the answer of {} (content filter); change the request"
_KEY = re.compile(r"\bsk-[\w*.-]{3,}|(?<=Bearer )\S+")
_STATUSES: dict[type[Exception], int] = {
    ModelAuthenticationError: 401,
    ModelPermissionDeniedError: 403,
    ModelNotFoundError: 404,
    ModelInvalidRequestError: 400,
    ModelRateLimitError: 429,
    ModelAPIError: 500,
}
_TOO_LONG = re.compile(r"context_length_exceeded|exceed_context_size|(?:maximum|available) context (?:length|size)")
"""What OpenAI, llama.cpp and vLLM say."""
_TRANSPORTS = {"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp", "requests", "urllib3", "websockets"}


@contextmanager
def explained(model: BaseChatModel) -> Iterator[None]:
    """Turn whatever a call of `model` raises into a `ModelFailed`; cancellation and LangGraph's own signals pass.

    Raises:
        ModelUnavailable: transient: connection, 408, 409, 425, 429, 5xx, an answer that is none, the unknown.
        ServerUnusable: a time-out.
        ModelRejected: permanent: 401, 403, 404, 400, 422, a used-up quota, a request that is too long.

    """
    try:
        yield
    except (ModelFailed, GraphBubbleUp):
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to any provider's code
        raise explain(error, asked_of(model)) from None


@dataclass(frozen=True)
class AskedModel:
    """The model that an error is about, as people are told of it."""

    name: str
    server: str
    key: str = "its API key"
    """What sets its key."""
    secrets: tuple[str, ...] = ()
    """What must not show."""


def asked_of(model: BaseChatModel) -> AskedModel:
    """The same of a chat model."""
    key = "OPENAI_API_KEY" if hasattr(model, "openai_api_key") else "its API key"
    kept = (value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr))
    return AskedModel(name_of(model), _server(model), key, tuple(filter(None, kept)))


def explain(error: Exception, asked: AskedModel) -> ModelFailed:
    """`error` as one line for people, of the class that decides whether to try again."""
    name, server, key = asked.name, asked.server, asked.key
    said = _said(error, asked.secrets)
    status = status_of(error)
    if is_too_long(error):
        return ModelRejected(f"the request is too long for {name}; use another model, or fewer sources{said}")
    if is_openai_error(error, "ContentFilterFinishReasonError"):
        return ModelRejected(_WITHHELD.format(server, name))
    if isinstance(error, NotImplementedError):
        return ModelRejected(f"{name} cannot do what is asked of it (it may lack tool calls); use another model{said}")
    is_late = (
        isinstance(error, (TimeoutError, ModelTimeoutError))
        or is_openai_error(error, "APITimeoutError")
        or _timed_out(error)
    )
    if isinstance(error, TookTooLong):
        return StillAnswering(
            f"{server} was still answering after {error.seconds:g} s (call_timeout_s); use a faster model, or a smaller"
            " max_tokens"
        )
    if isinstance(error, OddReply):
        return ModelUnavailable(f"{server} sent a reply that cannot be read: {error}; use another model or server")
    if isinstance(error, BrokenOff):
        return ModelUnavailable(f"{_BROKEN_OFF.format(name)}{said}")
    if is_late:
        return ServerUnusable(
            f"{server} did not answer in time: nothing came for as long as is waited (BATON_MODEL_TIMEOUT_S); use a"
            " faster model, or wait longer"
        )
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return ModelUnavailable(f"{server} did not answer in time (HTTP 408); try again, or use a faster model")
    if status is not None:
        return _by_status(status, error, (name, server, key, said))
    is_cut_off = isinstance(error, (ModelConnectionError, OSError)) or is_openai_error(error, "APIConnectionError")
    if is_cut_off or _module(error) in _TRANSPORTS:
        return ModelUnavailable(f"the connection to {server} failed; is the server up and the address right?{said}")
    if (
        isinstance(error, ValueError) and error.args and isinstance(error.args[0], dict)
    ):  # LangChain, of a body's `error`
        told = error.args[0].get("message") or error.args[0]
        return ModelUnavailable(f"{server} answered with an error: {told}"[:500])
    is_nonsense = isinstance(error, (ValueError, KeyError, TypeError, IndexError, AttributeError))
    if is_nonsense or is_openai_error(error, "APIResponseValidationError"):
        return ModelUnavailable(
            f"{server} answered with something that is not a chat completion; is the address right?{said}"
        )
    return ModelUnavailable(f"{name} failed with {type(error).__name__}; try again, or use another model{said}")


def is_of_provider(error: Exception) -> bool:
    """Whether a provider, or the way there, has gone wrong: not code that stands around the call."""
    by_client = isinstance(error, (ModelConnectionError, ModelTimeoutError)) or is_openai_error(error, "OpenAIError")
    return by_client or status_of(error) is not None or _module(error) in _TRANSPORTS


def is_too_long(error: Exception) -> bool:
    """Did the request not fit into the model's context?"""
    if isinstance(error, ContextOverflowError) or status_of(error) == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    return bool(_TOO_LONG.search(f"{getattr(error, 'code', '')} {getattr(error, 'type', '')} {error}"))


def status_of(error: Exception) -> int | None:
    """The HTTP error status behind `error`, if there is one."""
    for value in (getattr(error, "status_code", None), getattr(getattr(error, "response", None), "status_code", None)):
        if isinstance(value, int) and value >= HTTPStatus.BAD_REQUEST:
            return value
    return next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), None)


def headers_of(error: BaseException) -> dict[str, str]:
    """The headers of the response behind `error`, names in lower case; empty if there is none."""
    return _lower(getattr(getattr(error, "response", None), "headers", None))


def _lower(headers: object) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, Mapping) else {}


def name_of(model: BaseChatModel) -> str:
    """What people call this model: `gpt-4o-mini`, `offline`."""
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return value
    return model._llm_type


def _by_status(status: int, error: Exception, words: tuple[str, str, str, str]) -> ModelFailed:
    name, server, key, said = words
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        if getattr(error, "code", None) == "insufficient_quota":
            return ModelRejected(f"the quota of this key at {server} is used up; check plan and billing, or {key}")
        return ModelUnavailable(
            f"{server} is busy or its rate limit is reached; try again {_when(error)}{said}", headers_of(error)
        )
    if status in {HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelUnavailable(f"{server} could not answer (HTTP {status}); try again later{said}", headers_of(error))
    if status == HTTPStatus.UNAUTHORIZED:
        return ModelRejected(f"{server} refused the key; check {key}")
    if status == HTTPStatus.FORBIDDEN:
        return ModelRejected(f"{server} does not let this key use {name}; check {key} and BATON_MODEL{said}")
    if status == HTTPStatus.NOT_FOUND:
        return ModelRejected(f"{server} does not know the model {name}; check BATON_MODEL and the address{said}")
    return ModelRejected(f"{server} refused the request to {name} (HTTP {status}); check BATON_MODEL{said}")


def _server(model: BaseChatModel) -> str:
    url = getattr(model, "openai_api_base", None)
    if not isinstance(url, str) or not url:
        return f"the provider of {name_of(model)}"
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _said(error: Exception, secrets: Sequence[str]) -> str:
    body = getattr(error, "body", None)
    told = body.get("message") if isinstance(body, dict) else body
    line = " ".join((told if isinstance(told, str) else str(error)).split())
    for secret in secrets:
        line = line.replace(secret, "***")
    line = _KEY.sub("***", line)
    cut = line if len(line) <= QUOTE_CHARS else line[: QUOTE_CHARS - 1] + "…"
    return f" ({cut})" if cut else ""


def _when(error: Exception) -> str:
    seconds = headers_of(error).get("retry-after", "")
    return f"in {seconds} s" if seconds.isdecimal() else "later"


def _timed_out(error: Exception) -> bool:
    return _module(error) in _TRANSPORTS and "Timeout" in type(error).__name__


def _module(error: Exception) -> str:
    return type(error).__module__.partition(".")[0]
