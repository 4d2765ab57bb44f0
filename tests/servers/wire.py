"""The bytes of OpenAI's chat-completions protocol: whole completions, streams of chunks, errors, the list of models."""

import json
import re
from collections.abc import Sequence
from typing import Any

Calls = Sequence[tuple[str, Any]]


def completion(
    body: dict[str, Any], text: str, calls: Calls, finish: str | None, usage: tuple[int, int] | None
) -> bytes:
    """A whole answer to the request `body`."""
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [_call(index, call) for index, call in enumerate(calls)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(calls, finish)}
    return _json({**_frame(body, "chat.completion"), "choices": [choice], **_usage(usage)})


def chunks(
    body: dict[str, Any], text: str, calls: Calls, finish: str | None, usage: tuple[int, int] | None
) -> list[bytes]:
    """The same as events of a stream: text by words, tool calls in pieces, usage if it was asked for."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in re.findall(r"\s*\S+|\s+$", text)]
    deltas += [delta for index, call in enumerate(calls) for delta in _call_pieces(index, call)]
    frame = {**_frame(body, "chat.completion.chunk")}
    events = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(calls, finish)}]})
    if usage and (body.get("stream_options") or {}).get("include_usage"):
        events.append({**frame, "choices": [], **_usage(usage)})
    return [b"data: " + _json(event) + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]


def error(message: str, code: str | None) -> bytes:
    """An error in OpenAI's form."""
    return _json({"error": {"message": message, "type": "stub_error", "param": None, "code": code}})


def models(names: Sequence[str]) -> bytes:
    """The answer to `GET /v1/models`."""
    return _json({"object": "list", "data": [{"id": name, "object": "model", "owned_by": "stub"} for name in names]})


def _frame(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body.get("model", "stub-model")}


def _usage(usage: tuple[int, int] | None) -> dict[str, Any]:
    if usage is None:
        return {}
    return {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}}


def _finish(calls: Calls, finish: str | None) -> str:
    return finish or ("tool_calls" if calls else "stop")


def _call(index: int, call: tuple[str, Any]) -> dict[str, Any]:
    name, arguments = call
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call-{index}", "type": "function", "function": {"name": name, "arguments": text}}


def _call_pieces(index: int, call: tuple[str, Any]) -> list[dict[str, Any]]:
    whole = _call(index, call)
    text = whole["function"]["arguments"]
    first = {**whole, "index": index, "function": {**whole["function"], "arguments": ""}}
    pieces = [{"index": index, "function": {"arguments": text[at : at + 5]}} for at in range(0, len(text), 5)]
    return [{"tool_calls": [piece]} for piece in (first, *pieces)]


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
