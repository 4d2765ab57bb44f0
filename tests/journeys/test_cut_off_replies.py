"""Replies that a limit of length cut off: gone on with once, and where they still have no end, the reader is told."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from nodes.llm.cut_off import both, is_cut_off
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Limits
from state.errors import ModelRejected, ModelUnavailable
from state.replies import PlanDraft, Review, TaskDraft, Verdict
from state.run import Run
from tests.runs import opened, plan, statuses

ADA = AgentSpec(name="ada", role="generalist")
WORK = '<task id="a"'
CUT = {"finish_reason": "length"}
REST = "Your reply was cut off"


def cut(text: str) -> AIMessage:
    return AIMessage(text, response_metadata=CUT)


def doubts(run: Run) -> list[tuple[str, str]]:
    return [(doubt.kind, doubt.task_id) for doubt in run.doubts]


async def works(*replies: Any, **policy: Any) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel({WORK: list(replies)}, usage=(10, 5))
    async with opened(ADA, model=model, max_iterations=0, **policy) as sup:
        return await sup.start("Q", plan=plan("a")), model


async def test_a_workers_answer_that_was_cut_off_is_gone_on_with() -> None:
    run, model = await works(cut("It grew in the years from 2019 to"), "years from 2019 to 2024, by half.")

    assert (run.status, run.doubts, run.warnings) == ("complete", [], [])
    assert run.tasks[0].result == "It grew in the years from 2019 to 2024, by half."
    assert REST in str(model.calls[1].messages[-1].text)
    assert model.calls[1].tools == []


@pytest.mark.parametrize(
    ("second", "whole"),
    [
        (cut("2024, and so"), "It grew from 2019 to 2024, and so"),
        (ModelRejected("the request is too long"), "It grew from 2019 to"),
    ],
)
async def test_an_answer_that_still_has_no_end_is_delivered_and_in_doubt(second: Any, whole: str) -> None:
    run, model = await works(cut("It grew from 2019 to"), second)

    assert (run.status, doubts(run), len(model.calls)) == ("complete", [("limited", "a")], 2)
    assert run.tasks[0].result == whole
    assert "cut off by its limit of length" in run.warnings[0]
    assert f"- In doubt: {run.warnings[0]}" in (run.report or "")


async def test_the_rest_is_asked_for_again_while_the_model_is_busy() -> None:
    run, _ = await works(cut("It grew from 2019 to"), ModelUnavailable("busy"), "2024.")

    assert (run.tasks[0].result, run.doubts) == ("It grew from 2019 to 2024.", [])


@pytest.mark.parametrize("first", ["", " \n", "<think>The user wants to know whether it grew. Let me"])
async def test_a_reply_that_was_cut_off_before_it_said_anything_is_asked_for_shorter(first: str) -> None:
    run, model = await works(cut(first), "It grew.")

    assert (run.tasks[0].result, run.doubts) == ("It grew.", [])
    assert "Answer again, briefly" in str(model.calls[1].messages[-1].text)


async def test_where_no_call_is_left_what_there_is_is_delivered() -> None:
    run, model = await works(cut("It grew from 2019 to"), max_agent_iterations=1)

    assert (run.status, statuses(run), doubts(run)) == ("complete", {"a": "done"}, [("limited", "a")])
    assert len(model.calls) == 1


async def test_what_a_human_puts_in_its_place_is_in_no_doubt() -> None:
    model = ScriptedModel({WORK: [cut("It grew from 2019"), cut("to 2024, and so\nConfidence: 0.2")]})
    async with opened(ADA, model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        given: dict[str, Any] = {"type": "edit", "args": {"result": "It grew by half."}}
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: given})

    assert (run.status, run.tasks[0].result, run.doubts) == ("complete", "It grew by half.", [])


async def test_the_last_answer_of_an_agent_at_its_limit_may_be_cut_off_as_well() -> None:
    call = {"name": "calculate", "args": {"expression": "1+1"}}
    model = ScriptedModel({WORK: [call, cut("It grew from 2019 to")]})
    team = AgentSpec(name="ada", role="generalist", tools=["calculate"], limits=Limits(iterations=2))
    async with opened(team, model=model, max_iterations=0, oversight="on_the_loop") as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert [doubt.said.partition(":")[2].strip()[:30] for doubt in run.doubts] == [
        "its last reply was cut off by ",
        "it reached its limit of 2 mode",
    ]


async def test_the_editors_text_is_gone_on_with_once() -> None:
    rest = [cut("Both A and B are so, as was found by"), "was found by all."]
    for last, doubted in (("was found by all.", []), (cut("was found by all, and"), [("limited", "")])):
        model = ScriptedModel({"You put the findings": [rest[0], last], WORK: "A.", '<task id="b"': "B."})
        async with opened(ADA, model=model, max_iterations=0) as sup:
            run = await sup.start("Q", plan=plan("a", "b"))

        assert "Both A and B are so, as was found by all" in (run.report or "")
        assert (run.status, doubts(run)) == ("complete", doubted)


async def test_plans_and_reviews_that_were_cut_off_are_asked_for_shorter() -> None:
    draft = PlanDraft(tasks=[TaskDraft(id="a", description="Do a.")])
    model = ScriptedModel(
        {
            "You are the supervisor of a team": [cut('{"tasks": [{"id": "a", "desc'), draft],
            "You review the results": [cut('{"verdicts": [{"task'), Review(verdicts=[Verdict(task_id="a")])],
            WORK: "A.",
        }
    )
    async with opened(ADA, model=model) as sup:
        run = await sup.start("Q")
    asked = [str(call.messages[-1].text) for call in model.calls]

    assert (run.status, run.doubts) == ("complete", [])
    assert sum("the reply was cut off before its end; reply more briefly" in text for text in asked) == 2


def graph(model: ScriptedModel) -> Any:
    return create_agent(model, tools=[])


def chain(model: ScriptedModel) -> Any:
    return RunnableLambda(lambda given: given["messages"]) | model


def function(model: ScriptedModel) -> Any:
    async def work(brief: Any, desk: Any) -> str:
        return str((await model.ainvoke("Q")).text)

    return work


def model(model: ScriptedModel) -> Any:
    return model


CALL = {"name": "half", "args": {}}


@tool
def half() -> str:
    """Half of it."""
    return "the half"


def graph_with_tools(model: ScriptedModel) -> Any:
    return create_agent(model, tools=[half])


@pytest.mark.parametrize(
    ("make", "replies", "whole", "is_doubted"),
    [
        (
            graph,
            [cut("It grew in the years from 2019 to"), "from 2019 to 2024."],
            "the years from 2019 to 2024.",
            False,
        ),
        (graph_with_tools, [CALL, cut("It grew by"), "half."], "It grew by half.", False),
        (graph, [cut("It grew by"), cut("half, and")], "It grew by half, and", True),
        (graph, [cut("It grew by"), ModelRejected("no")], "It grew by", True),
        (graph, [cut(""), "It grew."], "It grew.", False),
        (
            model,
            [cut("It grew in the years from 2019 to"), "from 2019 to 2024."],
            "the years from 2019 to 2024.",
            False,
        ),
        (model, [cut("It grew by"), cut("half, and")], "It grew by half, and", True),
        (model, [cut("It grew by"), ModelRejected("no")], "It grew by", True),
    ],
)
async def test_the_answer_of_a_model_s_loop_with_its_tools_is_gone_on_with(
    make: Any, replies: list[Any], whole: str, is_doubted: bool
) -> None:
    script = ScriptedModel(replies, usage=(10, 5))
    async with opened(AgentSpec(name="ada", role="generalist", run=make(script))) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, doubts(run)) == ("complete", [("limited", "a")] * is_doubted)
    assert str(run.tasks[0].result).endswith(whole)
    assert len(script.calls) == len(replies)
    assert REST in str(script.calls[-1].messages[-1].text)


async def test_where_no_call_is_left_a_graphs_half_answer_is_delivered() -> None:
    script = ScriptedModel([cut("It grew by"), "half."])
    spec = AgentSpec(name="ada", role="generalist", run=graph(script))
    async with opened(spec, max_agent_iterations=1) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, doubts(run), len(script.calls)) == ("complete", [("limited", "a")], 1)


@pytest.mark.parametrize("make", [graph, chain, function])
@pytest.mark.parametrize("is_cut", [True, False])
async def test_an_agent_with_a_loop_of_its_own_that_ends_on_a_cut_off_reply_is_in_doubt(
    make: Any, is_cut: bool
) -> None:
    model = ScriptedModel([cut("It grew from") if is_cut else AIMessage("It grew.", response_metadata={})])
    async with opened(AgentSpec(name="ada", role="generalist", run=make(model))) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, doubts(run)) == ("complete", [("limited", "a")] * is_cut)


@pytest.mark.parametrize(
    "told",
    [
        CUT,
        {"stop_reason": "max_tokens"},
        {"finish_reason": "MAX_TOKENS"},
        {"done_reason": "length"},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_providers_have_many_words_for_a_reply_that_was_cut_off(told: Any) -> None:
    assert is_cut_off(AIMessage("So", response_metadata=told))


@pytest.mark.parametrize("told", [{}, {"finish_reason": "stop"}, {"finish_reason": None}, {"finish_reason": 3}])
def test_any_other_end_is_an_end(told: Any) -> None:
    assert not is_cut_off(AIMessage("So", response_metadata=told))


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("It grew by half in the year", "half in the year 2024.", "It grew by half in the year 2024."),
        ("It grew by", "half.", "It grew by half."),
        ("It grew by", " half.", "It grew by half."),
        ("It grew by half", ", then fell.", "It grew by half, then fell."),
        ("- one\n- two\n", "- three", "- one\n- two\n- three"),
        ("", "It grew.", "It grew."),
        ("It grew.", "", "It grew."),
        ("The market " * 10 + "of", "The market " * 10 + "of tea.", "The market " * 10 + "of tea."),
    ],
)
def test_two_halves_become_one_text(first: str, second: str, whole: str) -> None:
    assert both(first, second) == whole
