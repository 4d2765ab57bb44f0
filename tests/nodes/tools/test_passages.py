"""Where passages begin and end."""

from nodes.tools.passages import Heading, cut_lines, place


def places(text: str, headings: dict[int, Heading] | None = None) -> list[str]:
    return [passage.place for passage in cut_lines("a", text.splitlines(keepends=True), headings or {})]


def test_a_place_of_one_unit_has_one_number() -> None:
    assert (place("L", 3, 3), place("r", 2, 9)) == ("L3", "r2-r9")


def test_a_paragraph_is_one_passage() -> None:
    paragraph = "Some words that go on for a while, line after line.\n" * 4
    assert places(f"{paragraph}\n{paragraph}") == ["L1-L4", "L6-L9"]


def test_short_blocks_take_the_next_one_in() -> None:
    assert places("Note:\n\n" + "Some words that go on for a while, line after line.\n" * 4) == ["L1-L6"]


def test_a_block_of_many_lines_is_cut_every_twelve() -> None:
    assert places("- an item of a list that is long\n" * 30) == ["L1-L12", "L13-L24", "L25-L30"]


def test_no_passage_ends_within_a_word() -> None:
    lines = ["a line of a paragraph\n"] * 11 + ["it is about infor-\n", "mation and its use\n"]
    assert places("".join(lines)) == ["L1-L11", "L12-L13"]


def test_a_heading_ends_the_passage_before_it() -> None:
    assert places("short\n# H\nshort\n", {2: Heading(1, "H")}) == ["L1", "L2-L3"]


def test_a_fenced_block_stays_whole_with_its_blank_lines() -> None:
    code = "```python\n" + "x = 1  # some more words to make it longer\n\n" * 6 + "```\n"
    assert places(f"{'Words before it. ' * 12}\n\n{code}") == ["L1", "L3-L16"]


def test_a_fence_that_never_closes_ends_with_the_text() -> None:
    assert places("```\ncode\n\n\n") == ["L1-L2"]


def test_deeper_headings_close_when_a_higher_one_comes() -> None:
    headings = {1: Heading(1, "A"), 3: Heading(3, "B"), 5: Heading(2, "C")}
    lines = ["A\n", "text\n", "B\n", "text\n", "C\n", "text\n"]
    trails = [p.trail for p in cut_lines("a", lines, headings)]
    assert trails == ["A", "A > B", "A > C"]


def test_lines_without_a_line_end_count_in_places_only() -> None:
    line = "Some words that go on for a while, line after line.\n"
    passages = list(cut_lines("a", [line, "", "", line, *[line, ""] * 10, line], {}))
    assert [passage.place for passage in passages] == ["L1-L24", "L25"]
    assert passages[0].text == (line * 12).rstrip()
    assert [passage.place for passage in cut_lines("a", ["Note\n", "\n", line, *[""] * 12, line], {})] == ["L1-L16"]


def test_a_long_line_with_lines_behind_it_that_are_none_is_cut_at_sentence_ends() -> None:
    passages = list(cut_lines("a", ["It is so. " * 500 + "\n", "", "", "More.\n"], {}))
    assert {passage.place for passage in passages} == {"L1-L3", "L4"}
    assert all(len(passage.text) <= 1200 for passage in passages)
