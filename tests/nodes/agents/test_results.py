"""From a result's text to claims: what is quoted stands in the source to the letter, or the quote stays empty."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.agents.citations import LONGEST_QUOTE, claims_in
from nodes.tools.sources import Sources, open_sources
from state.citation import Citation, without_labels

GUIDE = """\
# Guide

LangGraph keeps every step in a checkpoint.
It resumes after a crash. A human may
take the wheel at any moment.

Costs are 12 dollars a seat.
"""


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    (folder / "other.md").write_text("Agents talk by mail.\n")
    (folder / "long.txt").write_text("word " * 500)
    (folder / "prices.csv").write_text("vendor,price\nA,10\nB,14\n")
    return open_sources([str(folder)])


def only_citation(text: str, sources: Sources) -> Citation:
    (claim,) = claims_in(text, "t1", sources)
    (citation,) = claim.citations
    return citation


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('It says "resumes after a crash" [guide.md#L4].', "resumes after a crash"),
        ("It says “resumes after a crash” [guide.md#L4].", "resumes after a crash"),
        ('It says "A human may\ntake the wheel" [guide.md#L4-L5].', "A human may\ntake the wheel"),
        ("It goes on after it crashes [guide.md#L3-L5].", "It resumes after a crash."),
        ('It has a "human touch" to it: the wheel [guide.md#L7].', "Costs are 12 dollars a seat."),
    ],
)  # fmt: skip
def test_a_quote_is_what_stands_there_to_the_letter(text: str, quote: str, sources: Sources) -> None:
    citation = only_citation(text, sources)

    assert citation.quote == quote
    assert sources.holds(citation.file, quote)


@pytest.mark.parametrize(
    "text",
    [
        'It says "resumes only after a very long time" [guide.md#L4].',
        "Nothing there [guide.md#L99].",
        "No such file [nowhere.md#L1].",
        "No such page [guide.md#p1].",
    ],
)
def test_a_misquote_or_a_label_that_points_nowhere_has_no_quote(text: str, sources: Sources) -> None:
    assert only_citation(text, sources).quote == ""


def test_bullets_and_sentences_with_labels_are_claims_of_their_own(sources: Sources) -> None:
    text = (
        "# Heading\n\n- First [guide.md#L3]\n2. Next [guide.md#L4]\n\nThird [guide.md#L5]. Fourth [guide.md#L7]. End."
    )
    claims = claims_in(text, "t1", sources)

    assert [claim.text for claim in claims] == ["First", "Next", "Third.", "Fourth.", "End."]
    assert [len(claim.citations) for claim in claims] == [1, 1, 1, 1, 0]
    assert {claim.task_id for claim in claims} == {"t1"}


def test_several_labels_after_a_statement_all_support_it(sources: Sources) -> None:
    (claim,) = claims_in("So it is [guide.md#L3] [other.md#L1][guide.md#L3].", "t1", sources)

    assert claim.text == "So it is."
    assert [citation.label for citation in claim.citations] == ["[guide.md#L3]", "[other.md#L1]"]


def test_a_file_may_be_named_in_another_way_the_citation_names_it_exactly(sources: Sources) -> None:
    assert only_citation("So [./Guide.md#L3].", sources).label == "[guide.md#L3]"


def test_a_figure_from_a_table_carries_the_sql_that_made_it(sources: Sources) -> None:
    computed = {
        "[prices.csv#table]\n| max |\n| 14 |": "SELECT max(price) FROM prices",
        "[prices.csv#table]\n| avg |\n| 12 |": "SELECT avg(price) FROM prices",
        "[other.csv#table]\n| avg |\n| 12 |": "SELECT avg(price) FROM other",
    }
    (claim,) = claims_in("It is 12 [prices.csv#table].", "t1", sources, computed)

    assert claim.citations[0].quote == "SELECT avg(price) FROM prices"


def test_a_figure_from_a_table_that_does_not_exist_has_no_quote(sources: Sources) -> None:
    assert only_citation("12 [nowhere.csv#table].", sources).quote == ""
    assert only_citation("12 [guide.md#table].", sources).quote == ""


def test_a_long_passage_is_not_quoted_whole(sources: Sources) -> None:
    quote = only_citation("Words [long.txt#L1].", sources).quote

    assert len(quote) <= LONGEST_QUOTE
    assert sources.holds("long.txt", quote)


def test_without_sources_labels_are_kept_without_quotes() -> None:
    (claim,) = claims_in("So [a.md#L1].", "t1", None)

    assert claim.citations == [Citation(file="a.md", place="L1")]


@given(st.text(alphabet='ab .\n-*#"[]L1|1', max_size=80))
def test_no_text_breaks_it_and_no_claim_is_empty(text: str) -> None:
    for claim in claims_in(text + " [a.md#L1]", "t1", None):
        assert claim.text.strip()


@pytest.mark.parametrize("piece", ["x", " ", "\t", "[", "[a", "„", '"', "a ", "[a#L", "- a\n", "\n", "[f#L1] "])
@pytest.mark.parametrize("end", ["", "z", "[f#L1]"])
def test_a_long_text_takes_no_longer_than_its_length(piece: str, end: str) -> None:
    text = (piece * 100_000)[:100_000]
    began = time.process_time()
    claims_in(f"z{text}{end}", "t1", None)

    assert time.process_time() - began < 5  # by its square, it would be half a minute and more


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A  [f#L1] [g#p2], b", "A, b"),
        ("A [f#L1] , b", "A, b"),
        ("[f#L1] A", "A"),
        ("A\n  [f#L1]\nB", "A\n\nB"),
        ("A [f#L1]  B", "A  B"),
        ("A [not a label] B", "A [not a label] B"),
    ],
)
def test_labels_leave_no_gap(text: str, plain: str) -> None:
    assert without_labels(text) == plain
