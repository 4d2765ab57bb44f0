"""Data of a given shape from any chat model; where the reply does not fit, it is asked again with what was wrong.

`ChatOpenAI` is asked with `response_format: json_schema`, not strict: small local servers can do that and cannot call
tools, and strict mode forbids defaults. A server that refuses the form is asked by a tool call, then in plain words.
Other models are asked by a tool call named like the schema. After a reply without an end, in tokens or in time, the
shape is a smaller one: held to it, a weak model fills every list that it may. Weak models wrap JSON in prose and
fences, leave trailing commas, and write Python: that is read. An object without its end is not completed by guessing:
a plan cut off in the middle would pass for a shorter plan.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from nodes.llm.ask import COUNTED, NOT_STREAMED, explained, is_too_long, name_of, status_of, usage_of, whole
from nodes.llm.cut_off import is_cut_off
from nodes.llm.openai import is_chat_openai
from nodes.llm.sections import Section, render
from nodes.llm.streaming import reply_of
from nodes.llm.tokens import capped, current_cap, prompt_tokens
from nodes.policy.schemas import words_of
from state.errors import ReplyUnusable, StillAnswering
from state.record import Usage
from state.text import Json

T = TypeVar("T", bound=BaseModel)
Caller = Callable[[Callable[[], Awaitable[Json]]], Awaitable[Json]]
"""Runs a thunk that makes one call, within whatever limits hold where it is made."""

ECHO_CHARS = 8_000
"""How much of a bad reply the model is shown again."""
LINE_CHARS = 300
"""How much of the last complaints people are shown."""
CUT_OFF_CHARS = 400
"""How much of one that was cut off: it is not to be gone on with."""
MOST_ITEMS = 20
"""How long a list may be in the first shape that a model is given."""
SMALLER = 4
"""How many times shorter after each reply that was cut off."""
TOKENS_AN_ITEM = 100
"""Tokens of a reply for each item of its lists: a task of a plan has 50 to 150."""
MAX_COMPLAINTS = 20
"""How many complaints the model is shown."""


async def straight(thunk: Callable[[], Awaitable[Json]]) -> Json:
    """The caller without limits."""
    return await thunk()


async def ask_for(
    model: BaseChatModel,
    schema: type[T],
    messages: Sequence[BaseMessage],
    *,
    check: Callable[[T], list[str]] = lambda _: [],
    reasks: int = 2,
    call: Caller = straight,
) -> tuple[T, Usage]:
    """A `schema` from `model`, about which `check` has no complaints, and what getting it has used.

    Each reply goes through `call`, as plain JSON with its `usage`. After a bad reply the conversation goes on with the
    complaints in a section `errors`.

    Raises:
        ReplyUnusable: the last of `reasks` + 1 replies was bad, too; the message carries its complaints.
        ModelFailed: the model could not be asked.

    """
    asked, spent, form, most = list(messages), Usage(), forms_for(model)[0], MOST_ITEMS
    complaints: list[str] = []
    for _ in range(reasks + 1):
        try:
            raw = RawReply.model_validate(await call(_thunk(model, schema, tuple(asked), form, most)))
        except StillAnswering:
            if most == 1:
                raise
            most = 1
            continue
        spent, form, most = spent + raw.usage, raw.form, max(1, most // SMALLER) if raw.cut_off else most
        value, complaints = _read(raw, schema)
        complaints = complaints if value is None else check(value)
        if value is not None and not complaints:
            return value, spent
        asked += _objection(raw, complaints)
    wanted = words_of((schema.__name__,)).lower()
    raise ReplyUnusable(
        f"{name_of(model)} gave no usable {wanted} in {reasks + 1} replies, use a stronger model; "
        f"the last one: {_line('; '.join(complaints))}"
    )


Form = Literal["schema", "tool", "words"]


def _thunk(
    model: BaseChatModel, schema: type[BaseModel], asked: Sequence[BaseMessage], form: Form, most: int
) -> Callable[[], Awaitable[Json]]:
    async def reply() -> Json:
        return (await ask_once(model, schema, asked, form, most)).model_dump(mode="json")

    return reply


class RawReply(BaseModel):
    """What came back, before it is read: plain data, so that it can be stored and read again."""

    model_config = ConfigDict(extra="forbid")

    form: Form
    """The form that the model accepted."""
    texts: list[str]
    """Where the data may be, the likeliest first: arguments of tool calls, then the text."""
    cut_off: bool = False
    """It reached the model's limit of tokens."""
    usage: Usage


