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
            "how large is the largest of the rooms that have a projector?",
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
        (["How deep is the harbour of Port Anselm?"], "who built it?", "who built the harbour of Port Anselm?"),
        (
            ["Where does the night bus to Velden stop?"],
            "how often does it run?",
            "how often does the night bus to Velden run?",
        ),
        (["How tall is the Arden tower?"], "and the bridge?", "How tall is the bridge?"),
        (
            ["How tall is the tower?", "and the bridge?"],
            "which one is older?",
            "which one is older of the tower and the bridge?",
        ),
        (["How much caffeine has black tea?"], "and espresso?", "How much caffeine has espresso?"),
        (
            ["How much caffeine has tea?"],
            "which of the drinks has the most?",
            "which of the drinks has the most caffeine?",
        ),
        (["How much flour goes into rye bread?"], "and how much salt?", "how much salt goes into rye bread?"),
        (
            ["What does a berth at the North quay cost?"],
            "and at the South quay?",
            "What does a berth at the South quay cost?",
        ),
        (["Who reads the meters?", "how often?"], "where are they kept?", "where are the meters kept?"),
        (["List the drinks with their prices"], "only those without sugar", "The drinks without sugar"),
        (["Which drink has the least caffeine?"], "and the most sugar?", "Which drink has the most sugar?"),
        (["Tell me who the warden is"], "how do I reach him?", "how do I reach the one who the warden is?"),
        (["Who is the tenant?", "what does he pay?"], "may he sublet?", "may the one who is the tenant sublet?"),
        (["What are the fees at the Fish dock?"], "when are they due?", "when are the fees at the Fish dock due?"),
        (["List the drinks and prices"], "and the cheapest of them?", "Which is the cheapest of the drinks?"),
        (["Is a pilot compulsory?"], "how do I order one?", "how do I order a pilot?"),
        (
            ["Which trails start at the centre?"],
            "how long is the longest of them?",
            "how long is the longest of the trails that start at the centre?",
        ),
        (["What are the symptoms of gout?"], "how is it treated?", "how is gout treated?"),
        ([LIT], "What is the dress code for the dinner?", "What is the dress code for the dinner?"),
        ([], "How many steps has it?", "How many steps has it?"),
    ],
)
def test_what_stands_for_something_before_is_said_in_full(before: list[str], request_: str, meant: str) -> None:
    assert followed(request_, before).rstrip("?") == meant.rstrip("?")
