"""Replies are streamed: only silence is a time-out, a trickle ends; servers that cannot stream are asked without."""

import time
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from nodes.llm.ask import ask, usage_of
from nodes.llm.bounds import bounded
from nodes.llm.streaming import WAYS
from state.errors import ModelFailed, ModelRejected, ModelUnavailable, ServerUnusable
from state.record import Usage
from tests.nodes.llm.builders import model_at
from tests.servers.openai_stub import Behaviour, Events, Failure, Hangup, OpenAIStub, Request, Say

QUESTION = [HumanMessage("Why?")]
ALIVE = Events([b": still here\n\n"] * 10_000, every_s=0.02)


async def test_a_reply_that_takes_longer_than_the_time_out_is_heard_as_long_as_it_goes_on() -> None:
    with OpenAIStub(Say("one two three four five six seven eight", every_s=0.1)) as server:
        reply = await ask(model_at(server.url, timeout_s=0.5), QUESTION)

    assert reply.text == "one two three four five six seven eight"
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize("behaviour", [Say("word " * 10_000, every_s=0.02), ALIVE], ids=["a trickle", "signs of life"])
async def test_what_never_ends_is_ended(behaviour: Behaviour) -> None:
    with OpenAIStub(behaviour) as server, bounded(seconds=0.5), pytest.raises(ServerUnusable) as raised:
        await ask(model_at(server.url), QUESTION)

    assert "was still answering after 0.5 s (call_timeout_s)" in str(raised.value)


async def test_silence_in_the_middle_of_a_reply_is_a_time_out() -> None:
    slow = Events([b": hello\n\n", b": too late\n\n"], every_s=1)
    with OpenAIStub(slow) as server, pytest.raises(ServerUnusable, match="did not answer in time"):
        await ask(model_at(server.url, timeout_s=0.2), QUESTION)


async def test_a_stream_that_stops_in_the_middle_is_not_blamed_on_the_address() -> None:
    with OpenAIStub(Hangup("one two three", chunks=3)) as server, pytest.raises(ModelUnavailable) as raised:
        await ask(model_at(server.url), QUESTION)

    assert "stopped in the middle of its answer" in str(raised.value)
    assert "address" not in str(raised.value)


def knows_no_stream_options(request: Request) -> Behaviour:
    return Failure(400, "Unrecognized request argument: stream_options") if "stream_options" in request.body else "Hi."


def knows_no_streams(request: Request) -> Behaviour:
    return Failure(400, "streaming is not supported") if request.body.get("stream") else "Hi."


def never_streams(request: Request) -> Behaviour:
    return Say("Hi.", streams=False)


@pytest.mark.parametrize("server", [knows_no_stream_options, knows_no_streams, never_streams])
async def test_what_a_server_does_not_know_it_is_not_asked_for_again(server: object) -> None:
    with OpenAIStub(server) as stub:  # type: ignore[arg-type]
        model = model_at(stub.url)
        first = await ask(model, QUESTION)
        tried = len(stub.requests)
        again = await ask(model, QUESTION)

    assert (first.text, again.text) == ("Hi.", "Hi.")
    assert 2 <= tried <= len(WAYS)
    assert len(stub.requests) == tried + 1


async def test_usage_is_told_at_the_end_of_a_stream_and_estimated_where_it_is_not() -> None:
    with OpenAIStub([Say("Hi.", usage=(20, 5)), Say("Hi.", usage=None)]) as server:
        model = model_at(server.url)
        told, silent = await ask(model, QUESTION), await ask(model, QUESTION)

    assert usage_of(told, 10) == Usage(input_tokens=20, output_tokens=5, calls=1)
    assert usage_of(silent, 10) == Usage(input_tokens=10, output_tokens=1, calls=1)


async def test_a_server_that_does_not_stream_may_be_silent_as_long_as_a_call_may_take() -> None:
    def answers_at_the_end(request: Request) -> Behaviour:
        if not request.body.get("stream"):
            time.sleep(0.6)
        return knows_no_streams(request)

    with OpenAIStub(answers_at_the_end) as server, bounded(seconds=30):
        reply = await ask(model_at(server.url, timeout_s=0.3), QUESTION)

    assert reply.text == "Hi."


@pytest.mark.parametrize("text", ["", "Some"])
async def test_what_a_filter_has_withheld_is_said(text: str) -> None:
    with OpenAIStub(Say(text, finish="content_filter")) as server:
        model = model_at(server.url)
        if text:
            assert (await ask(model, QUESTION)).text == text
            return
        with pytest.raises(ModelRejected, match="withheld"):
            await ask(model, QUESTION)


def test_errors_of_a_slow_server_are_of_a_class_of_their_own() -> None:
    assert issubclass(ServerUnusable, ModelFailed)
    assert not issubclass(ServerUnusable, (ModelUnavailable, ModelRejected))


@pytest.mark.parametrize(
    "told", [{"streaming": False}, {"disable_streaming": True}, {"disable_streaming": "tool_calling"}]
)
async def test_a_model_that_is_not_to_stream_is_asked_at_once(told: dict[str, Any]) -> None:
    with OpenAIStub("Done.") as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key=SecretStr("k"), **told)
        reply = await ask(model, [HumanMessage("Q")])

    assert reply.text == "Done."
    assert [bool(request.body.get("stream")) for request in server.requests] == [False]
