"""One call of a model, over a real socket."""

import asyncio
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph

from nodes.llm.ask import ask, usage_of
from state.record import Usage
from tests.nodes.llm.builders import KEY, model_at
from tests.servers.openai_stub import OpenAIStub, Say

QUESTION = [SystemMessage("Be brief."), HumanMessage("Why?")]


@tool
def search(query: str, limit: int = 8) -> str:
    """Search the sources."""
    return query * limit


async def test_a_plain_answer_comes_back_as_text() -> None:
    with OpenAIStub("Because.") as server:
        reply = await ask(model_at(server.url), QUESTION)

    assert reply.text == "Because."
    assert [message["role"] for message in server.requests[0].body["messages"]] == ["system", "user"]


async def test_requests_carry_the_key_the_model_and_no_randomness() -> None:
    with OpenAIStub("ok", key=KEY, models=["small"]) as server:
        await ask(model_at(server.url, name="small"), QUESTION)

    body = server.requests[0].body
    assert (body["model"], body["temperature"]) == ("small", 0)


async def test_tools_go_out_and_their_calls_come_back() -> None:
    with OpenAIStub(Say(calls=[("search", {"query": "price", "limit": 2})])) as server:
        reply = await ask(model_at(server.url), QUESTION, tools=[search])

    assert [(call["name"], call["args"]) for call in reply.tool_calls] == [("search", {"query": "price", "limit": 2})]
    assert server.requests[0].body["tools"][0]["function"]["name"] == "search"


async def test_without_tools_none_are_mentioned() -> None:
    with OpenAIStub("ok") as server:
        await ask(model_at(server.url), QUESTION)

    assert "tools" not in server.requests[0].body


async def test_usage_is_what_the_server_counted() -> None:
    with OpenAIStub(Say("ok", usage=(20, 5))) as server:
        reply = await ask(model_at(server.url), QUESTION)

    assert usage_of(reply) == Usage(input_tokens=20, output_tokens=5, calls=1)


async def test_a_server_that_does_not_count_still_makes_it_one_call() -> None:
    with OpenAIStub(Say("ok", usage=None)) as server:
        reply = await ask(model_at(server.url), QUESTION)

    assert usage_of(reply) == Usage(calls=1)


def test_one_event_loop_after_another_can_ask() -> None:
    with OpenAIStub("ok") as server:
        replies = [asyncio.run(ask(model_at(server.url), QUESTION)).text for _ in range(3)]

    assert replies == ["ok", "ok", "ok"]


async def test_in_a_graph_that_streams_messages_the_tokens_arrive_one_by_one_and_are_counted() -> None:
    with OpenAIStub(Say("one two three", usage=(9, 3))) as server:
        tokens, reply = await streamed_through_a_graph(model_at(server.url))

    assert [token for token in tokens if token] == ["one", " two", " three"]
    assert (reply.text, usage_of(reply)) == ("one two three", Usage(input_tokens=9, output_tokens=3, calls=1))
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


async def test_streamed_tool_calls_are_put_together() -> None:
    with OpenAIStub(Say(calls=[("search", {"query": "the long price list"}), ("search", {"query": "b"})])) as server:
        _, reply = await streamed_through_a_graph(model_at(server.url), [search])

    assert server.requests[0].body["stream"] is True
    assert [call["args"] for call in reply.tool_calls] == [{"query": "the long price list"}, {"query": "b"}]


async def test_a_call_tagged_nostream_is_kept_out_of_the_stream() -> None:
    with OpenAIStub("one two three") as server:
        tokens, reply = await streamed_through_a_graph(model_at(server.url), tags=["nostream"])

    assert "".join(tokens) == reply.text == "one two three"
    assert len(tokens) == 1, "only the finished message, which the node put into the state"


async def streamed_through_a_graph(
    model: BaseChatModel, tools: Any = (), tags: Any = ()
) -> tuple[list[str], AIMessage]:
    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await ask(model, state["messages"], tools=tools, tags=tags)]}

    builder = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think").add_edge("think", END)
    tokens, last = [], None
    graph: Any = builder.compile()
    async for mode, part in graph.astream({"messages": QUESTION}, stream_mode=["messages", "values"]):
        if mode == "messages":
            tokens.append(part[0].text)
        else:
            last = part["messages"][-1]
    assert isinstance(last, AIMessage)
    return tokens, last
