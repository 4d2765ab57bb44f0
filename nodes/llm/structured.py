"""Ask a model for data of a given shape, and ask again with what was wrong with the reply."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, JsonValue, ValidationError

from nodes.llm.failures import name_of
from nodes.llm.forms import Form, RawReply, ask_once, forms_for
from nodes.llm.loose_json import objects_in
from nodes.llm.sections import Section, render
from state.errors import ReplyUnusable
from state.usage import Usage

T = TypeVar("T", bound=BaseModel)
Json = dict[str, JsonValue]
Recorder = Callable[[str, Callable[[], Awaitable[Json]]], Awaitable[Json]]
"""Runs a named thunk, or gives back what the thunk of that name returned before."""

ECHO_CHARS = 8_000
"""How much of a bad reply the model is shown again."""
LINE_CHARS = 300
"""How much of the last complaints people are shown."""
MAX_COMPLAINTS = 20
"""How many complaints the model is shown."""


async def straight(name: str, thunk: Callable[[], Awaitable[Json]]) -> Json:  # noqa: ARG001
    """The recorder that records nothing."""
    return await thunk()


async def ask_for(
    model: BaseChatModel,
    schema: type[T],
    messages: Sequence[BaseMessage],
    *,
    check: Callable[[T], list[str]] = lambda _: [],
    reasks: int = 2,
    call: Recorder = straight,
) -> tuple[T, Usage]:
    """A `schema` from `model`, about which `check` has no complaints, and what getting it has used.

    Each reply goes through `call`, named `try:0`, `try:1` …, as plain JSON, so that a caller can make it durable.
    After a bad reply the conversation goes on with the complaints in a section `errors`.

    Raises:
        ReplyUnusable: the last of `reasks` + 1 replies was bad, too; the message carries its complaints.
        ModelFailed: the model could not be asked.

    """
    asked, spent, form = list(messages), Usage(), forms_for(model)[0]
    complaints: list[str] = []
    for number in range(reasks + 1):
        raw = RawReply.model_validate(await call(f"try:{number}", _thunk(model, schema, tuple(asked), form)))
        spent, form = spent + raw.usage, raw.form
        value, complaints = _read(raw, schema)
        complaints = complaints if value is None else check(value)
        if value is not None and not complaints:
            return value, spent
        asked += _objection(raw, complaints)
    raise ReplyUnusable(
        f"{name_of(model)} gave no usable {schema.__name__} in {reasks + 1} replies, use a stronger model; "
        f"the last one: {_line('; '.join(complaints))}"
    )


def _thunk(
    model: BaseChatModel, schema: type[BaseModel], asked: Sequence[BaseMessage], form: Form
) -> Callable[[], Awaitable[Json]]:
    async def reply() -> Json:
        return (await ask_once(model, schema, asked, form)).model_dump(mode="json")

    return reply


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
    return [AIMessage(said[:ECHO_CHARS]), HumanMessage(request)]


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LINE_CHARS else flat[: LINE_CHARS - 1] + "…"
