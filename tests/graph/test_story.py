"""What the thread of a run tells: the plan, how far it is, what is asked and what was decided, then the report."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from graph.app import build_supervisor
from graph.builder import build_graph
from graph.composition import compose
from graph.runs import SERVER
from graph.settings import Settings
from graph.team_file import open_team
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.services import Choice
from state.agent import AgentSpec, Brief
from tests.graph.test_app import THREAD, asks, graph_of, invoke
from tests.runs import agent, plan
from tests.served import config, two


async def publishes(brief: Brief, desk: Any) -> str:
    said = await desk.ask("publish", {"name": "launch.md", "body": "# Launch\n\nOn Monday."}, risk="high")
    return f"{said.type}: {said.message}"


def story(messages: list[AnyMessage]) -> list[str]:
    """The part that each message of a run is, by its id."""
    return [str(one.id).rpartition("-")[2] if one.name == "baton" else one.type for one in messages]


async def test_a_run_tells_its_plan_how_far_it_is_what_it_asks_who_decided_and_its_report() -> None:
    graph = graph_of(agent(), agent(publishes, name="bo", role="writer"))
    asked = await invoke(graph, {"query": "Q", "plan": plan("a", {"id": "b", "role": "writer"})})
    _, told, line, question = asked["messages"]
    ended = await invoke(graph, Command(resume={"type": "approve", "by": "ana"}))

    assert told.text.splitlines()[2:] == ["1. Do a. (ada)", "2. Do b. (bo)"]
    assert line.text == "1 of 2 done · waits for you: 1 open question"
    assert question.text.startswith("Publish launch.md?\n\nWhy: bo asks before it does this. Risk: high. Until 20")
    assert "\n\nbo asks this for: Do b.\n\n" in question.text
    assert question.text.endswith("Answer with “yes”, or with “no, because …”.")
    (call,), (request,) = question.tool_calls, asked["__interrupt__"][0].value["action_requests"]
    assert (call["name"], call["args"]) == (request["name"], request["args"])
    assert request["description"].startswith("Publish launch.md?")
    assert story(ended["messages"]) == ["human", "plan", "progress", "0", "tool", "report"]
    assert [one.id for one in ended["messages"][:4]] == [one.id for one in asked["messages"]]
    assert ended["messages"][3].text == "Publish launch.md? Approved by ana."
    assert ended["messages"][2].text == "2 of 2 done"
    closing = ended["messages"][4]
    assert isinstance(closing, ToolMessage)
    assert (closing.tool_call_id, closing.text) == (call["id"], "Approved by ana.")
    assert ended["messages"][-1].text == ended["report"]


async def test_the_next_run_on_the_thread_tells_a_story_of_its_own() -> None:
    graph = graph_of()
    await invoke(graph, {"query": "One", "plan": plan("a", "b")})
    out = await invoke(graph, {"query": "Two", "plan": plan("c", "d")})

    assert story(out["messages"]) == ["human", "plan", "progress", "report"] * 2
    assert len({one.id for one in out["messages"]}) == len(out["messages"])


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        ("yes", "approve: "),
        ("Approve!", "approve: "),
        ("No, because it is not finished", "reject: because it is not finished"),
        ("no because of Monday", "reject: because of Monday"),
    ],
)
async def test_a_typed_yes_or_no_answers_the_one_open_question_and_says_so(typed: str, result: str) -> None:
    graph = graph_of(agent(publishes))
    await invoke(graph, {"query": "Q", "plan": plan("a")})
    out = await invoke(graph, {"messages": [HumanMessage(typed)]})

    assert out["phase"] == "complete"
    assert out["tasks"][0]["outcome"]["result"] == result
    texts = [one.text for one in out["messages"]]
    said, _, why = result.partition(": ")
    taken = {"approve": "approved", "reject": "rejected"}[said]
    assert f"Taken as your answer to “Publish launch.md?”: {taken}." in texts
    assert f"Publish launch.md? {taken.title()} by a person{why and f': {why}'}." in texts


@pytest.mark.parametrize("typed", ["no need to hurry", "yes but change the title", "go", "mind the budget"])
async def test_anything_else_is_a_note_and_what_is_open_is_asked_again(typed: str) -> None:
    graph = graph_of(agent(publishes))
    first = await invoke(graph, {"query": "Q", "plan": plan("a")})
    handled = ToolMessage("Successfully handled tool call.", tool_call_id=first["messages"][-1].tool_calls[0]["id"])
    before = [handled] if typed == "go" else []  # as Agent Chat UI sends it
    out = await invoke(graph, {"messages": [*before, HumanMessage(typed)]})
    values = (await graph.aget_state(THREAD)).values

    assert values["notes"] == [typed]
    assert [one for one in out["messages"] if "passed on as a note" in one.text]
    assert out["messages"][-1].text.startswith("Publish launch.md?")
    calls = [call["id"] for one in out["messages"] if isinstance(one, AIMessage) for call in one.tool_calls]
    closed = [one.tool_call_id for one in out["messages"] if isinstance(one, ToolMessage)]
    assert closed == calls[:-1]
    again = await invoke(graph, {"messages": [HumanMessage("yes")]})
    assert again["phase"] == "complete"


Page = Callable[[dict[str, Any], AnyMessage], dict[str, Any]]


def shown_by_deep_agents_ui(payload: dict[str, Any], last: AnyMessage) -> dict[str, Any]:
    """The request on the card with buttons, which is found by the name of the last message's open tool call."""
    by_name = {one["name"]: one for one in payload["action_requests"]}
    (call,) = [one for one in cast(AIMessage, last).tool_calls if one["name"] in by_name]
    assert call["args"] == by_name[call["name"]]["args"]
    return by_name[call["name"]]  # type: ignore[no-any-return]


