"""Whatever goes wrong with a model becomes one line that says what to do, and the right class."""

import asyncio
import socket

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.errors import GraphInterrupt

from nodes.llm.ask import ask, asked_of, explain
from nodes.llm.scripted import ScriptedModel
from state.errors import ModelFailed, ModelRejected, ModelUnavailable, ReplyUnusable, ServerUnusable
from tests.nodes.llm.builders import KEY, model_at
from tests.servers.openai_stub import Behaviour, Failure, Hang, Hangup, OpenAIStub, Raw, Say

QUESTION = [HumanMessage("Why?")]
NO_CHOICES = b'{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}'

CASES: list[tuple[Behaviour, type[ModelFailed], str]] = [
    (Failure(400, "bad field"), ModelRejected, "HTTP 400"),
    (Failure(400, "too many tokens", "context_length_exceeded"), ModelRejected, "too long for stub-model"),
    (Failure(400, "This model's maximum context length is 2048 tokens"), ModelRejected, "too long for stub-model"),
    (Failure(401), ModelRejected, "check OPENAI_API_KEY"),
    (Failure(402), ModelRejected, "HTTP 402"),
    (Failure(403), ModelRejected, "does not let this key use stub-model"),
    (Failure(404), ModelRejected, "check BATON_MODEL"),
    (Failure(413), ModelRejected, "too long"),
    (Failure(422), ModelRejected, "HTTP 422"),
    (Failure(429, "all used up", "insufficient_quota"), ModelRejected, "quota"),
    (Failure(408), ModelUnavailable, "did not answer in time"),
    (Failure(409), ModelUnavailable, "HTTP 409"),
    (Failure(425), ModelUnavailable, "HTTP 425"),
    (Failure(429, headers={"retry-after": "7"}), ModelUnavailable, "try again in 7 s"),
    (Failure(429), ModelUnavailable, "try again later"),
    (Failure(500), ModelUnavailable, "HTTP 500"),
    (Failure(503), ModelUnavailable, "HTTP 503"),
    (Raw(b"\x00\xff\xfe garbage"), ModelUnavailable, "not a chat completion"),
    (Raw(b"<html>Sign in</html>", "text/html"), ModelUnavailable, "not a chat completion"),
    (Raw(b"{}"), ModelUnavailable, "not a chat completion"),
    (Raw(b"[1, 2]"), ModelUnavailable, "not a chat completion"),
    (Raw(b'{"error": {"message": "no slot"}}'), ModelUnavailable, "no slot"),
    (Raw(NO_CHOICES), ModelUnavailable, "not a chat completion"),
    (Hangup(), ModelUnavailable, "is the server up"),
]


@pytest.mark.parametrize(("behaviour", "kind", "words"), CASES, ids=lambda value: str(value)[:40])
async def test_a_bad_server_becomes_one_clear_line(behaviour: Behaviour, kind: type[ModelFailed], words: str) -> None:
    with OpenAIStub(behaviour) as server:
        error = await error_of(model_at(server.url))

    assert type(error) is kind
    assert words in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 500
    is_no_stream = isinstance(behaviour, Raw)  # then it is asked for everything at once
    assert len(server.requests) <= 1 + is_no_stream, "trying again is not this layer's business"


async def test_a_server_that_never_answers_is_given_up_after_the_timeout() -> None:
    with OpenAIStub(Hang()) as server:
        error = await error_of(model_at(server.url, timeout_s=0.2))

    assert type(error) is ServerUnusable
    assert "did not answer in time" in str(error)


async def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}/v1"
        error = await error_of(model_at(url))

    assert type(error) is ModelUnavailable
    assert f"the connection to {url} failed" in str(error)


@pytest.mark.parametrize("politely", [False, True])
async def test_an_answer_that_breaks_off_is_no_answer(politely: bool) -> None:
    with OpenAIStub(Hangup("one two three", chunks=3, politely=politely)) as server:
        model = model_at(server.url).model_copy(update={"streaming": True})
        error = await error_of(model)

    assert type(error) is ModelUnavailable


async def test_the_text_of_a_wrong_key_never_shows() -> None:
    with OpenAIStub("ok", key="another") as server:
        error = await error_of(model_at(server.url))

    assert "check OPENAI_API_KEY" in str(error)
    assert KEY not in repr(error)
    assert KEY[:12] not in f"{error!r} {error.__cause__!r}"


@pytest.mark.parametrize("echo", [f"bad key {KEY}", "bad key sk-proj-****cdef", "header Bearer hf_0123456789"])
async def test_a_key_that_the_provider_echoes_is_blotted_out(echo: str) -> None:
    with OpenAIStub(Failure(403, echo)) as server:
        error = await error_of(model_at(server.url))

    assert "***" in str(error)
    assert not any(part in str(error) for part in ("sk-proj", "Secret", "cdef", "hf_"))


async def test_a_key_of_any_form_is_blotted_out() -> None:
    with OpenAIStub(Failure(403, "token plain-key-77 is not for you")) as server:
        error = await error_of(model_at(server.url, key="plain-key-77"))

    assert "token *** is not for you" in str(error)


async def test_a_password_in_the_address_does_not_show() -> None:
    with OpenAIStub(Failure(500)) as server:
        error = await error_of(model_at(server.url.replace("://", "://ana:hunter2@")))

    assert "hunter2" not in str(error)
    assert server.url in str(error)


async def test_a_long_provider_message_is_cut() -> None:
    with OpenAIStub(Failure(500, "very long\n" * 1000)) as server:
        error = await error_of(model_at(server.url))

    assert "…" in str(error)
    assert "\n" not in str(error)


async def test_an_unknown_exception_of_any_model_is_worth_another_try() -> None:
    class Strange(Exception):
        pass

    error = await error_of(ScriptedModel([Strange("half a\nline")]))

    assert type(error) is ModelUnavailable
    assert "Strange" in str(error)
    assert "\n" not in str(error)


async def test_a_model_without_tool_calls_says_so() -> None:
    error = await error_of(ScriptedModel([NotImplementedError()]))

    assert type(error) is ModelRejected


@pytest.mark.parametrize("status", [401, 429, 529])
def test_errors_of_other_providers_are_understood_by_their_status(status: int) -> None:
    class ProviderError(Exception):
        status_code = status

    error = explain(ProviderError("no"), asked_of(ScriptedModel([])))

    assert type(error) is (ModelRejected if status == 401 else ModelUnavailable)
    assert "OPENAI_API_KEY" not in str(error)


@pytest.mark.parametrize("signal", [GraphInterrupt(()), ModelRejected("a"), ReplyUnusable("b")], ids=repr)
async def test_interrupts_and_our_own_errors_pass_unchanged(signal: BaseException) -> None:
    with pytest.raises(type(signal)) as raised:
        await ask(ScriptedModel([signal]), QUESTION)

    assert raised.value is signal


async def test_a_cancelled_call_stays_cancelled() -> None:
    with OpenAIStub(Hang()) as server:
        asked = asyncio.create_task(ask(model_at(server.url), QUESTION))
        await asyncio.to_thread(server.arrived.wait)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked


async def test_after_a_failure_the_same_model_can_be_asked_again() -> None:
    with OpenAIStub([Failure(503), Say("there")]) as server:
        model = model_at(server.url)
        await error_of(model)
        reply = await ask(model, QUESTION)

    assert reply.text == "there"


async def error_of(model: BaseChatModel) -> ModelFailed:
    with pytest.raises(ModelFailed) as raised:
        await ask(model, QUESTION)
    return raised.value
