"""A number that a text gives as a limit is not what something is."""

import pytest

from nodes.policy.figures import is_for_limits, is_limit


@pytest.mark.parametrize(
    "text",
    ["less than 50", "<50", "under €50", "up to EUR 50", "50+", "50 or more", "50 people and up", "at most 50", "≥ 50"],
)
def test_a_limit_is_one(text: str) -> None:
    assert is_limit(text, 50)


@pytest.mark.parametrize(
    "text",
    ["50", "about 50", "50 EUR, less than last year", "50 + tax", "under 50, now 50", "over 9, under 51", "-50 or 50"],
)
def test_a_number_that_is_said_as_it_is_is_none(text: str) -> None:
    assert not is_limit(text, 50)


def test_fields_say_by_their_names_whether_they_hold_limits() -> None:
    assert all(map(is_for_limits, ["max users", "minimum age", "price from", "upper bound"]))
    assert not any(map(is_for_limits, ["users", "age", "form", "topic"]))