def shown_by_agent_inbox(payload: dict[str, Any], last: AnyMessage) -> dict[str, Any]:
    """The first request."""
    return payload["action_requests"][0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        (shown_by_deep_agents_ui, {"decisions": [{"type": "approve"}]}),
        (shown_by_agent_inbox, [{"type": "accept", "args": None}]),
    ],
)
async def test_a_page_that_shows_one_question_of_many_answers_the_one_that_it_shows(page: Page, answer: Any) -> None:
    async def sends(brief: Brief, desk: Any) -> str:
        return (await desk.ask("send", {"to": brief.task.id})).type  # type: ignore[no-any-return]

    graph = graph_of(agent(sends))
    out = await invoke(graph, {"query": "Q", "plan": plan("a", "b", "c")})
    answered: list[str] = []
    while "__interrupt__" in out:
        asked = out["__interrupt__"][0].value
        assert len({one["name"] for one in asked["action_requests"]}) == len(asked["action_requests"])
        shown = page(asked, out["messages"][-1])
        out = await invoke(graph, Command(resume=answer))
        answered.append(shown["args"]["to"])
        assert [one["task"]["id"] for one in out["tasks"] if one["status"] == "done"] == answered

    assert answered == ["a", "b", "c"]
    told = [one.text for one in out["messages"] if "-ask-" in str(one.id) and one.type == "ai"]
    assert told == [f"Send {to}? Approved by a person." for to in answered]


async def test_who_answers_all_at_once_is_told_of_each() -> None:
    graph = graph_of(agent(asks))
    await invoke(graph, {"query": "Q", "plan": plan("a", "b")})
    out = await invoke(graph, Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}))

    told = [one.text for one in out["messages"] if "-ask-" in str(one.id) and one.type == "ai"]
    assert told == ["Launch 1? Approved by a person.\n\nLaunch 1? Rejected by a person."]


async def test_why_an_answer_does_not_count_is_said_where_it_is_asked() -> None:
    graph = graph_of(agent(publishes))
    first = await invoke(graph, {"query": "Q", "plan": plan("a")})
    out = await invoke(graph, Command(resume="perhaps"))

    assert [one.id for one in out["messages"]] == [one.id for one in first["messages"]]
    (request,) = out["__interrupt__"][0].value["action_requests"]
    why = "'perhaps' is not an answer; say approve, reject or edit"
    for text in (out["messages"][-1].text, request["description"]):
        assert text.splitlines()[:3] == [
            "Publish launch.md?",
            "",
            f"The last answer could not be used: {why}",
        ]
    out = await invoke(graph, Command(resume="yes"))
    assert "could not be used" not in "".join(one.text for one in out["messages"])


