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
        ([FILTER], "how often should I do that?", "how often should I do the filter?"),
        ([FILTER], "what is it made of?", "what is the filter made of?"),
        (["What is the refund period?"], "Can it be extended?", "Can the refund period be extended?"),
        (["What is the warranty of the pump?"], "and the delivery time?", "Delivery time of the pump"),
        (["Who founded Northwind?"], "When did she leave?", "When did the one who founded Northwind leave?"),
        (
            ["Which rooms have a projector?"],
            "how large is the largest of them?",
            "how large is the largest of the rooms that have a projector?",
        ),
        (
            ["Which of our boats are leaking?"],
            "which of these is the oldest?",
            "which of the boats that are leaking is the oldest?",
        ),
        (
            ["How many litres of milk are in the fridge of the café?"],
            "and of the school?",
            "How many litres of milk are in the fridge of the school?",
        ),
        (["List the teas and their prices"], "which is the cheapest?", "which is the cheapest of the teas?"),
        (ALPHA, "which one is cheaper?", "which one is cheaper of Alpha and Beta?"),
        ([*ALPHA, "which one is cheaper?"], "why?", "Why: which one is cheaper of Alpha and Beta?"),
        (["When does the ferry leave on Sundays?"], "and on Mondays?", "When does the ferry leave on Mondays?"),
        (["¿Cuánto cuesta la entrada?"], "¿y para niños?", "¿Cuánto cuesta la entrada para niños?"),
        (["Wie hoch ist der Turm?"], "Und wer hat ihn gebaut?", "wer hat ihn gebaut (der Turm)?"),
        (["When was Cape Morrow lit?"], "who built it?", "who built Cape Morrow?"),
        (["Who founded the Museum of Clocks?"], "where is it?", "where is the Museum of Clocks?"),
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
        (["How much caffeine has black tea?"], "and espresso?", "How much caffeine has espresso?"),
        (
            ["What does a berth at the North quay cost?"],
            "and at the South quay?",
            "What does a berth at the South quay cost?",
        ),
        (["Who reads the meters?", "how often?"], "where are they kept?", "where are the meters kept?"),
        (["List the drinks with their prices"], "only those without sugar", "only the drinks without sugar"),
        (["Which drink has the least caffeine?"], "and the most sugar?", "Which drink has the most sugar?"),
        (["Tell me who the warden is"], "how do I reach him?", "how do I reach the one who the warden is?"),
        (["Who is the tenant?", "what does he pay?"], "may he sublet?", "may the one who is the tenant sublet?"),
        (["What are the fees at the Fish dock?"], "when are they due?", "when are the fees at the Fish dock due?"),
        (["List the drinks and prices"], "and the cheapest of them?", "the cheapest of the drinks"),
        (["Is a pilot compulsory?"], "how do I order one?", "how do I order a pilot?"),
        (
            ["Which trails start at the centre?"],
            "how long is the longest of them?",
            "how long is the longest of the trails that start at the centre?",
        ),
        (["What is in the hidden folder?"], "can it be thrown away?", "can the hidden folder be thrown away?"),
        (["When can I resign?"], "in which form?", "When can I resign in which form?"),
        (["What does the landlord repair?"], "and the tenant?", "What does the tenant repair?"),
        (["How many tonnes of barley were there in 2023?"], "and rye?", "How many tonnes of rye were there in 2023?"),
        (["Eino 的许可证是什么？"], "那 Dapr 呢？", "Dapr 的许可证是什么？"),
        (ALPHA, "compare both on range", "compare Alpha and Beta on range"),
        (["Quel est le prix du billet ?"], "et pour les enfants ?", "Quel est le prix du billet pour les enfants?"),
        ([LIT], "What is the dress code for the dinner?", "What is the dress code for the dinner?"),
        ([], "How many steps has it?", "How many steps has it?"),
    ],
)
def test_what_stands_for_something_before_is_said_in_full(before: list[str], request_: str, meant: str) -> None:
    assert followed(request_, before).rstrip("?") == meant.rstrip("?")


RANKED = "- Lowest weight (kg) in bikes: Fjord Race (15.8), Dune Mini (17.2) and Alba City (22.5). [bikes.csv#table]"
CHEAP = "- Lowest price (eur) in bikes: Dune Mini (1490) and Alba City (1890). [bikes.csv#table]"
ROWS = "- In bikes, year: 2024; model: Brisa Cargo. [b#table]\n- In bikes, year: 2024; model: Corso Trek. [b#table]"
BEFORE = (
    "- In bikes: year 2024; model Brisa Cargo. [b.csv#table]\n- In bikes: year 2024; model Corso Trek. [b.csv#table]"
)
ITEMS = "> - `TERM` waits for requests.\n> - `HUP` reads the settings anew.\n[signals.md#L3-L4]"
OLDEST = "> The oldest ship is the Marlin. It ran aground off Skagen. The newest is the Petrel.\n[log.txt#L1]"
NOTICE = "> The landlord must give three months' notice. The tenant must give four weeks' notice.\n[lease.md#L1]"
RESTS = "> The rye dough rests for twelve hours.\n[rye.md#L1]"
BUSES = "> The buses leave from gate 4.\n[bus.md#L1]"
WARDEN = "> Ida Holm is the warden of the park. Jon Berg drives the van.\n[staff.md#L1]"
GROUPS = "- Average price by region in plans: US 15 (2 rows) and EU 13.5 (1 row). [plans.csv#table]"
LIGHTEST, CHEAPEST = "Which model is the lightest?", "Which model is the cheapest?"


@pytest.mark.parametrize(
    ("before", "request_", "meant"),
    [
        ([(LIGHTEST, RANKED)], "what does it cost?", "what does Fjord Race cost?"),
        ([(LIGHTEST, RANKED), ("and the cheapest?", CHEAP)], "compare the two", "compare Fjord Race and Dune Mini"),
        (
            [(LIGHTEST, RANKED), (CHEAPEST, CHEAP)],
            "which has the longer range?",
            "which has the longer range of Fjord Race and Dune Mini?",
        ),
        ([("Which models are of 2024?", ROWS)], "compare both", "compare Brisa Cargo and Corso Trek"),
        ([("Which models are of 2024?", BEFORE)], "what do they cost?", "what do Brisa Cargo and Corso Trek cost?"),
        ([("What is the average price by region?", GROUPS)], "compare both", "compare US and EU"),
        ([("Which signals are there?", ITEMS)], "what does the second one do?", "what does HUP do?"),
        ([("Which signals are there?", ITEMS)], "what does the third one do?", "what does the third one do (signals)?"),
        ([("Which is the oldest ship?", OLDEST)], "What happened to it?", "What happened to Marlin?"),
        (
            [("How much notice must the landlord give?", NOTICE)],
            "and the tenant?",
            "How much notice must the tenant give?",
        ),
        (
            [("How long does the rye dough rest?", f"## How long does the rye dough rest?\n\n{RESTS}")],
            "how is it baked?",
            "how is the rye dough baked?",
        ),
        ([("Where do the buses leave?", BUSES)], "how often do they run?", "how often do the buses run?"),
        ([("Who is the warden of the park?", WARDEN)], "what is her number?", "what is Ida Holm's number?"),
        ([("What does Plus cost?", ""), ("and Care?", "")], "when did the latter begin?", "when did Care begin?"),
    ],
)
def test_what_points_at_an_answer_is_said_by_the_names_in_it(
    before: list[tuple[str, str]], request_: str, meant: str
) -> None:
    assert followed(request_, *zip(*before, strict=True)).rstrip("?") == meant.rstrip("?")
