"""What a follow-up asks, in words that stand alone."""

import pytest

from nodes.language.following import followed

LIT = "When was the lighthouse lit?"
FILTER = "How do I clean the filter?"
ALPHA = ["What does Alpha cost?", "and Beta?"]


@pytest.mark.parametrize(
    ("before", "request_", "meant"),
    [
        ([LIT], "How many steps has it?", "How many steps has the lighthouse?"),
        ([LIT], "and who built it?", "who built the lighthouse?"),
        (["Who wrote the safety manual"], "when was it last revised", "when was the safety manual last revised"),
        (["Why did the turbine trip on 4 March"], "what did it cost?", "what did the turbine cost?"),
        (["How bees are fed"], "which diseases threaten them?", "which diseases threaten bees?"),
        ([FILTER], "how often should I do that?", "how often should I clean the filter?"),
        ([FILTER], "what is it made of?", "what is the filter made of?"),
        (["What is the refund period?"], "Can it be extended?", "Can the refund period be extended?"),
        (["What is the warranty on the pump?"], "and the delivery time?", "Delivery time of the pump"),
        (["Who founded Northwind?"], "When did she leave?", "When did the one who founded Northwind leave?"),
        (
            ["Which rooms have a projector?"],
            "how large is the largest of them?",
            "how large is the largest of the rooms?",
        ),
        (["List the teas and their prices"], "which is the cheapest?", "which is the cheapest of the teas?"),
        (ALPHA, "which one is cheaper?", "which one is cheaper of Alpha and Beta?"),
        ([*ALPHA, "which one is cheaper?"], "why?", "Why: which one is cheaper of Alpha and Beta?"),
        (["When does the ferry leave on Sundays?"], "and on Mondays?", "When does the ferry leave on Mondays?"),
        (["¿Cuánto cuesta la entrada?"], "¿y para niños?", "¿Cuánto cuesta la entrada para niños?"),
        (["Wie hoch ist der Turm?"], "Und wer hat ihn gebaut?", "wer hat ihn gebaut (Turm)?"),
        (["When was Cape Morrow lit?"], "who built it?", "who built Cape Morrow?"),
        (["Who founded the Museum of Clocks?"], "where is it?", "where is Museum of Clocks?"),
        (["Can a membership be paused?"], "and for how long?", "Can a membership be paused for how long?"),
        (["Can a membership be paused?"], "and how do I cancel it?", "how do I cancel a membership?"),
        (["Which of the laptops is the lightest?"], "compare the two", "compare the laptops"),
        (["What do Eino and Dapr cost?"], "Compare both.", "Compare Eino and Dapr."),
        ([LIT], "What is the dress code for the dinner?", "What is the dress code for the dinner?"),
        ([], "How many steps has it?", "How many steps has it?"),
    ],
)
def test_what_stands_for_something_before_is_said_in_full(before: list[str], request_: str, meant: str) -> None:
    assert followed(request_, before).rstrip("?") == meant.rstrip("?")