async def test_a_plan_is_asked_about_as_a_list_and_changed_as_one() -> None:
    graph = graph_of(oversight="in_command")
    out = await invoke(graph, {"query": "Q", "plan": plan("a", "b <- a")})
    (request,) = out["__interrupt__"][0].value["action_requests"]
    lines = "1. Do a. (generalist)\n2. Do b. (generalist, after 1)"
    assert (request["name"], request["args"]) == ("Carry out this plan of 2 tasks?", {"plan": lines})
    assert out["messages"][-1].text.count(lines) == 1

    edit = {"action": request["name"], "args": {"plan": "1. Do only this."}}
    out = await invoke(graph, Command(resume=[{"type": "edit", "args": edit}]))
    assert [(one["task"]["id"], one["task"]["description"]) for one in out["tasks"]] == [("a", "Do only this.")]


async def test_a_typed_yes_answers_none_of_two_questions_and_not_the_next_one_later() -> None:
    graph = graph_of(agent(asks))
    await invoke(graph, {"query": "Q", "plan": plan("a", "b")})
    out = await invoke(graph, {"messages": [HumanMessage("yes")]})
    assert [one["outcome"]["status"] for one in out["tasks"]] == ["parked", "parked"]
    (waiting,) = out["__interrupt__"]
    out = await invoke(graph, Command(resume={waiting.value["approvals"][0]["id"]: "yes"}))

    assert [one["status"] for one in out["tasks"]] == ["done", "parked"]
    assert len(out["__interrupt__"][0].value["approvals"]) == 1


async def test_who_streams_messages_hears_who_is_at_work_and_no_agent_for_the_assistant() -> None:
    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await ScriptedModel(["The graph's own words."]).ainvoke(state["messages"])]}

    inner: Any = StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").add_edge("speak", END).compile()
    team = [
        AgentSpec(name="ada", role="generalist"),
        AgentSpec(name="gus", role="graph", run=inner),
    ]
    graph = graph_of(*team, model=ScriptedModel(["The worker's own words."]))
    config: RunnableConfig = THREAD
    given: Any = {"query": "Q", "plan": plan("a", {"id": "b", "role": "graph"})}
    streamed = [
        part[0]
        async for _, part in graph.astream(given, config, stream_mode="messages", subgraphs=True)
        if isinstance(part[0], AIMessage)
    ]
    told = (await graph.aget_state(config)).values

    assert {one.name for one in streamed} == {"baton"}
    lines = "".join(one.text for one in streamed if str(one.id).endswith("-progress"))
    assert "0 of 2 done · ada: Do a." in lines
    assert "2 of 2 done" in lines
    assert told["messages"][-1].text == told["report"]


async def test_who_streams_all_graphs_gets_no_state_but_that_of_the_run() -> None:
    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("Text for a model.")]}

    inner: Any = StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").add_edge("speak", END).compile()
    team = [AgentSpec(name="ada", role="generalist"), AgentSpec(name="gus", role="graph", run=inner)]
    graph = graph_of(*team, model=ScriptedModel(["Said."]))
    given: Any = {"query": "Q", "plan": plan("a", {"id": "b", "role": "graph"})}
    parts: Any = graph.astream(given, THREAD, stream_mode=["values", "messages"], subgraphs=True)
    states = [(path, state) async for path, mode, state in parts if mode == "values"]

    assert {path for path, _ in states} == {()}
    counts = [len(state["messages"]) for _, state in states]
    assert counts == sorted(counts)


async def test_the_report_streams_under_the_id_that_it_keeps() -> None:
    model = ScriptedModel({"You put the findings": "Both are done, and well.", "": "It is done."})
    graph = graph_of(*[AgentSpec(name="ada", role="generalist")], model=model, learning="off")
    given: Any = {"query": "Q", "plan": plan("a", "b")}
    parts: Any = graph.astream(given, THREAD, stream_mode="messages")
    streamed = [part[0] async for part in parts]
    report = (await graph.aget_state(THREAD)).values["messages"][-1]
    said = [one for one in streamed if one.id == report.id]

    assert {str(one.id).rpartition("-")[2] for one in streamed if isinstance(one, AIMessage)} == {
        "plan",
        "progress",
        "report",
    }
    assert len(said) > 2
    assert "".join(one.text for one in said).strip() in report.text
    assert report.text.endswith(said[-1].text)


