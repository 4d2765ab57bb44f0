"""The stub speaks the protocol as OpenAI's own client understands it."""

import openai
import pytest
from openai import AsyncOpenAI

from tests.servers.openai_stub import Failure, OpenAIStub, Say


def client(server: OpenAIStub, key: str = "k") -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url, api_key=key, max_retries=0)


async def test_it_lists_its_models() -> None:
    with OpenAIStub("ok", models=["a", "b"]) as server:
        async with client(server) as caller:
            assert [model.id async for model in caller.models.list()] == ["a", "b"]


async def test_it_answers_streams_and_records() -> None:
    with OpenAIStub([Say("one two"), Failure(429)]) as server:
        async with client(server) as caller:
            stream = await caller.chat.completions.create(model="m", messages=[], stream=True)
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
            for _ in range(2):
                with pytest.raises(openai.RateLimitError):
                    await caller.chat.completions.create(model="m", messages=[])

    assert text == "one two"
    assert [request.body.get("stream") for request in server.requests] == [True, None, None]


async def test_it_knows_its_key_and_its_models() -> None:
    with OpenAIStub("ok", key="right", models=["a"]) as server:
        async with client(server, "wrong") as stranger, client(server, "right") as caller:
            with pytest.raises(openai.AuthenticationError):
                await stranger.chat.completions.create(model="a", messages=[])
            with pytest.raises(openai.NotFoundError):
                await caller.chat.completions.create(model="b", messages=[])
