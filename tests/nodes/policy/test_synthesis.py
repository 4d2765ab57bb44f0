"""Results are deduplicated and filtered; every claim keeps its sources (row M10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.synthesis import Said, claims_of, deduplicate, is_worth_keeping, without_repeats
from state.citation import Citation, Claim
from tests.builders import make_outcome


def claim(text: str, *places: str, quote: str = "as it stands") -> Claim:
    return Claim(text=text, citations=[Citation(file="a.md", place=place, quote=quote) for place in places])


def test_an_exact_repetition_goes_and_its_sources_are_united() -> None:
    kept = deduplicate(
        [claim("LangGraph is used a lot.", "L1"), claim("langgraph is  used a LOT.", "L2"), claim("Other.", "L3")]
    )

    assert [one.text for one in kept] == ["LangGraph is used a lot.", "Other."]
    assert [citation.place for citation in kept[0].citations] == ["L1", "L2"]


def test_a_near_repetition_goes_and_its_sources_are_united() -> None:
    kept = deduplicate(
        [
            claim("The supervisor pattern reduces costs for most teams.", "L1"),
            claim("For most teams the supervisor pattern reduces the costs.", "L1", "L9"),
        ]
    )

    assert [one.text for one in kept] == ["The supervisor pattern reduces costs for most teams."]
    assert [citation.place for citation in kept[0].citations] == ["L1", "L9"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The market grew by 12 % in 2024.", "The market grew by 13 % in 2024.", False),
        ("The market grew by 12 % in 2024.", "In 2024 the market grew by 12 %.", False),
        ("In 2024 the market grew by 12 %.", "in 2024 the market grew by 12 %!", True),
        ("A seat costs 1,200 dollars.", "A seat costs 1.200 dollars.", False),
        ("Agents talk by mail.", "Humans approve each plan.", False),
    ],
)
def test_statements_with_other_numbers_are_other_statements(one: str, other: str, same: bool) -> None:
    assert (Said([one]).find(other) is not None) is same


def test_a_source_that_was_found_is_not_lost_to_a_repetition_that_misquotes_it() -> None:
    kept = deduplicate([claim("All of it is cited.", "L1"), claim("All of it is cited.", "L1", quote="")])

    assert kept[0].citations[0].quote == "as it stands"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("A fact worth a line.", True),
        ("Too short", False),
        ("# A heading of some length", False),
        ("No information found.", False),
        ("- no results -", False),
        ("No information found there speaks against it.", True),
        ("   ", False),
    ],
)
def test_headings_fillers_and_excuses_are_no_findings(text: str, kept: bool) -> None:
    assert is_worth_keeping(claim(text)) is kept


def test_only_what_was_delivered_and_says_something_counts() -> None:
    told = [claim("A statement of this agent.")]
    done = make_outcome("a").model_copy(update={"claims": told})
    filler = make_outcome("c").model_copy(update={"claims": [claim("No information found.")]})
    failed = make_outcome("b", failure="broke").model_copy(update={"claims": [claim("Another statement, lost.")]})

    assert claims_of([done, filler, failed]) == told


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 3)), max_size=12))
def test_no_source_is_ever_lost_and_doing_it_twice_changes_nothing(drawn: list[tuple[str, int]]) -> None:
    claims = [claim(f"What stands here is {letter * 40}.", f"L{place}") for letter, place in drawn]
    once = deduplicate(claims)

    def pairs(found: list[Claim]) -> set[tuple[str, str]]:
        return {(one.text, citation.place) for one in found for citation in one.citations}

    assert pairs(once) == pairs(claims)
    assert deduplicate(once) == once


def test_texts_put_together_say_nothing_twice_and_the_first_place_takes_over_the_labels() -> None:
    price = "LangGraph Plus costs 39 US dollars a seat and month"
    first = f"## Prices\n\n{price} [a.md#L3].\n\n- Cheap\n- Fast\n\n```yaml\n- Cheap\n\n- x: 1\n```\n\nNone."
    again = f"## Costs\n\n- {price.replace('costs', 'is at')} [b.md#L9].\n- Cheap\n\n> Quoted.\n[a.md#L3]"
    other = "## Rest\n\n> Quoted.\n[a.md#L3]\n\nN/A"

    assert without_repeats([first, again, other]) == [
        f"## Prices\n\n{price} [a.md#L3]. [b.md#L9]\n\n- Cheap\n- Fast\n\n```yaml\n- Cheap\n\n- x: 1\n```",
        "## Costs\n\n- Cheap\n\n> Quoted.\n[a.md#L3]",
        "## Rest\n\nThe passages above say it.",
    ]
    assert without_repeats([first])[0].startswith(first.removesuffix("\n\nNone."))