async def test_while_a_human_is_asked_the_phase_says_so_and_goes_on_where_it_was() -> None:
    graph = graph_of(agent(publishes))
    asked = await invoke(graph, {"query": "Q", "plan": plan("a")})
    assert asked["phase"] == "waiting"
    assert (await invoke(graph, Command(resume="yes")))["phase"] == "complete"


async def test_a_server_says_in_the_thread_why_a_request_is_turned_away_and_takes_the_next() -> None:
    async with two() as served:
        for given in ({"query": " "}, {"query": "Q", "policy": {"oversight": "loose"}}):
            with pytest.raises(ValueError, match=r"request is empty|policy cannot be used"):
                await served.graph.ainvoke(cast(Any, given), config())
        refused = (await served.graph.aget_state(config())).values["messages"]
        with pytest.raises(ValueError, match="oversight"):  # going on without anything new is turned away alike
            await served.graph.ainvoke(None, config())
        with pytest.raises(ValueError, match="schema"):
            await served.graph.ainvoke(cast(Any, {"query": "Q", "schema": {"type": "nothing"}}), config())
        out = await served.graph.ainvoke(cast(Any, {"query": "Q", "plan": plan("a")}), config())
        with pytest.raises(ValueError, match="empty"):
            await served.graph.ainvoke(cast(Any, {"query": " "}), config())
        run = await served.other.view(config()["configurable"]["thread_id"])

    assert [one.type for one in refused] == ["ai", "human", "ai"]
    assert refused[0].text == "This could not be started: the request is empty; say what is to be done"
    assert "oversight" in refused[2].text
    assert (out["phase"], out["messages"][-1].text) == ("complete", out["report"])
    assert run.status == "complete"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"query": 5}, "the request is 5; say as text"),
        ({"query": "Q", "sources": "docs"}, "the sources are no list"),
        ({"query": "Q", "policy": "loose"}, "the policy is no mapping"),
        ({"query": "Q", "plan": {"tasks": "x"}}, "the plan cannot be used: tasks: Input should be a valid list"),
        ({"query": "Q", "plan": [{"id": "a", "description": "A", "to": "zoe"}]}, "'zoe'; there are: ada"),
    ],
)
async def test_what_cannot_be_meant_is_turned_away_in_the_thread_and_the_next_request_is_taken(
    given: Any, why: str
) -> None:
    async with two() as served:
        with pytest.raises(ValueError, match=why):
            await served.graph.ainvoke(given, config())
        told = (await served.graph.aget_state(config())).values["messages"][-1].text
        out = await served.graph.ainvoke(cast(Any, {"query": "Q", "plan": plan("a")}), config())

    assert told.startswith("This could not be started: ")
    assert why in told
    assert out["phase"] == "complete"


async def test_an_assistant_chooses_among_the_models_and_teams_of_the_server() -> None:
    base = replace(compose(Settings(), team=[agent()], model=ScriptedModel([])), door=SERVER)
    bo = open_team([agent(name="bo")])
    offers = {Choice("", "others"): replace(base, team=bo), Choice("big", ""): replace(base, models=base.models)}
    graph = build_graph(replace(base, offers=offers), checkpointer=InMemorySaver())
    given: Any = {"query": "Q", "plan": plan("a")}
    out = await graph.ainvoke(given, THREAD, context=cast(Any, {"team": "others"}))
    assert (out["phase"], out["tasks"][0]["outcome"]["agent"]) == ("complete", "bo")
    for wrong, named in (({"team": "x"}, "team 'x' here; there is others"), ({"model": "y"}, "model 'y' here")):
        with pytest.raises(ValueError, match=named):
            await graph.ainvoke(given, {"configurable": {"thread_id": str(wrong)}}, context=cast(Any, wrong))


async def test_without_a_key_and_sources_a_refusal_is_the_answer_and_no_question() -> None:
    graph = build_supervisor(model="offline", checkpointer=InMemorySaver())
    out = await invoke(graph, {"query": "What should our launch plan for the third quarter be?"})

    assert "__interrupt__" not in out
    assert out["phase"] == "complete"
    assert "This cannot be answered offline" in out["messages"][-1].text
