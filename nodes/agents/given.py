"""What Runnables and graphs are given, and what of their answer is the result."""

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_type_hints

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel, JsonValue, PydanticUserError

from nodes.agents.job import Job
from nodes.agents.worker.brief import task_prompt

TEXT_FIELDS = ("input", "query", "question", "request", "task", "topic", "text", "prompt", "goal")
"""Names that a field for the task usually has, in graphs that know neither `messages` nor a `task`."""


def given_to(job: Job) -> dict[str, Any]:
    """`{"messages": [...], "task": {...}}`: the task as a prompt, and as data."""
    brief = job.brief
    task = {
        **brief.task.model_dump(mode="json"),
        "query": brief.query,
        "constraints": brief.constraints,
        "inputs": brief.inputs,
        "feedback": brief.feedback,
    }
    return {"messages": [HumanMessage(task_prompt(brief))], "task": task}


def input_schema(graph: Any) -> Mapping[str, Any]:
    """JSON Schema of what a graph takes.

    Where there is none to be had, as for a `typing.TypedDict` on Python 3.11, what its type hints say: which fields
    are text.
    """
    try:
        return cast(Mapping[str, Any], graph.get_input_jsonschema())
    except PydanticUserError:
        hints = get_type_hints(graph.builder.input_schema)
        return {"properties": {name: _hinted(hint) for name, hint in hints.items()}}


def _hinted(hint: Any) -> dict[str, Any]:
    is_text = hint is str or hint == str | None
    return {"type": "string"} if is_text else {}


def fitted(given: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """`given` for a graph with this input schema (JSON Schema).

    A graph that knows neither `messages` nor `task` gets the task's description in the field that is meant for it,
    or else in its first field that takes text.
    """
    fields: Mapping[str, Any] = schema.get("properties") or {}
    takes_data = "task" in fields and not _takes_text(fields["task"])
    if not fields or "messages" in fields or takes_data:
        return dict(given)
    texts = [name for name, field in fields.items() if _takes_text(field)]
    chosen = next((name for name in TEXT_FIELDS if name in texts), texts[0] if texts else None)
    return {chosen: given["task"]["description"]} if chosen else dict(given)


def _takes_text(field: Any) -> bool:
    if not isinstance(field, Mapping):
        return False
    kinds = [field, *field.get("anyOf", [])]
    return any(isinstance(kind, Mapping) and kind.get("type") == "string" and "enum" not in kind for kind in kinds)


def result_of(answer: object) -> object:
    """The result in what a Runnable or graph returned: `result`, a structured response, the last message, or all."""
    if isinstance(answer, BaseMessage):
        return answer.text
    if isinstance(answer, BaseModel):
        return answer.model_dump(mode="json")
    if not isinstance(answer, Mapping):
        return answer
    if "failed" in answer or "result" in answer:
        return answer
    if answer.get("structured_response") is not None:
        return result_of(answer["structured_response"])
    messages = answer.get("messages")
    if isinstance(messages, Sequence) and messages and not isinstance(messages, str):
        last = messages[-1]
        text = last.get("content") if isinstance(last, Mapping) else getattr(last, "text", None)
        return text if isinstance(text, str) else as_blocks(text)
    return {key: value for key, value in answer.items() if key not in ("messages", "task")}


def as_blocks(content: object) -> str:
    """The text of a message's content blocks."""
    blocks = cast(Sequence[JsonValue], content) if isinstance(content, Sequence) else []
    return "".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


def as_data(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a graph on another server: messages as `{"role", "content"}`."""
    messages = [{"role": "user", "content": str(message.text)} for message in given["messages"]]
    return {**given, "messages": messages}
