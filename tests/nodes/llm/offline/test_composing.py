"""Strategy, writing, assembling: what is made of the results of others."""

import pytest
from langchain_core.messages import HumanMessage

from nodes.llm.offline.model import OfflineModel
from nodes.llm.sections import Section, render
from state.citation import labels_in
from tests.nodes.llm.offline.talk import brief, finished, turn

SIZES = """\
## Market size

> The market was worth 7.6 billion dollars in 2025.
> Demand is growing by 45 % a year.
[market.md#L1-L2]

- Average usd in sizes: 4 (2 rows). [sizes.csv#table]

Confidence: 0.8"""
RIVALS = """\
## Competitors

**Acme**

> A strength of Acme is its mature and reliable platform.
> A weakness of Acme is that it lacks an API for .NET and stays expensive.
[acme.md#L4-L5]

> The market was worth 7.6 billion dollars in 2025.
> Demand is growing by 45 % a year.
[market.md#L1-L2]

> A threat is new regulation of high-risk systems.
[law.txt#L9]"""
INPUTS = (Section("input", SIZES, {"task": "t1"}), Section("input", RIVALS, {"task": "t2"}))


def test_a_strategy_sorts_lines_by_what_they_name_with_the_label_of_the_line() -> None:
    text = turn(brief("SWOT of the market: all of it", "strategy", *INPUTS)).text
    parts = {part.split("\n")[0]: part for part in text.split("### ")[1:]}
    assert '"A strength of Acme is its mature and reliable platform." [acme.md#L4]' in parts["Strengths"]
    assert "[acme.md#L5]" in parts["Weaknesses"]
    assert "growing by 45 %" in parts["Opportunities"]
    assert "[law.txt#L9]" in parts["Threats"]


def test_a_strategy_looks_for_each_kind() -> None:
    calls = turn(brief("SWOT of the market", "strategy", *INPUTS), ["search"]).tool_calls
    assert len(calls) == 5
    found = "[risks.md#L8] A threat to buyers is the short life of such products."
    text, _ = finished(brief("SWOT of the market", "strategy", *INPUTS), {"search": lambda args: found})
    assert '"A threat to buyers is the short life of such products." [risks.md#L8]' in text


def test_a_strategy_names_the_whole_place_of_a_text_that_lacks_lines_of_it() -> None:
    found = "[risks.html#L8-L13] Whoever buys,\nA threat to buyers is the short life of such products."
    text, _ = finished(brief("SWOT of the market", "strategy", *INPUTS), {"search": lambda args: found})
    assert '"A threat to buyers is the short life of such products." [risks.html#L8-L13]' in text


def test_a_strategy_says_again_only_what_names_its_kind_first_and_advice_names_whom_it_is_for() -> None:
    said = Section(
        "input", "> The two firms put their sales at 5 billion and give a forecast.\n[a.md#L1]", {"task": "t1"}
    )
    found = "[b.md#L1] What fits nobody is out of scope.\n\n[b.md#L2] The guide recommends Acme to small teams."
    text, _ = finished(brief("SWOT of the market", "strategy", said), {"search": lambda args: found})
    assert "billion" not in text
    assert ("recommends Acme" in text, "fits nobody" in text) == (True, False)


def test_a_kind_without_evidence_says_so() -> None:
    text = turn(brief("SWOT", "strategy", INPUTS[0])).text
    assert "I found no line that speaks of strengths, weaknesses, threats, what suits whom." in text


def test_advice_alone_has_no_swot() -> None:
    found = "[acme.md#L8] Acme suits teams that already run Go services."
    text, talk = finished(brief("Recommend a vendor", "strategy"), {"search": lambda args: found})
    assert '### What suits whom\n\n- "Acme suits teams' in text
    assert "Strengths" not in text
    assert sum(len(getattr(message, "tool_calls", [])) for message in talk) == 1


def test_a_report_has_a_section_for_each_input_in_order() -> None:
    text = turn(brief("Report", "writing", *INPUTS, request="How large is the market?")).text
    assert text.startswith("## Market size\n\n> The market was worth 7.6 billion dollars in 2025.")
    assert text.index("## Market size") < text.index("## Competitors")
    assert "- Average usd in sizes: 4 (2 rows). [sizes.csv#table]" in text


def test_a_report_says_nothing_twice_and_nothing_without_its_label() -> None:
    text = turn(brief("Report", "writing", *INPUTS)).text
    assert text.count("7.6 billion") == 1
    assert set(labels_in(text)) == set(labels_in(SIZES + RIVALS))
    assert "**Acme**\n\n> A strength of Acme" in text


def test_a_section_of_which_all_was_said_says_so() -> None:
    again = Section("input", RIVALS.replace("Competitors", "Rivals"), {"task": "t3"})
    text = turn(brief("Report", "writing", *INPUTS, again)).text
    assert "## Rivals\n\nThe passages above say it." in text


def test_a_report_names_the_inputs_that_are_missing() -> None:
    assert "the result of t3" in turn(brief("Report", "writing", *INPUTS, Section("missing", "t3"))).text


