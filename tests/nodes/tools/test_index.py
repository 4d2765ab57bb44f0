"""How likely the index says that it found an answer: by one passage, and by the words that say something."""

import pytest

from nodes.tools.index import Index
from nodes.tools.passages import Passage

PASSAGES = [
    Passage("licence.md", "L1", "The licence of the ferry timetable is MIT."),
    Passage("tickets.md", "L1", "A ticket is bought on board of the ferry."),
    Passage("winter.md", "L1", "In winter the ferry stays in the harbour of Morrow."),
    Passage("crew.md", "L1", "The crew of the ferry has a captain and a cook."),
    Passage("songs.md", "L1", "Sea songs are sung by the crew on most days."),
]


@pytest.mark.parametrize("query", ["Which songs does the captain cook?", "harbour tickets of the crew"])
def test_words_that_stand_apart_from_each_other_are_less_likely_an_answer(query: str) -> None:
    hits = Index(PASSAGES).search(query, 5)

    assert hits.unknown == []
    assert hits.likely < 0.98


def test_a_word_that_says_little_may_be_missing() -> None:
    index = Index(PASSAGES)
    light, heavy = (index.search(f"Under which licence is the timetable {word}?", 3) for word in ("taken", "smoked"))

    assert light.unknown == []
    assert heavy.unknown == ["smoked"]
    assert light.likely > 0.99 > heavy.likely


def test_who_founded_a_thing_is_not_who_found_it() -> None:
    told = [
        Passage("a.md", "L1", "A cook found the key."),
        Passage("b.md", "L1", "The founder of the line is Ada Moss."),
    ]

    assert Index([*PASSAGES, *told[:1]]).search("Who founded the ferry?", 3).unknown == ["founded"]
    assert Index([*PASSAGES, *told]).search("Who founded the line?", 3).passages[0].file == "b.md"


@pytest.mark.parametrize(
    ("asked", "speaks"),
    [("Sundays", True), ("Saturday", True), ("Wednesday", True), ("Tuesdays", False)],
)
def test_days_are_met_by_their_short_names_and_by_spans(asked: str, speaks: bool) -> None:
    hours = Passage("hours.md", "L1", "| Wed–Fri | 06:30 |\n| Sat | 07:00 |\n| Sun | 08:00 |")
    assert (Index([hours]).search(f"open on {asked}", 1).unknown == ["open"]) is speaks


def test_passages_near_each_other_are_shown_as_one_with_what_stands_between_them() -> None:
    lines = [
        Passage("bikes.md", "L1", "A bicycle may be taken on the ferry.", "Bicycles", "Bicycles"),
        Passage("bikes.md", "L3", "It rides on the lower deck.", "Deck", "Bicycles > Deck"),
        Passage("bikes.md", "L5", "The ferry asks four euros for a bicycle.", "Fares", "Bicycles > Fares"),
        Passage("rent.md", "L1", "At the pier of the ferry somebody rents out every kind of bicycle."),
    ]
    found = Index([*PASSAGES, *lines]).search("a bicycle on the ferry", 3).passages

    assert [passage.label for passage in found[:2]] == ["[bikes.md#L1-L5]", "[rent.md#L1]"]
    assert found[0].text == "\n\n".join(line.text for line in lines[:3])


def test_it_says_how_well_the_second_passage_fits_beside_the_first() -> None:
    index = Index([*PASSAGES, Passage("again.md", "L1", "A ticket for the ferry is bought on board.")])

    assert index.search("Under which licence is the ferry timetable?", 5).second < 0.5
    assert index.search("Where is a ticket for the ferry bought?", 5).second > 0.8
    assert index.search("Sea songs", 5).second == 0


@pytest.mark.parametrize(
    "question", ["What is a day ticket?", "What does day ticket mean?", "What is a day ticket for?"]
)
def test_what_says_what_a_thing_is_comes_before_what_speaks_of_it(question: str) -> None:
    spoken = Passage("fares.md", "L1", "On board of it, each one shows a day ticket or a pass.")
    defined = Passage("terms.md", "L9", 'In these rules, which the harbour wrote, a "day ticket" is valid until four.')

    assert Index([*PASSAGES, spoken, defined]).search(question, 1).passages[0].file == "terms.md"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Словари обновляются каждый месяц.", "Когда обновляется словарь?"),
        ("Τα σχολεία της πόλης.", "ένα σχολείο"),
    ],
)
def test_words_of_other_scripts_are_met_whatever_their_endings(text: str, question: str) -> None:
    assert Index([Passage("a.md", "L1", text)]).search(question, 1).passages


def test_of_two_alike_the_one_beside_another_that_fits_comes_first() -> None:
    said, filler = (
        "The harbour is closed in the morning of the second day of each month, as the board at the old gate says.",
        "Gulls." * 20,
    )
    alone = [Passage("alone.md", "L1", said), Passage("alone.md", "L3", filler)]
    beside = [
        Passage("beside.md", "L1", f"{said} Ask there."),
        Passage("beside.md", "L3", "Harbour hours: closed at six."),
    ]
    index = Index([*PASSAGES, *alone, *beside])

    found = [one.label for one in index.search("When is the harbour closed?", 9, 0).passages]

    assert found.index("[beside.md#L1]") < found.index("[alone.md#L1]")


def test_words_that_stand_together_fit_better_than_the_same_far_apart() -> None:
    filler = " ".join(["and so on, as every year before,"] * 6)
    apart = Passage("apart.md", "L1", f"The pilot was hired. {filler} The tug was sold. {filler} The barge was red.")
    together = Passage(
        "together.md",
        "L1",
        f"The barge that comes in at noon follows an old tug which has this time a pilot. {filler} {filler}",
    )
    found = Index([*PASSAGES, apart, together]).search("barge, tug and pilot", 2).passages

    assert [one.file for one in found] == ["together.md", "apart.md"]


def test_rows_of_tables_beside_a_text_make_it_no_less_likely_to_answer() -> None:
    texts = [
        Passage("a.md", "L1", "The harbour is open from May to September. A berth is given by the warden."),
        Passage("b.md", "L1", "Visitors pay at the office."),
    ]
    rows = [Passage("ships.csv", f"r{n}", f"name: ship {n}, length: {n % 40}, quay: north") for n in range(2000)]
    of_texts, of_rows = "Is the harbour open on holidays in spring?", "How long is ship 7 at the north quay?"
    alone, few, many = Index(texts), Index([*texts, *rows[:20]]), Index([*texts, *rows])

    assert alone.search(of_texts, 3).likely == many.search(of_texts, 3).likely > 0.5
    assert few.search(of_rows, 3).likely > many.search(of_rows, 3).likely


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "docs/README.md",
            "The Lamplighter watches over the lamps of a harbour, from dusk on, and calls whoever is near.",
        ),
        (
            "docs/use/command.md",
            "On a server the Lamplighter is a watchman of lamps, which calls people of the harbour.",
        ),
    ],
)
def test_what_all_is_about_is_introduced(file: str, text: str) -> None:
    others = [Passage(f"n{n}.md", "L1", f"Start the Lamplighter {n}.") for n in range(200)]

    found = Index([*others, Passage(file, "L1", text)]).search("What is the Lamplighter?", 3).passages

    assert text in [passage.text for passage in found]
