"""Strategy, writing, assembling: what is made of the results of others."""

from langchain_core.messages import HumanMessage

from nodes.llm.offline.model import OfflineModel
from nodes.llm.sections import Section, render
from state.citation import labels_in
from tests.nodes.llm.offline.talk import brief, finished, turn

SIZES = """\
## Market size

- "The market was worth 7.6 billion dollars in 2025." [market.md#L1]
- "Demand is growing by 45 % a year." [market.md#L2-L3]
- "Two firms that count differently come to the same figure." [market.md#L7]
- The table sizes has 4 rows. [sizes.csv#table]

Confidence: 0.8"""
RIVALS = """\
## Competitors

- "A strength of Acme is its mature and reliable platform." [acme.md#L4]
- "A weakness of Acme is that it lacks an API for .NET
and stays expensive." [acme.md#L5-L6]
- "The market was worth 7.6 billion dollars in 2025." [market.md#L1]
- "A threat is new regulation of high-risk systems." [law.txt#L9]"""
INPUTS = (Section("input", SIZES, {"task": "t1"}), Section("input", RIVALS, {"task": "t2"}))


def test_a_strategy_sorts_statements_by_what_they_speak_for_with_their_labels() -> None:
    text = turn(brief("SWOT of the market: all of it", "strategy", *INPUTS)).text
    parts = {part.split("\n")[0]: part for part in text.split("### ")[1:]}
    assert "mature and reliable" in parts["Strengths"]
    assert "[acme.md#L5-L6]" in parts["Weaknesses"]
    assert "growing by 45 %" in parts["Opportunities"]
    assert "[law.txt#L9]" in parts["Threats"]
    assert "Build on: A strength of Acme" in parts["Recommendations"]


def test_a_strategy_looks_for_what_the_inputs_may_lack() -> None:
    calls = turn(brief("SWOT of the market", "strategy", *INPUTS), ["search"]).tool_calls
    assert len(calls) == 4
    found = "[risks.md#L8] A threat to buyers is the short life of such products."
    text, _ = finished(brief("SWOT of the market", "strategy", *INPUTS), {"search": lambda args: found})
    assert '"A threat to buyers is the short life of such products." [risks.md#L8]' in text


def test_a_quadrant_without_evidence_says_so() -> None:
    text = turn(brief("SWOT", "strategy", INPUTS[0])).text
    assert "### Threats\n\nThe inputs name none." in text


def test_a_report_answers_first_and_then_has_a_section_for_each_input() -> None:
    text = turn(brief("Report", "writing", *INPUTS, request="How large is the market?")).text
    lead, *rest = text.split("\n\n")
    assert lead.startswith('"The market was worth 7.6 billion dollars in 2025." [market.md#L1]')
    assert "## Market size" in rest
    assert "## Competitors" in rest
    assert "## Figures" in rest


def test_a_report_says_nothing_twice_and_nothing_without_its_label() -> None:
    text = turn(brief("Report", "writing", *INPUTS)).text
    assert text.count("7.6 billion") == 1
    assert set(labels_in(text)) == set(labels_in(SIZES + RIVALS))
    assert "lacks an API for .NET\nand stays expensive" in text


def test_a_report_names_the_inputs_that_are_missing() -> None:
    assert "the result of t3" in turn(brief("Report", "writing", *INPUTS, Section("missing", "t3"))).text


def test_feedback_makes_the_writer_look_up_what_was_missed() -> None:
    feedback = Section("feedback", "Please also mention licences")
    messages = brief("Report", "writing", *INPUTS, feedback)
    assert any("licences" in call["args"]["query"] for call in turn(messages, ["search"]).tool_calls)
    found = "[terms.md#L2] Acme sells licences to schools for a lower price."
    text, _ = finished(messages, {"search": lambda args: found})
    nothing, _ = finished(messages, {"search": lambda args: "No passage matches"})
    assert "## On licences\n\n- " in text or text.startswith('"Acme sells licences')
    assert "[terms.md#L2]" in text
    assert "The sources say nothing on licences." in nothing


def test_a_writer_without_inputs_does_the_research() -> None:
    assert turn(brief("Write about agents", "writing"), ["search"]).tool_calls


def test_text_of_another_model_is_taken_with_its_labels() -> None:
    prose = "Acme leads the field [acme.md#L4], and Bolt follows [bolt.md#L2]. Nobody else matters much."
    text = turn(brief("Report", "writing", Section("input", prose, {"task": "t1"}))).text
    assert labels_in(text) == [("acme.md", "L4"), ("bolt.md", "L2")]


def test_findings_are_assembled_into_one_answer_with_labels() -> None:
    findings = [Section("finding", SIZES, {"task": "t1"}), Section("finding", RIVALS, {"task": "t2"})]
    text = OfflineModel().invoke([HumanMessage(render([Section("request", "How large is it?"), *findings]))]).text
    assert text.startswith('"The market was worth')
    assert text.count("7.6 billion") == 1
    assert set(labels_in(text)) == set(labels_in(SIZES + RIVALS))


def test_empty_findings_are_admitted() -> None:
    text = OfflineModel().invoke([HumanMessage(render([Section("request", "x"), Section("finding", "")]))]).text
    assert "no task delivered anything" in text


def test_a_result_of_two_words_and_a_figure_goes_into_the_report() -> None:
    inputs = [Section("input", "Noise: 12.", {"task": "t1"}), Section("input", "Calm.", {"task": "t2"})]
    text = turn(brief("Report: noise and calm", "writing", *inputs)).text
    assert "- Noise: 12." in text
    assert "- Calm." in text
