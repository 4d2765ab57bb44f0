"""What servers of OpenAI's protocol do wrong, as a table: each row answers every call that way."""

import json
from typing import Any

from tests.servers.openai_stub import Behaviour, Events, Failure, Hang, Hangup, Raw, Request, Say

DAY = "86400"


def event(delta: Any = None, finish: Any = None, **fields: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    frame = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **fields}
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


def stream(*deltas: Any, finish: Any = "stop", **fields: Any) -> Events:
    """A stream of these deltas, to its end."""
    return Events([*(event(delta) for delta in deltas), event({}, finish, **fields), b"data: [DONE]\n\n"])


def usage(read: Any, written: Any) -> Events:
    """An answer, and what it is said to have used."""
    told = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": written}
    return stream({"content": "Done."}, usage=told)


def call(name: Any, args: Any, call_id: Any = "c1") -> dict[str, Any]:
    """A delta with a tool call."""
    return {
        "tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": args}}]
    }


def calling(name: Any, args: Any, call_id: Any = "c1") -> Events:
    """A stream with a tool call."""
    return stream(call(name, args, call_id), finish="tool_calls")


def asks_something_new(request: Request) -> Behaviour:
    """Another tool call each time, without end."""
    return Say(calls=[("calculate", {"expression": f"{len(request.body['messages'])} + 1"})])


def knows_no_stream_options(request: Request) -> Behaviour:
    """Refuses what it has not heard of."""
    return (
        Failure(400, "extra fields not permitted: stream_options") if "stream_options" in request.body else Say("Done.")
    )


def knows_no_streams(request: Request) -> Behaviour:
    """Refuses to stream."""
    return Failure(422, "stream is not supported") if request.body.get("stream") else Say("Done.")


def tells_usage_in_words(request: Request) -> Behaviour:
    """What it has used makes no sense, where it is asked for that."""
    return usage("many", 2.5) if "stream_options" in request.body else Say("Done.")


def forgets_its_tools(request: Request) -> Behaviour:
    """Refuses tools."""
    return Failure(500, "this model has no template for tools") if "tools" in request.body else Say("Done.")


def drip(piece: bytes, every_s: float = 0.05) -> Events:
    """The same piece again and again."""
    return Events([piece] * 9_999, every_s)


Row = tuple[Any, str, str]
"""What it does; what becomes of the task; words of the reason, where it fails."""

