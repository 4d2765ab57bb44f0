"""The private names of LangGraph that Baton leans on: this fails when LangGraph changes them."""

from dataclasses import fields

from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal import _constants
from langgraph._internal._scratchpad import PregelScratchpad
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from nodes.agents import internals
from nodes.agents.internals import Answers, within


class Said(TypedDict, total=False):
    said: list[object]


def test_the_keys_are_those_of_langgraph() -> None:
    assert internals.SCRATCHPAD == _constants.CONFIG_KEY_SCRATCHPAD
    assert internals.SEND == _constants.CONFIG_KEY_SEND
    assert {"resume", "interrupt_counter", "get_null_resume"} <= {field.name for field in fields(PregelScratchpad)}


async def said_by(answers: Answers, count: int) -> list[object]:
    """What `interrupt()` returns or raises, `count` times in a row, inside a @task of a node."""

    async def asks() -> list[object]:
        said: list[object] = []
        with within(answers.config(get_config())):
            for number in range(count):
                try:
                    said.append(interrupt(f"{number}?"))
                except GraphInterrupt as error:
                    said.append([one.value for one in error.args[0]])
        return said

    async def node(state: Said) -> Said:
        return {"said": await task(asks)()}

    builder = StateGraph(Said)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    said: list[object] = (await builder.compile().ainvoke({}))["said"]
    return said


async def test_interrupt_returns_the_answers_in_order_and_then_asks() -> None:
    answers = Answers(["one", None])

    assert await said_by(answers, 4) == ["one", None, ["2?"], ["3?"]]
    assert answers.given == 2


async def test_what_is_found_inside_is_gone_afterwards() -> None:
    with within({"tags": ["inside"]}):
        assert get_config()["tags"] == ["inside"]
    assert var_child_runnable_config.get() is None
