"""How much of a question the index says that it found: by one passage, and by the words that say something."""

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
def test_words_that_stand_apart_from_each_other_cover_less_than_half(query: str) -> None:
    hits = Index(PASSAGES).search(query, 5)

    assert hits.unknown == []
    assert hits.cover < 0.7


def test_a_word_that_says_little_may_be_missing() -> None:
    index = Index(PASSAGES)
    light, heavy = (index.search(f"Under which licence is the timetable {word}?", 3) for word in ("taken", "smoked"))

    assert light.unknown == ["taken"]
    assert heavy.unknown == ["smoked"]
    assert light.cover > 0.7 > heavy.cover


@pytest.mark.parametrize(
    ("asked", "speaks"),
    [("Sundays", True), ("Saturday", True), ("Wednesday", True), ("Tuesdays", False)],
)
def test_days_are_met_by_their_short_names_and_by_spans(asked: str, speaks: bool) -> None:
    hours = Passage("hours.md", "L1", "| Wed–Fri | 06:30 |\n| Sat | 07:00 |\n| Sun | 08:00 |")
    assert (Index([hours]).search(f"open on {asked}", 1).unknown == ["open"]) is speaks