ROWS: dict[str, Row] = {
    # What HTTP says
    "the key is wrong": (Failure(401), "failed", "check"),
    "the model is not for this key": (Failure(403), "failed", "does not let this key use"),
    "the model is not there": (Failure(404, "no such model"), "failed", "does not know the model"),
    "bad request": (Failure(400, "temperature must be 1"), "failed", "temperature must be 1"),
    "unprocessable": (Failure(422, "no"), "failed", "HTTP 422"),
    "payment required": (Failure(402, "top up"), "failed", "top up"),
    "the request is too long": (Failure(400, "maximum context length is 8 tokens"), "failed", "too long"),
    "the entity is too large": (Failure(413), "failed", "too long"),
    "it says time-out": (Failure(408), "failed", "did not answer in time"),
    "it is busy": (Failure(429, "slow down"), "failed", "rate limit"),
    "it is busy for a day": (Failure(429, headers={"retry-after": DAY}), "failed", "asks to wait 24 hours"),
    "it is busy for it knows not how long": (Failure(429, headers={"retry-after": "soon"}), "failed", "rate limit"),
    "the quota is used up": (Failure(429, "pay", "insufficient_quota"), "failed", "used up"),
    "it is broken": (Failure(500, "oops"), "failed", "HTTP 500"),
    "it is down": (Failure(503), "failed", "HTTP 503"),
    "it is down for a day": (Failure(503, headers={"retry-after": DAY}), "failed", "asks to wait 24 hours"),
    "it is overloaded": (Failure(529), "failed", "HTTP 529"),
    "it has no tools": (forgets_its_tools, "failed", "no template for tools"),
    # What is no completion
    "a page to sign in": (Raw(b"<html>Sign in</html>", "text/html"), "failed", "not a chat completion"),
    "nothing": (Raw(b""), "failed", "not a chat completion"),
    "noise": (Raw(b"\x00\xff\xfe\x80"), "failed", "not a chat completion"),
    "a list": (Raw(b"[1, 2]"), "failed", "not a chat completion"),
    "an error with status 200": (
        Raw(b'{"error": {"message": "no slot"}}'),
        "failed",
        "with an error: no slot",
    ),
    "no choices": (Raw(b'{"id": "1", "object": "chat.completion", "choices": []}'), "failed", "not a chat completion"),
    "choices that are null": (Raw(b'{"id": "1", "choices": null}'), "failed", "not a chat completion"),
    # What comes too late, or not to its end
    "it never answers": (Hang(), "failed", "did not answer in time: nothing came"),
    "it hangs up": (Hangup(), "failed", "connection"),
    "it hangs up in the middle": (Hangup("one two three", chunks=3), "failed", "stopped in the middle"),
    "it ends without a reason": (Hangup("one two three", chunks=3, politely=True), "failed", "stopped in the middle"),
    "it trickles": (Say("word " * 9_999, every_s=0.05), "failed", "still answering"),
    "it says that it lives, and nothing else": (
        Events([b": hi\n\n"] * 9_999, every_s=0.05),
        "failed",
        "still answering",
    ),
    "it falls silent": (drip(b": late\n\n", 0.9), "failed", "did not answer in time: nothing came"),
    "an error in the middle": (
        Events([event({"content": "So"}), b'data: {"error": {"message": "out of memory"}}\n\n']),
        "failed",
        "out of memory",
    ),
    "broken JSON in the middle": (Events([event({"content": "So"}), b"data: {broken\n\n"]), "failed", "middle"),
    # What is odd in an answer
    "no text": (stream({"content": ""}), "failed", "empty answer"),
    "blanks": (stream({"content": " \n "}), "failed", "empty answer"),
    "text that is null": (stream({"content": None}), "failed", "empty answer"),
    "text that is a number": (stream({"content": 42}), "failed", "cannot be read: content"),
    "parts instead of text": (stream({"content": [{"type": "text", "text": "Done."}]}), "done", ""),
    "thoughts alone": (stream({"reasoning_content": "Hm."}), "failed", "empty answer"),
    "thoughts, then text": (stream({"reasoning_content": "Hm."}, {"content": "Done."}), "done", ""),
    "a refusal": (stream({"refusal": "I must not."}), "failed", "empty answer"),
    "an unknown reason to end": (stream({"content": "Done."}, finish="eos_token"), "done", ""),
    "a reason to end that is a number": (stream({"content": "Done."}, finish=7), "done", ""),
    "two reasons to end": (
        Events([event({"content": "Done."}, "stop"), event({}, "stop"), b"data: [DONE]\n\n"]),
        "done",
        "",
    ),
    "it filters": (stream({"content": ""}, finish="content_filter"), "failed", "withheld"),
    "it is always cut off": (stream({"content": "Done, and"}, finish="length"), "done", ""),
    "a role that is none": (stream({"role": "oracle", "content": "Done."}), "done", ""),
    "an end in a delta that is null": (Events([event({"content": "So."}), event(None, "stop")]), "failed", "middle"),
    "halves of letters": (stream({"content": "Done \ud83d."}), "done", ""),
    "zeros": (stream({"content": "Done\x00."}), "done", ""),
    "a megabyte": (stream({"content": "Done. " * 170_000}), "done", ""),
    # Usage
    "usage that is null": (stream({"content": "Done."}, usage=None), "done", ""),
    "usage with nulls": (usage(None, None), "done", ""),
    "usage below zero": (usage(-5, -7), "done", ""),
    "usage beyond belief": (usage(10**15, 10**15), "done", ""),
    "usage in words": (tells_usage_in_words, "done", ""),
    "usage in words that nobody asked for": (usage("many", "few"), "failed", "cannot be read: usage_metadata.input_to"),
    # Tools
    "arguments that are no JSON": (calling("calculate", '{"expr'), "failed", "same arguments"),
    "arguments that are a list": (calling("calculate", "[1, 2]"), "failed", "same arguments"),
    "arguments of wrong types": (calling("calculate", '{"expression": {"a": 1}}'), "failed", "same arguments"),
    "arguments that are an object": (
        calling("calculate", {"expression": "1"}),
        "failed",
        "read: tool_call_chunks.0.args",
    ),
    "a tool that is not there": (calling("conjure", "{}"), "failed", "same arguments"),
    "a tool without a name": (calling(None, "{}"), "failed", ""),
    "a call without an id": (calling("calculate", '{"expression": "1"}', None), "failed", "same arguments"),
    "tool calls that are no list": (
        stream({"tool_calls": "calculate"}, finish="tool_calls"),
        "failed",
        "cannot be read",
    ),
    "the same call for ever": (calling("calculate", '{"expression": "1 + 1"}'), "failed", "same arguments"),
    "another call for ever": (asks_something_new, "failed", "reached 30 calls without an answer"),
    # What it cannot do
    "it knows no stream_options": (knows_no_stream_options, "done", ""),
    "it cannot stream": (knows_no_streams, "done", ""),
    "it does not stream, and does not say so": (Say("Done.", streams=False), "done", ""),
}
