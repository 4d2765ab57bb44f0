"""The plain compiled graph, without the facade: `ainvoke`, `astream`, `Command(resume=…)`."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from graph.app import build_supervisor
from graph.builder import Graph
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import BadInput, PolicyInvalid, SourcesInvalid
from state.replies import PlanDraft, TaskDraft
from tests.runs import Turns, agent, plan

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


def graph_of(*team: AgentSpec, model: ScriptedModel | None = None, **policy: Any) -> Graph:
    return build_supervisor(
        team or (agent(),),
        policy=policy,
        model=model or ScriptedModel([]),
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )


async def invoke(graph: Graph, given: Any, config: RunnableConfig = THREAD) -> dict[str, Any]:
    return dict(await graph.ainvoke(given, config))


async def asks(brief: Brief, desk: Any) -> str:
    return f"{(await desk.ask('launch', {'n': 1})).type} for {brief.task.id}"


async def test_a_query_comes_back_as_report_messages_tasks_and_usage() -> None:
    out = await invoke(graph_of(), {"query": "Q", "plan": plan("a")})

    assert set(out) == {"report", "messages", "tasks", "artifacts", "phase", "usage"}
    assert out["phase"] == "complete"
    assert [message.type for message in out["messages"]] == ["human", "ai"]
    assert out["messages"][-1].text == out["report"]
    assert [task["task"]["id"] for task in out["tasks"]] == ["a"]


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "What is new?"}],
        [HumanMessage("Old."), HumanMessage("What is new?")],
        [HumanMessage([{"type": "text", "text": "What is new?"}])],
    ],
)
async def test_the_goal_may_be_the_last_human_message(messages: list[Any]) -> None:
    out = await invoke(graph_of(), {"messages": messages, "plan": plan("a")})

    assert out["report"].startswith("# What is new?")
    assert len(out["messages"]) == len(messages) + 1


async def test_without_a_checkpointer_it_runs_all_the_same() -> None:
    graph = build_supervisor([agent()], model=ScriptedModel([]))
    out = await invoke(graph, {"query": "Q", "plan": plan("a")}, {})

    assert out["phase"] == "complete"


@pytest.mark.parametrize(
    ("given", "error", "complaint"),
    [
        ({"query": " "}, BadInput, "the request is empty"),
        ({"messages": []}, BadInput, "the request is empty"),
        ({"query": 5}, BadInput, "the request is 5; say as text"),
        ({"query": "Q", "sources": "notes.md"}, SourcesInvalid, "no list of files"),
        ({"query": "Q", "policy": ["in_command"]}, PolicyInvalid, "the policy is no mapping"),
        ({"query": "Q", "plan": plan("a <- b")}, BadInput, "unknown task 'b'"),
        ({"query": "Q", "plan": plan("a"), "policy": {"max_attempts": 0}}, PolicyInvalid, "max_attempts"),
    ],
)
async def test_bad_input_is_refused_with_a_builtin_error(
    given: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint) as caught:
        await invoke(graph_of(), given)

    assert isinstance(caught.value, ValueError)


async def test_what_a_context_cannot_set_is_refused_by_name() -> None:
    context: Any = {"oversigt": "auto"}
    with pytest.raises(BadInput, match="an assistant cannot set 'oversigt'; it can set oversight"):
        await graph_of().ainvoke({"query": "Q", "plan": plan("a")}, THREAD, context=context)


async def test_a_question_is_an_interrupt_that_every_page_understands() -> None:
    out = await invoke(graph_of(agent(asks)), {"query": "Q", "plan": plan("a", "b")})
    (interrupt,) = out["__interrupt__"]
    asked = interrupt.value

    assert [request["name"] for request in asked["action_requests"]] == ["launch", "Launch 1?"]
    assert asked["action_requests"][0]["args"] == asked["action_requests"][0]["arguments"] == {"n": 1}
    assert asked["review_configs"][0] == {"action_name": "launch", "allowed_decisions": ["approve", "edit", "reject"]}
    assert [approval["task_id"] for approval in asked["approvals"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("answer", "results"),
    [
        ({"decisions": [{"type": "approve"}, {"type": "reject"}]}, ["approve for a", "reject for b"]),
        ("yes", ["approve for a", "approve for b"]),
        (False, ["reject for a", "reject for b"]),
    ],
)
async def test_the_answer_comes_as_a_command(answer: Any, results: list[str]) -> None:
    graph = graph_of(agent(asks))
    await invoke(graph, {"query": "Q", "plan": plan("a", "b")})
    out = await invoke(graph, Command(resume=answer))

    assert out["phase"] == "complete"
    assert [task["outcome"]["result"] for task in out["tasks"]] == results


async def test_what_cannot_be_read_is_asked_again_with_the_reason() -> None:
    graph = graph_of(agent(asks))
    await invoke(graph, {"query": "Q", "plan": plan("a")})
    again = await invoke(graph, Command(resume="perhaps"))
    assert "'perhaps' is not an answer" in again["__interrupt__"][0].value["error"]
    out = await invoke(graph, Command(resume="yes"))

    assert out["tasks"][0]["outcome"]["result"] == "approve for a"


async def test_new_text_while_work_is_in_flight_is_a_note_and_restarts_nothing() -> None:
    work = Turns("So.")
    graph = graph_of(agent(work), agent(asks, name="bo", role="asker"))
    await invoke(graph, {"query": "Q", "plan": plan("a", {"id": "b", "role": "asker"})})
    waiting = await invoke(graph, {"messages": [HumanMessage("Mind the budget.")]})
    noted = (await graph.aget_state(THREAD)).values
    out = await invoke(graph, Command(resume="yes"))

    assert "__interrupt__" in waiting
    assert (noted["goal"], noted["notes"]) == ("Q", ["Mind the budget."])
    assert [one for one in noted["messages"] if "passed on as a note" in one.text]
    assert (out["phase"], work.tasks) == ("complete", ["a"])


@pytest.mark.parametrize("times", [1, 2])
async def test_what_had_ended_is_not_done_again_where_new_text_cuts_the_run_off(times: int) -> None:
    begun, is_open = asyncio.Event(), False
    done = list[str]()

    async def works(brief: Brief, desk: Any) -> str:
        if brief.task.id == "gate" and not is_open:
            begun.set()
            await asyncio.Event().wait()
        done.append(brief.task.id)
        return "So."

    graph = graph_of(agent(works))
    given: Any = {"query": "Q", "plan": plan("a", "gate <- a")}
    for number in range(times):
        running = asyncio.create_task(invoke(graph, given))
        await begun.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        begun.clear()
        given = {"messages": [HumanMessage(f"Mind the budget, {number}.")]}
    is_open = True
    out = await invoke(graph, given)

    assert (out["phase"], done) == ("complete", ["a", "gate"])


async def test_new_text_while_a_plan_waits_for_approval_does_not_throw_the_plan_away() -> None:
    draft = PlanDraft(tasks=[TaskDraft(id="p", description="Do it.")])
    graph = graph_of(model=ScriptedModel([draft]), oversight="in_command")
    await invoke(graph, {"query": "Q"})
    await invoke(graph, {"messages": [HumanMessage("Mind the budget.")]})
    await invoke(graph, Command(resume="yes"))
    out = await invoke(graph, Command(resume="yes"))

    assert [task["task"]["id"] for task in out["tasks"]] == ["p"]
    assert out["phase"] == "complete"


async def test_text_on_a_thread_that_has_ended_is_a_new_request() -> None:
    graph = graph_of()
    await invoke(graph, {"query": "One", "plan": plan("a")})
    out = await invoke(graph, {"query": "Two", "plan": plan("b")})

    assert out["report"].startswith("# Two")
    assert [task["task"]["id"] for task in out["tasks"]] == ["b"]
    assert [message.type for message in out["messages"]] == ["human", "ai", "human", "ai"]


async def test_events_come_through_the_custom_stream() -> None:
    events = [
        event async for event in graph_of().astream({"query": "Q", "plan": plan("a")}, THREAD, stream_mode="custom")
    ]

    assert {event["type"] for event in events} == {"baton.event"}
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["kind"] == "run_finished"


async def test_who_streams_subgraphs_gets_every_event_as_the_runs_own() -> None:
    stream: Any = graph_of().astream(
        {"query": "Q", "plan": plan("a", "b")}, THREAD, stream_mode="custom", subgraphs=True
    )
    events = [(place, event["seq"]) async for place, event in stream]

    assert events == [((), number) for number in range(1, len(events) + 1)]


async def test_what_is_checkpointed_is_plain_json() -> None:
    graph = graph_of(agent(asks))
    await invoke(graph, {"query": "Q", "plan": plan("a")})
    values = (await graph.aget_state(THREAD)).values

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        if isinstance(value, list):
            return all(plain(item) for item in value)
        return value is None or type(value) in (str, int, float, bool)

    assert [key for key, value in values.items() if key != "messages" and not plain(value)] == []