def _read(raw: RawReply, schema: type[T]) -> tuple[T | None, list[str]]:
    """The first object in the reply that is a `schema`, or else what is wrong with the likeliest one."""
    complaints: list[str] = []
    for candidate in (part for text in raw.texts for value in objects_in(text) for part in _parts(value)):
        if not candidate.keys() & schema.model_fields.keys():
            continue
        try:
            return schema.model_validate(candidate), []
        except ValidationError as error:
            complaints = complaints or [_complaint(one["loc"], one["msg"]) for one in error.errors()]
    return None, complaints or [_nothing_found(raw, schema)]


def _parts(value: dict[str, object]) -> Iterator[dict[str, object]]:
    """The object itself, then what it wraps: weak models write `{"name": …, "arguments": {…}}` as text."""
    yield value
    for inner in value.values():
        if isinstance(inner, dict):
            yield inner
        elif isinstance(inner, str):
            yield from objects_in(inner)


def _complaint(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place)) or 'the object'}: {message}"


def _nothing_found(raw: RawReply, schema: type[BaseModel]) -> str:
    if raw.cut_off:
        return "the reply was cut off before its end; reply more briefly"
    return f"the reply holds no complete JSON object with the fields {', '.join(schema.model_fields)}"


def _objection(raw: RawReply, complaints: list[str]) -> list[BaseMessage]:
    said = (raw.texts or ["(an empty reply)"])[0]
    errors = render([Section("errors", "\n".join(complaints[:MAX_COMPLAINTS]))])
    request = f"{errors}\n\nReply again, completely, with these errors corrected."
    return [AIMessage(said[: CUT_OFF_CHARS if raw.cut_off else ECHO_CHARS]), HumanMessage(request)]


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LINE_CHARS else flat[: LINE_CHARS - 1] + "…"


_HIDDEN = [COUNTED, NOT_STREAMED]
"""The second keeps raw JSON out of LangGraph's `messages` stream."""
_REFUSED = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.NOT_IMPLEMENTED,
}


def forms_for(model: BaseChatModel) -> list[Form]:
    """The forms to try with `model`, best first."""
    return ["schema", "tool", "words"] if is_chat_openai(model) else ["tool", "words"]


async def ask_once(
    model: BaseChatModel, schema: type[BaseModel], messages: Sequence[BaseMessage], form: Form, most: int = MOST_ITEMS
) -> RawReply:
    """One reply meant to be a `schema`, asked for in `form`, or in the next form that the model accepts.

    `most`: how long its lists may be.

    Raises:
        ModelFailed: the model could not be asked, or refuses every form.

    """
    forms = forms_for(model)
    with explained(model):
        for current in forms[forms.index(form) : -1]:
            try:
                return await _asked(model, schema, messages, current, most)
            except Exception as error:
                if not _refuses_form(error):
                    raise
        return await _asked(model, schema, messages, forms[-1], most)


