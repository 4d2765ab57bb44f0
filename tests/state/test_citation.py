"""Labels in texts name places in the sources."""

import pytest

from state.citation import Citation, labels_in, line_of, without_labels


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fast [a.md#L3-L9].", [("a.md", "L3-L9")]),
        ("One line [a.md#L3] and a page [s/b c.pdf#p3].", [("a.md", "L3"), ("s/b c.pdf", "p3")]),
        ("Rows [x.csv#r2-r9] and all of it [x.csv#table].", [("x.csv", "r2-r9"), ("x.csv", "table")]),
        ("Twice [a.md#L1] the same [a.md#L1].", [("a.md", "L1")]),
        ("No label: [1], [a.md], [a.md#], [a.md#x3], [#L3], a.md#L3", []),
        ("Not over lines [a.md\n#L3]", []),
    ],
)
def test_labels_are_found_in_order_each_once(text: str, found: list[tuple[str, str]]) -> None:
    assert labels_in(text) == found


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Fast [a.md#L3-L9].", "Fast."),
        ("Fast [a.md#L3] [b.md#L1], and cheap [c.csv#table]", "Fast, and cheap"),
        ("[a.md#L3] Fast", "Fast"),
        ("Keep [1] this", "Keep [1] this"),
    ],
)
def test_taking_labels_out_closes_the_gap(text: str, bare: str) -> None:
    assert without_labels(text) == bare


def test_a_citation_gives_back_the_label_it_was_read_from() -> None:
    assert labels_in(Citation(file="a.md", place="L3-L9").label) == [("a.md", "L3-L9")]


@pytest.mark.parametrize(
    ("place", "text", "line"),
    [
        ("L3-L5", "one\ntwo\nthree", "L4"),
        ("L3-L9", "one\ntwo\nthree", "L3-L9"),  # four of its lines are not shown
        ("p3", "one\ntwo\nthree", "p3"),
        ("b3-b5", "one\ntwo\nthree", "b3-b5"),
    ],
)
def test_a_line_of_a_text_has_a_place_of_its_own_where_that_is_sure(place: str, text: str, line: str) -> None:
    assert line_of(place, text, 1) == line
