"""Publishing, files, sums and reviews by the offline model."""

import csv
import io
from collections.abc import Mapping

import pytest
from langchain_core.messages import HumanMessage

from nodes.llm.offline.model import OfflineModel
from nodes.llm.sections import Section, render
from state.replies import Review
from tests.nodes.llm.offline.talk import Refused, brief, finished, turn

REPORT = Section("input", "All is well. [a.md#L1]\n\nConfidence: 0.8", {"task": "t1"})


def refuse(args: Mapping[str, object]) -> str:
    """A tool that does not."""
    raise Refused("ana did not allow this: not yet")


def test_the_input_is_published_under_the_name_that_the_task_gives() -> None:
    messages = brief("Publish the report as weekly.md", "action", REPORT, action="publish")
    call = turn(messages, ["publish"]).tool_calls[0]
    assert call["args"] == {"name": "weekly.md", "content": "All is well. [a.md#L1]"}
    text, _ = finished(messages, {"publish": lambda args: "published outbox/weekly.md"})
    assert "published outbox/weekly.md" in text
    assert "All is well." in text


def test_an_action_that_was_refused_has_failed() -> None:
    text, _ = finished(brief("Publish it", "action", REPORT, action="publish"), {"publish": refuse})
    assert text.startswith("FAILED: publish was not carried out: ana did not allow this")


@pytest.mark.parametrize(("action", "tools"), [("publish", []), ("delete", ["publish"]), ("publish", ["unpublish"])])
def test_without_the_right_tool_nothing_is_done_and_that_is_said(action: str, tools: list[str]) -> None:
    assert turn(brief("Do it", "action", REPORT, action=action), tools).text.startswith("FAILED: there is no tool to")


def test_nothing_is_published_when_no_input_came() -> None:
    assert turn(brief("Publish", "action", action="publish"), ["publish"]).text.startswith("FAILED: there is nothing")


@pytest.mark.parametrize(
    ("asked", "expression"),
    [
        ("what is 12*7?", "12*7"),
        ("Calculate 15% of 80", "15 / 100 * 80"),
        ("How much is 1,200 plus 34 times 2?", "1200 + 34 * 2"),
        ("What is the square root of 16?", "sqrt(16)"),
    ],
)
def test_arithmetic_goes_to_the_tool(asked: str, expression: str) -> None:
    messages = brief(asked, "analysis", sources="")
    assert turn(messages, ["calculate"]).tool_calls[0]["args"] == {"expression": expression}
    assert finished(messages, {"calculate": lambda args: f"{args['expression']} = 84"})[0].startswith(
        f"{expression} = 84"
    )


@pytest.mark.parametrize("asked", ["What happened in 2024-2025?", "Is support there 24/7 for us?", "What is GPT-4?"])
def test_years_and_names_are_not_arithmetic(asked: str) -> None:
    assert {call["name"] for call in turn(brief(asked), ["calculate", "search"]).tool_calls} == {"search"}


def test_a_file_is_written_from_what_is_known_and_reported() -> None:
    messages = brief("Export a CSV file of the facts", "implementation", REPORT, sources="")
    text, talk = finished(messages, {"write": lambda args: f"wrote {args['name']}"})
    call = next(call for message in talk for call in getattr(message, "tool_calls", []))
    assert call["args"]["name"].endswith(".csv")
    assert list(csv.reader(io.StringIO(call["args"]["content"])))[1] == ["All is well.", "[a.md#L1]"]
    assert "holds 1 statement" in text


def test_a_file_has_the_name_that_was_asked_for_whatever_it_is_made_from() -> None:
    messages = brief("Write summary.txt of what the CSV says", "implementation", REPORT, sources="")
    _, talk = finished(messages, {"write": lambda args: f"wrote {args['name']}"})
    call = next(call for message in talk for call in getattr(message, "tool_calls", []))
    assert call["args"]["name"] == "summary.txt"


def test_no_program_is_pretended() -> None:
    text, _ = finished(
        brief("Write a Python script", "implementation", REPORT, sources=""), {"write": lambda args: "wrote it"}
    )
    assert "No program was written" in text
    assert text.endswith("Confidence: 0.4")


def reviewed(body: str, kind: str = "research") -> tuple[bool, str]:
    """The verdict on one result, among sources that are there."""
    sections = [
        Section("request", "How large is the market?"),
        Section("task", "Market size", {"id": "t1", "kind": kind}),
        Section("result", body, {"task": "t1", "agent": "x", "kind": kind}),
        Section("result", "Known. [a.md#L1]", {"task": "t2", "agent": "x", "kind": "research"}),
    ]
    review = OfflineModel().with_structured_output(Review).invoke([HumanMessage(render(sections))])
    assert isinstance(review, Review)
    assert [verdict.task_id for verdict in review.verdicts] == ["t1", "t2"]
    return review.verdicts[0].accept, review.verdicts[0].feedback


@pytest.mark.parametrize(
    ("body", "kind", "accepted"),
    [
        ("It is large. [a.md#L1]", "research", True),
        ("It is large.", "research", False),
        ("It is large.", "analysis", False),
        ("It is large.", "writing", True),
        ("", "writing", False),
        ("The sources say nothing on this (searched for size).", "research", False),
        ("I found no passage that answers this (nothing speaks of “size”).", "research", True),
    ],
)
def test_a_result_has_to_say_something_and_where_it_was_looked_up_where(body: str, kind: str, accepted: bool) -> None:
    accept, feedback = reviewed(body, kind)
    assert accept is accepted
    assert bool(feedback) is not accepted


def test_what_has_gone_out_is_not_done_again_for_a_gap() -> None:
    published = Section("result", "Published.", {"task": "t3", "agent": "x", "kind": "action"})
    sections = [
        Section("request", "x"),
        Section("result", "The sources say nothing on this.", {"task": "t1", "kind": "research"}),
        Section("result", "Known. [a.md#L1]", {"task": "t2", "kind": "research"}),
        published,
    ]
    review = OfflineModel().with_structured_output(Review).invoke([HumanMessage(render(sections))])
    assert isinstance(review, Review)
    assert all(verdict.accept for verdict in review.verdicts)
