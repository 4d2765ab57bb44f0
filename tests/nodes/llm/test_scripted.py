"""The scripted model plays what it was given, by order or by rule, and says when it cannot."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool

from nodes.llm.ask import ask, usage_of
from nodes.llm.scripted import Delay, ScriptedModel
from state.errors import ModelRejected
from state.record import Usage
from state.replies import Review


@tool
def search(query: str) -> str:
    """Search the sources."""
    return query


def say(text: str) -> list[BaseMessage]:
    return [HumanMessage(text)]


async def test_a_list_is_played_in_order() -> None:
    model = ScriptedModel(["one", AIMessage("two")])

    assert [(await ask(model, say("?"))).text for _ in range(2)] == ["one", "two"]


def test_it_plays_without_an_event_loop_too() -> None:
    assert ScriptedModel([Delay(0, "one")]).invoke(say("?")).text == "one"


async def test_dicts_with_name_and_args_are_tool_calls() -> None:
    call = {"name": "search", "args": {"query": "a"}}
    model = ScriptedModel([call, [call, {**call, "id": "mine"}]])

    first = await ask(model, say("?"), tools=[search])
    second = await ask(model, say("?"), tools=[search])

    assert [(one["name"], one["args"], one["id"]) for one in first.tool_calls] == [
        ("search", {"query": "a"}, "call-1-0")
    ]
    assert [one["id"] for one in second.tool_calls] == ["call-2-0", "mine"]


async def test_it_records_what_it_was_asked() -> None:
    model = ScriptedModel(["a", "b"])

    await ask(model, say("first"), tools=[search])
    await ask(model, say("second"))

    assert [(call.messages[0].text, call.tools) for call in model.calls] == [("first", ["search"]), ("second", [])]


async def test_exceptions_are_raised() -> None:
    model = ScriptedModel([ModelRejected("no"), "yes"])

    with pytest.raises(ModelRejected, match="no"):
        await ask(model, say("?"))
    assert (await ask(model, say("?"))).text == "yes"


async def test_functions_see_the_messages_and_the_tools() -> None:
    model = ScriptedModel([lambda messages, tools: f"{messages[-1].text} {tools}"])

    assert (await ask(model, say("hello"), tools=[search])).text == "hello ['search']"


async def test_a_delay_lets_others_work_meanwhile() -> None:
    finished: list[str] = []
    gate = asyncio.Event()

    async def run(model: ScriptedModel) -> None:
        finished.append((await ask(model, say("?"))).text)
        gate.set()

    slow = asyncio.create_task(run(ScriptedModel([Delay(3600, "slow")])))
    await run(ScriptedModel([Delay(0, "fast")]))
    await gate.wait()
    slow.cancel()

    assert finished == ["fast"]


async def test_the_first_rule_that_holds_is_played() -> None:
    model = ScriptedModel({"alpha": ["a1", "a2"], lambda text: text.endswith("!"): "loud", "": "else"})

    played = [(await ask(model, say(text))).text for text in ("alpha", "hey!", "alpha!", "hey!", "hm")]

    assert played == ["a1", "loud", "a2", "loud", "else"]


@pytest.mark.parametrize("script", [["one"], {"last": ["one"]}])
async def test_a_script_that_has_run_dry_names_the_last_message(script: Any) -> None:
    model = ScriptedModel(script)
    await ask(model, say("last words"))

    with pytest.raises(ModelRejected, match="run dry after 1 replies; add a step for: last words"):
        await ask(model, say("last words"))


async def test_no_rule_that_holds_is_an_error() -> None:
    with pytest.raises(ModelRejected, match=r"no rule .* add one for: hello"):
        await ask(ScriptedModel({"alpha": "a"}), say("hello"))


async def test_what_cannot_be_played_is_named() -> None:
    with pytest.raises(ModelRejected, match="cannot play"):
        await ask(ScriptedModel([[1, 2]]), say("?"))


async def test_usage_counts_words_unless_it_is_set() -> None:
    counted = await ask(ScriptedModel(["four words are here"]), say("two words"))
    fixed = await ask(ScriptedModel(["x"], usage=(100, 10)), say("two words"))

    assert usage_of(counted) == Usage(input_tokens=2, output_tokens=4, calls=1)
    assert usage_of(fixed) == Usage(input_tokens=100, output_tokens=10, calls=1)


async def test_it_streams_words_and_whole_calls() -> None:
    model = ScriptedModel(["one two  three", {"name": "search", "args": {"query": "a"}}])

    text = [chunk async for chunk in model.astream(say("?"))]
    calls = [chunk async for chunk in model.astream(say("?"))]

    assert [chunk.text for chunk in text if chunk.text] == ["one", " two", "  three"]
    assert sum(chunk.usage_metadata["output_tokens"] for chunk in text if chunk.usage_metadata) == 3
    assert [call["args"] for chunk in calls for call in chunk.tool_calls] == [{"query": "a"}]


async def test_data_answers_a_forced_tool_and_is_json_otherwise() -> None:
    data = {"verdicts": [{"task_id": "t1"}]}
    model = ScriptedModel([data, Review.model_validate(data), data])

    forced = await model.bind_tools([Review], tool_choice="Review").ainvoke(say("?"))
    named = await model.bind_tools([Review]).ainvoke(say("?"))
    plain = await model.ainvoke(say("?"))

    assert [forced.tool_calls[0]["name"], named.tool_calls[0]["name"]] == ["Review", "Review"]
    assert plain.text == '{"verdicts": [{"task_id": "t1"}]}'


async def test_many_callers_share_one_script_without_losing_a_step() -> None:
    model = ScriptedModel([Delay(0, str(number)) for number in range(50)])

    replies = await asyncio.gather(*(ask(model, say("?")) for _ in range(50)))

    assert sorted(int(reply.text) for reply in replies) == list(range(50))
