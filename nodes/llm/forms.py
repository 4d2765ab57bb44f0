"""The ways to ask a chat model for data of a given shape, and the one call that asks.

`ChatOpenAI` is asked with `response_format: json_schema`, not strict: small local servers can do that and cannot call
tools, and strict mode forbids defaults. A server that refuses the form is asked by a tool call, then in plain words.
Other models are asked by a tool call named like the schema.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_openai import ChatOpenAI
from openai import LengthFinishReasonError
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import GenerateJsonSchema

from nodes.llm.ask import usage_of, whole
from nodes.llm.failures import explained, is_too_long, status_of
from state.usage import Usage

Form = Literal["schema", "tool", "words"]

_HIDDEN = ["nostream"]
"""Keeps raw JSON out of LangGraph's `messages` stream."""
_REFUSED = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.NOT_IMPLEMENTED,
}


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


def forms_for(model: BaseChatModel) -> list[Form]:
    """The forms to try with `model`, best first."""
    return ["schema", "tool", "words"] if isinstance(model, ChatOpenAI) else ["tool", "words"]


async def ask_once(
    model: BaseChatModel, schema: type[BaseModel], messages: Sequence[BaseMessage], form: Form
) -> RawReply:
    """One reply meant to be a `schema`, asked for in `form`, or in the next form that the model accepts.

    Raises:
        ModelFailed: the model could not be asked, or refuses every form.

    """
    forms = forms_for(model)
    with explained(model):
        for current in forms[forms.index(form) : -1]:
            try:
                return await _asked(model, schema, messages, current)
            except Exception as error:
                if not _refuses_form(error):
                    raise
        return await _asked(model, schema, messages, forms[-1])


async def _asked(
    model: BaseChatModel, schema: type[BaseModel], messages: Sequence[BaseMessage], form: Form
) -> RawReply:
    bound: Any = model
    if form == "schema":
        bound = model.bind(response_format=_response_format(schema), stream=False)
    elif form == "tool":
        bound = model.bind_tools([schema], tool_choice=schema.__name__)
    else:
        messages = [*messages, HumanMessage(_in_words(schema))]
    try:
        message = whole(await bound.ainvoke(list(messages), {"tags": _HIDDEN}), model)
    except LengthFinishReasonError as error:
        return _cut_off(error, form)
    return RawReply(
        form=form,
        texts=_texts(message),
        cut_off=message.response_metadata.get("finish_reason") == "length",
        usage=usage_of(message),
    )


def _texts(message: AIMessage) -> list[str]:
    called = [json.dumps(call["args"]) for call in message.tool_calls]
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return [text for text in (*called, *broken, str(message.text)) if text.strip()]


def _cut_off(error: LengthFinishReasonError, form: Form) -> RawReply:
    counted = error.completion.usage
    used = (counted.prompt_tokens, counted.completion_tokens) if counted else (0, 0)
    text = error.completion.choices[0].message.content or ""
    usage = Usage(input_tokens=used[0], output_tokens=used[1], calls=1)
    return RawReply(form=form, texts=[text], cut_off=True, usage=usage)


def _refuses_form(error: Exception) -> bool:
    """Is it the way of asking that was refused? llama.cpp answers 500 to tools it has no template for."""
    if is_too_long(error):
        return False
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return any(word in str(error).lower() for word in ("tool", "jinja", "response_format", "grammar", "schema"))
    return isinstance(error, NotImplementedError) or status in _REFUSED


def _response_format(schema: type[BaseModel]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": schema.__name__, "schema": _shape(schema), "strict": False}}


def _in_words(schema: type[BaseModel]) -> str:
    return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{json.dumps(_shape(schema))}"


def _shape(schema: type[BaseModel]) -> dict[str, Any]:
    return schema.model_json_schema(schema_generator=_EveryFieldRequired)


class _EveryFieldRequired(GenerateJsonSchema):
    """Fields with a default count as required, too, so that a weak model leaves none out."""

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: ARG002 - as in pydantic
        return True
