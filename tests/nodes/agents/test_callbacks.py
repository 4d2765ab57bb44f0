"""Model calls of agents that bring their own models: counted, and stopped where there is no room, however made."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Limits
from state.run import Run
from tests.runs import agent, opened, plan, statuses

TIMES = 6


def a_model() -> ScriptedModel:
    return ScriptedModel({lambda _: True: "Again."}, usage=(10, 1))


def graph_of(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("think", node)
    builder.add_edge(START, "think")
    return builder.compile()


def awaiting(model: ScriptedModel) -> Any:
    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"]) for _ in range(TIMES)]}

    return graph_of(think)


def in_a_thread(model: ScriptedModel) -> Any:
    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"]) for _ in range(TIMES)]}

    return graph_of(think)


def blocking(model: ScriptedModel) -> Any:
    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"]) for _ in range(TIMES)]}

    return graph_of(think)


def in_a_chain(model: ScriptedModel) -> Any:
    return RunnableLambda(lambda _: "Go.") | RunnableLambda(lambda text: [model.invoke(text) for _ in range(TIMES)][-1])


WAYS = {"awaited": awaiting, "in a thread": in_a_thread, "blocking": blocking, "in a chain": in_a_chain}


async def beside(run: Any, limits: Limits | None = None, **policy: Any) -> Run:
    own = AgentSpec(name="own", role="own", run=run, limits=limits or Limits())
    async with opened(own, agent(), max_iterations=0, max_attempts=1, **policy) as sup:
        return await sup.start("Q", plan=plan({"id": "a", "role": "own"}, "b"))


@pytest.mark.parametrize("way", WAYS)
async def test_every_call_is_counted(way: str) -> None:
    run = await beside(WAYS[way](a_model()))

    assert (run.status, run.tasks[0].result) == ("complete", "Again.")
    assert (run.usage.calls, run.usage.total_tokens, run.tasks[0].tokens) == (TIMES, 11 * TIMES, 11 * TIMES)


@pytest.mark.parametrize("way", WAYS)
async def test_the_runs_limit_stops_them(way: str) -> None:
    model = a_model()
    run = await beside(WAYS[way](model), max_agent_iterations=4)

    assert len(model.calls) <= 4
    assert "max_agent_iterations" in str(run.tasks[0].error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("limits", "made", "reason"),
    [
        (Limits(iterations=3), 3, "it reached 3 calls without an answer"),
        (Limits(tokens=20), 2, "it reached 20 tokens without an answer"),
    ],
)
async def test_the_agents_own_limit_stops_it_and_nobody_else(way: str, limits: Limits, made: int, reason: str) -> None:
    model = a_model()
    run = await beside(WAYS[way](model), limits)

    if way == "blocking" and limits.tokens:  # what it has used is known when it lets the others have a turn
        assert (statuses(run), len(model.calls)) == ({"a": "done", "b": "done"}, TIMES)
    else:
        assert (run.status, statuses(run)) == ("partial", {"a": "failed", "b": "done"})
        assert (len(model.calls), reason in str(run.tasks[0].error)) == (made, True)


async def test_who_calls_the_same_tool_for_ever_is_stopped_by_its_own_limit() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "nothing yet"

    model = ScriptedModel({lambda _: True: {"name": "look", "args": {}}})
    run = await beside(create_agent(model, [look]), Limits(iterations=7))

    assert (run.status, statuses(run), len(model.calls)) == ("partial", {"a": "failed", "b": "done"}, 7)
    assert run.tasks[0].error == "it reached 7 calls without an answer; its tools found look: nothing yet"