async def _asked(
    model: BaseChatModel, schema: type[BaseModel], messages: Sequence[BaseMessage], form: Form, most: int
) -> RawReply:
    asked, more = capped(model)
    shape = _shape(schema, min(most, max(1, current_cap() // TOKENS_AN_ITEM)) if current_cap() else most)
    bound: Any = asked
    if form == "schema":
        # In the body, as it is: LangChain streams a `response_format` by another way, which refuses what was cut off.
        given = more.pop("extra_body", None) or getattr(model, "extra_body", None) or {}
        more["extra_body"] = {**given, "response_format": _response_format(shape)}
    elif form == "tool":
        bound = asked.bind_tools([schema], tool_choice=schema.__name__)
    else:
        messages = [*messages, HumanMessage(_in_words(shape))]
    message = whole(await reply_of(model, bound.bind(**more), messages, {"tags": _HIDDEN}), model)
    return RawReply(
        form=form,
        texts=_texts(message),
        cut_off=is_cut_off(message),
        usage=usage_of(message, prompt_tokens([*messages, json.dumps(shape)]), current_cap()),
    )


def _texts(message: AIMessage) -> list[str]:
    called = [json.dumps(call["args"]) for call in message.tool_calls]
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return [text for text in (*called, *broken, str(message.text)) if text.strip()]


def _refuses_form(error: Exception) -> bool:
    """Is it the way of asking that was refused? llama.cpp answers 500 to tools it has no template for."""
    if is_too_long(error):
        return False
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return any(word in str(error).lower() for word in ("tool", "jinja", "response_format", "grammar", "schema"))
    return isinstance(error, NotImplementedError) or status in _REFUSED


def _response_format(shape: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": shape["title"], "schema": shape, "strict": False}}


def _in_words(shape: dict[str, Any]) -> str:
    return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{json.dumps(shape)}"


def shape_text(schema: type[BaseModel]) -> str:
    """The JSON schema that a model is shown."""
    return json.dumps(_shape(schema, MOST_ITEMS))


@lru_cache(maxsize=64)
def _shape(schema: type[BaseModel], most: int) -> dict[str, Any]:
    """JSON Schema of it, whose lists have at most so many items. Not to be changed: it is made once."""
    shape = schema.model_json_schema(schema_generator=_EveryFieldRequired)
    for described in (shape, *shape.get("$defs", {}).values()):
        for field in described["properties"].values():
            if "maxItems" in field:
                field["maxItems"] = min(field["maxItems"], most)
    return shape


class _EveryFieldRequired(GenerateJsonSchema):
    """Fields with a default count as required, too, so that a weak model leaves none out."""

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: ARG002 - as in pydantic
        return True


MAX_STARTS = 30
"""How many `{` are tried; a text with more that lead nowhere holds no reply."""
MAX_CHARS = 200_000
"""How much of a text is searched; plans and reviews are far shorter."""

_STRING = r'"(?:\\.|[^"\\])*"'
_SINGLE = r"'(?:\\.|[^'\\])*'"
_PIECE = re.compile(rf"{_STRING}|(?<=[\[{{,:\s]){_SINGLE}|[{{}}]", re.DOTALL)
_DRESS = re.compile(rf"{_STRING}|{_SINGLE}|,(?=\s*[\]}}])|\b(?:True|False|None)\b", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}


def objects_in(text: str) -> Iterator[dict[str, object]]:
    """The outermost complete JSON objects in `text`, in order."""
    text, position = text[:MAX_CHARS], 0
    for _ in range(MAX_STARTS):
        start = text.find("{", position)
        if start < 0:
            return
        end = _end(text, start)
        value = _loaded(text[start:end]) if end else None
        position = end if end and value is not None else start + 1
        if value is not None:
            yield value


def _end(text: str, start: int) -> int | None:
    depth = 0
    for piece in _PIECE.finditer(text, start):
        depth += 1 if piece[0] == "{" else -1 if piece[0] == "}" else 0
        if depth == 0:
            return piece.end()
    return None


def _loaded(candidate: str) -> dict[str, object] | None:
    for form in (candidate, _DRESS.sub(_plain, candidate)):
        try:
            value = json.loads(form, strict=False)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _plain(match: re.Match[str]) -> str:
    piece = match[0]
    if piece.startswith("'"):
        inner = piece[1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', r"\"", inner) + '"'
    return "" if piece == "," else _WORDS.get(piece, piece)
