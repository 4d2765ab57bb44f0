"""Compiled graphs as agents: their questions, their answers, their results."""

import typing
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import JsonValue
from typing_extensions import TypedDict

from state.agent import AgentSpec
from state.run import Run
from tests.runs import agent, opened, plan, statuses


class Approving(TypedDict, total=False):
    action_details: str
    status: Literal["pending", "approved", "rejected"] | None


def approval_workflow() -> Any:
    """As LangGraph's documentation has it: a question, and two ways to go on."""

    def approval_node(state: Approving) -> Command[Literal["proceed", "cancel"]]:
        decision = interrupt({"question": "Approve this action?", "details": state["action_details"]})
        return Command(goto="proceed" if decision else "cancel")

    def proceed_node(state: Approving) -> dict[str, str]:
        return {"status": "approved"}

    def cancel_node(state: Approving) -> dict[str, str]:
        return {"status": "rejected"}

    builder = StateGraph(Approving)
    builder.add_node("approval", approval_node)
    builder.add_node("proceed", proceed_node)
    builder.add_node("cancel", cancel_node)
    builder.add_edge(START, "approval")
    builder.add_edge("proceed", END)
    builder.add_edge("cancel", END)
    return builder.compile()


@pytest.mark.parametrize(("answer", "status"), [("approve", "approved"), ("reject", "rejected")])
async def test_a_graph_of_langgraphs_documentation_is_an_agent_as_it_is(answer: str, status: str) -> None:
    async with opened(AgentSpec(name="bank", role="generalist", run=approval_workflow()), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "description": "Transfer $500"}))
        assert (waiting.status, statuses(waiting)) == ("waiting", {"a": "parked"})
        [question] = waiting.approvals
        assert question.args == {"question": "Approve this action?", "details": "Transfer $500"}
        run = await sup.answer(waiting.thread_id, {question.id: answer}, by="ana")

    assert run.status == "complete"
    assert run.tasks[0].result == {"action_details": "Transfer $500", "status": status}


class Branches(TypedDict, total=False):
    task: dict[str, Any]
    left: str
    right: str
    result: str


def two_questions(ran: list[str]) -> Any:
    def ask(name: str) -> Any:
        def node(state: Branches) -> dict[str, str]:
            answer = interrupt(f"{name}?")
            ran.append(name)
            return {name: str(answer)}

        return node

    def join(state: Branches) -> dict[str, str]:
        return {"result": f"{state['left']} and {state['right']}"}

    builder = StateGraph(Branches)
    builder.add_node("l", ask("left"))
    builder.add_node("r", ask("right"))
    builder.add_node("join", join)
    for name in ("l", "r"):
        builder.add_edge(START, name)
        builder.add_edge(name, "join")
    return builder.compile()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_questions_of_parallel_branches_are_asked_at_once_and_answered_in_any_order(
    order: tuple[int, int],
) -> None:
    ran: list[str] = []
    async with opened(AgentSpec(name="two", role="generalist", run=two_questions(ran)), agent(name="ada", role="other"),
                      max_iterations=0) as sup:  # fmt: skip
        first = await sup.start("Q", plan=plan("a", {"id": "b", "role": "other"}))
        assert statuses(first) == {"a": "parked", "b": "done"}
        assert [question.args for question in first.approvals] == [{"question": "left?"}, {"question": "right?"}]
        answers: list[JsonValue] = [{"type": "edit", "args": {"answer": n}} for n in ("one", "two")]
        ids = [question.id for question in first.approvals]
        second = await sup.answer(first.thread_id, {ids[order[0]]: answers[order[0]]})
        assert [question.id for question in second.approvals] == [ids[order[1]]]
        run = await sup.answer(first.thread_id, {ids[order[1]]: answers[order[1]]})

    assert (run.status, run.tasks[0].result) == ("complete", "one and two")
    assert sorted(ran) == ["left", "right"]