def test_a_writer_that_is_asked_for_it_says_which_inputs_say_nothing() -> None:
    empty = Section("input", "", {"task": "t3"})
    given = [Section("given", "Look it up", {"task": task}) for task in ("t1", "t3")]
    text = turn(brief("Report", "writing", *INPUTS, empty, *given)).text
    assert text.startswith("Input t1: good\nInput t3: The result is empty.\n## Market size")


def test_feedback_makes_the_writer_look_up_what_was_missed() -> None:
    feedback = Section("feedback", "Please also mention licences")
    messages = brief("Report", "writing", *INPUTS, feedback)
    assert any("licences" in call["args"]["query"] for call in turn(messages, ["search"]).tool_calls)
    found = "[terms.md#L2] Acme sells licences for a report to schools, also for a lower price. Please mention it."
    text, _ = finished(messages, {"search": lambda args: found})
    nothing, _ = finished(messages, {"search": lambda args: "No passage matches"})
    assert "## What the review asked for\n\n" in text
    assert "[terms.md#L2]" in text
    assert "I found no passage that answers this" in nothing


def test_a_writer_without_inputs_does_the_research() -> None:
    assert turn(brief("Write about agents", "writing"), ["search"]).tool_calls


def test_text_of_another_model_is_taken_with_its_labels() -> None:
    prose = "Acme leads the field [acme.md#L4], and Bolt follows [bolt.md#L2]. Nobody else matters much."
    text = turn(brief("Report", "writing", Section("input", prose, {"task": "t1"}))).text
    assert labels_in(text) == [("acme.md", "L4"), ("bolt.md", "L2")]


def test_findings_are_assembled_into_one_answer_with_labels() -> None:
    findings = [Section("finding", SIZES, {"task": "t1"}), Section("finding", RIVALS, {"task": "t2"})]
    text = OfflineModel().invoke([HumanMessage(render([Section("request", "How large is it?"), *findings]))]).text
    assert text.startswith("## Market size")
    assert text.count("7.6 billion") == 1
    assert set(labels_in(text)) == set(labels_in(SIZES + RIVALS))


def test_a_result_of_two_words_and_a_figure_goes_into_the_report() -> None:
    inputs = [Section("input", "Noise: 12.", {"task": "t1"}), Section("input", "Calm.", {"task": "t2"})]
    text = turn(brief("Report: noise and calm", "writing", *inputs)).text
    assert "Noise: 12." in text
    assert "Calm." in text


STEPS = "> # Locks\n>\n> 1. Take it\n> 2. Use it\n> 3. Give it back\n[locks.md#L1-L5]"
FIGURE = "- Price by car in cars: A 1 and B 2. [c.csv#table]"
PROSE = "Acme leads [acme.md#L4], and Bolt follows [bolt.md#L2]. Nobody else does."


@pytest.mark.parametrize(
    ("answer", "shape", "said"),
    [
        (STEPS, "In 2 bullet points.", "- Take it [locks.md#L1-L5]\n- Use it [locks.md#L1-L5]"),
        (STEPS, "In 1 sentence.", "> Take it\n[locks.md#L1-L5]"),
        (PROSE, "In 1 sentence.", "Acme leads [acme.md#L4], and Bolt follows [bolt.md#L2]."),
        (PROSE, "As bullet points.", "- Acme leads [acme.md#L4], and Bolt follows [bolt.md#L2].\n- Nobody else does."),
        (FIGURE, "Briefly.", FIGURE),
        (
            "| About | What is said | Where |\n|---|---|---|\n| Fares | Free. Ask. | [a.md#L1] |",
            "In one sentence.",
            "Fares: Free. [a.md#L1]",
        ),
        (
            "| town | price | Where |\n|---|---|---|\n| Oslo | 5 | [a#r1] |\n| Bergen |  | [a#r2] |",
            "As bullet points.",
            "- town: Oslo; price: 5 [a#r1]\n- town: Bergen [a#r2]",
        ),
        ("| what | Where |\n|---|---|\n| a \\| b | [a#r1] |", "As bullet points.", "- what: a | b [a#r1]"),
        ("", "As a table.", "There is no answer on this thread yet"),
    ],
)
def test_the_previous_answer_in_a_shape_keeps_to_its_sentences_and_their_labels(
    answer: str, shape: str, said: str
) -> None:
    earlier = Section("earlier", answer, {"request": "How?"})
    assert said in turn(brief(f"The previous answer. {shape}", "writing", earlier)).text


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("The answer before, as a table", "| Where |"),
        ("The answer before, shorter: 2 sentences", "Then it ends. [a.md#L1]\n\nConfidence"),
        ("The answer before", "Ask the desk."),
        ("The two answers before, as a list: 2 points", "- It is thirty days."),
    ],
)
def test_a_shape_that_the_version_before_has_planned_is_given(task: str, said: str) -> None:
    answer = "It is thirty days. Then it ends. Ask the desk. [a.md#L1]"
    assert said in turn(brief(task, "writing", Section("earlier", answer, {"request": "How?"}))).text
