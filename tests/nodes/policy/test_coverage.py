"""What can be told of a text without a model: which parts of a request it leaves out, its length, inputs it ignores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.coverage import inputs_unused, length_fault, parts_left_out


@pytest.mark.parametrize(
    ("request_", "text", "left"),
    [
        ("Compare Postgres and MySQL", "Postgres is fast.", ["MySQL"]),
        ("Compare Postgres and MySQL", "PostgreSQL is faster than mysql.", []),
        ("Compare AutoGen, CrewAI and LangGraph", "AutoGen is this, LangGraph is that.", ["CrewAI"]),
        ("Vergleiche Äpfel und Birnen", "Äpfel sind rot.", ["Birnen"]),
        (
            "How large is the market? Which vendors lead it? What are the main risks for buyers?",
            "The market is 5bn; UiPath is the leading vendor.",
            ["What are the main risks for buyers?"],
        ),
        (
            "Do this:\n1. list the vendors of drones\n2. explain battery limits\n3. give prices in euro",
            "Vendors: DJI. The battery lasts 30 minutes.",
            ["give prices in euro"],
        ),
        ("How large is it? Who leads it?", "UiPath has 40 %.", []),
        ("What is the capital of France?", "Paris", []),
        ("List the teas and their prices", "Assam tea: 4.50", []),
        ("Compare Postgres and MySQL", "Both are databases.", []),
        ("Analyze the market for electric bicycles in Germany", "It grows.", []),
        ("", "Said.", []),
    ],
)
def test_a_part_is_missed_only_beside_one_that_is_there(request_: str, text: str, left: list[str]) -> None:
    assert parts_left_out(request_, text) == left


@pytest.mark.parametrize(
    ("asked", "text", "says"),
    [
        ("Summarize it in at most 5 words.", "one two three four five six seven", "7 words"),
        ("Summarize it in at most 5 words.", "one two three four five", ""),
        ("Explain it in two sentences.", "One is. Two is 2.5, e.g. that. Three.", "3 sentences"),
        ("Explain it in two sentences.", "One is 2.5. Two is.", ""),
        ("Write at least 10 words", "too short", "say more"),
        ("Give me no more than 2 bullet points", "- a\n- b\n- c", "3 bullet points"),
        ("Describe it in one paragraph", "One.\n\nTwo.", "2 paragraphs"),
        ("Fasse es in höchstens 3 Sätzen zusammen", "Eins. Zwei. Drei. Vier.", "4 sentences"),
        ("Tell me about 5 companies in 3 countries", "word " * 100, ""),
        ("Explain it in your own words", "word " * 100, ""),
    ],
)
def test_a_length_that_was_asked_for_is_held_against_the_text(asked: str, text: str, says: str) -> None:
    fault = length_fault(asked, text)
    assert says in fault
    assert bool(fault) == bool(says)


def test_an_input_is_used_where_a_label_a_figure_or_a_word_of_it_is_in_the_text() -> None:
    result = "Revenue grew strongly across Germany while churn dropped 12 % below expectations [a.md#L3]."
    for text in ("It grew.", "Churn was low.", "12 of them.", "So it is [a.md#L3].", "german revenues"):
        assert inputs_unused(text, {"a": result}, "") == []
    assert inputs_unused("Nothing of the kind.", {"a": result, "b": "Yes."}, "") == ["a"]
    assert inputs_unused("Nothing of the kind.", {"a": result}, result) == []


@given(st.text(), st.text())
def test_any_text_can_be_checked_and_one_that_says_what_was_asked_leaves_nothing_out(asked: str, text: str) -> None:
    assert parts_left_out(asked, f"{asked} {text}") == []
    length_fault(asked, text)
    assert inputs_unused(f"{asked} {text}", {"a": asked}, "") == []


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("How large is the market in USD; what do surveys say of production?", "The market is worth 5.4 billion USD."),
        (
            "Report on the market: answer the request from the findings and the SWOT",
            "SWOT: strong, and weak in places.",
        ),
    ],
)
def test_a_word_that_asks_or_speaks_of_the_work_is_no_part_of_it(asked: str, text: str) -> None:
    assert not parts_left_out(asked, text)