async def test_a_graph_that_ends_on_a_message_delivers_it() -> None:
    def speak(state: MessagesState) -> dict[str, list[AnyMessage]]:
        return {"messages": [AIMessage(f"You said: {len(state['messages'])} message")]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    async with opened(AgentSpec(name="echo", role="generalist", run=builder.compile()), max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == "You said: 1 message"


async def one(run: Any) -> Run:
    async with opened(AgentSpec(name="own", role="generalist", run=run), max_iterations=0) as sup:
        return await sup.start("Q", plan=plan("a"))


async def test_a_graph_that_failed_goes_on_at_the_step_that_failed() -> None:
    ran: list[str] = []

    def first(state: Branches) -> dict[str, str]:
        ran.append("first")
        return {"left": "done"}

    def second(state: Branches) -> dict[str, str]:
        ran.append("second")
        if len(ran) < 3:
            raise ConnectionError("the line is down")
        return {"result": state["left"]}

    builder = StateGraph(Branches)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    run = await one(builder.compile())

    assert (run.tasks[0].result, run.tasks[0].attempts) == ("done", 2)
    assert ran == ["first", "second", "second"]


async def test_what_a_graph_tells_about_itself_is_an_event_with_its_path() -> None:
    def tell(state: Branches) -> dict[str, str]:
        get_stream_writer()({"step": 1})
        return {"result": "told"}

    builder = StateGraph(Branches)
    builder.add_node("tell", tell)
    builder.add_edge(START, "tell")
    async with opened(AgentSpec(name="own", role="generalist", run=builder.compile()), max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)

    [told] = [event for event in events if event.kind == "agent_reported"]
    assert (told.agent, told.path, told.task_id, told.data) == ("own", ["own"], "a", {"said": {"step": 1}})


class Plain(typing.TypedDict, total=False):  # noqa: TID251 - what users bring
    """State as LangGraph's documentation declares it."""

    notes: list[str]
    subject: typing.Required[str | None]
    joke: str


async def test_a_graph_whose_state_is_a_typed_dict_of_the_standard_library_is_an_agent_as_it_is() -> None:
    def write(state: Plain) -> dict[str, str]:
        return {"joke": f"A joke about: {state['subject']}"}

    builder = StateGraph(Plain)
    builder.add_node("write", write)
    builder.add_edge(START, "write")
    run = await one(builder.compile())

    assert run.tasks[0].result == {"subject": "Do a.", "joke": "A joke about: Do a."}


def stops(ran: list[str], **breakpoints: Any) -> Any:
    """A graph of two steps that is held between them."""

    def first(state: Branches) -> dict[str, str]:
        ran.append("first")
        return {"left": "drafted"}

    def second(state: Branches) -> dict[str, str]:
        ran.append("second")
        return {"result": f"{state['left']} and sent"}

    builder = StateGraph(Branches)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return builder.compile(**breakpoints)


@pytest.mark.parametrize("where", [{"interrupt_before": ["second"]}, {"interrupt_after": ["first"]}])
@pytest.mark.parametrize("answer", ["approve", "reject"])
async def test_a_graph_at_its_breakpoint_waits_for_a_human(answer: str, where: dict[str, Any], tmp_path: Path) -> None:
    ran: list[str] = []
    team = AgentSpec(name="own", role="generalist", run=stops(ran, **where))
    async with opened(team, max_iterations=0, max_attempts=2, db=tmp_path / "runs.db") as sup:
        waiting = await sup.start("Q", plan=plan("a"))
    assert (waiting.status, ran) == ("waiting", ["first"])
    [question] = waiting.approvals
    assert (question.action, question.args, question.choices) == ("go on", {"next": ["second"]}, ["approve", "reject"])

    async with opened(team, max_iterations=0, max_attempts=2, db=tmp_path / "runs.db") as sup:
        run = await sup.answer(waiting.thread_id, {question.id: answer}, by="ana")

    if answer == "approve":
        assert (run.status, run.tasks[0].result, ran) == ("complete", "drafted and sent", ["first", "second"])
    else:
        assert (run.status, run.tasks[0].status, ran) == ("failed", "failed", ["first"])
        assert run.tasks[0].error == "ana did not allow it to go on"
        assert run.tasks[0].attempts == 1


async def test_a_graph_is_held_at_each_of_its_breakpoints() -> None:
    ran: list[str] = []
    team = AgentSpec(name="own", role="generalist", run=stops(ran, interrupt_before="*"))
    async with opened(team, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        assert (waiting.approvals[0].args, ran) == ({"next": ["first"]}, [])
        waiting = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: "approve"})
        assert (waiting.approvals[0].args, ran) == ({"next": ["second"]}, ["first"])
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: "approve"})

    assert (run.tasks[0].result, ran) == ("drafted and sent", ["first", "second"])
