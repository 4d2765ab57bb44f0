"""How many stories are told: some, all, or those between them too."""

import pytest

from tests.journeys.turns import chosen


@pytest.mark.parametrize(
    ("length", "told"), [("", [8, 56, 88]), ("short", [8, 24, 40, 56, 72, 88]), ("long", list(range(8, 89)))]
)
def test_a_story_is_told_at_more_points_the_longer_the_campaign(length: str, told: list[int]) -> None:
    assert list(chosen(range(8, 100, 16), length)) == told


@pytest.mark.parametrize("length", ["", "short", "long"])
def test_every_story_is_told_at_least_once(length: str) -> None:
    assert list(chosen([0.5], length)) == [0.5]
