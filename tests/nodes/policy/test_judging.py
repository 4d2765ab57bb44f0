"""What an answer says of its inputs, in whatever dress a model gives the lines."""

import pytest

from nodes.policy.judging import split_review

GOOD = [
    "Input t1: good", "- **Input t1:** good.", "input `t1` - see? no\nInput t1: OK", "> Input (t1): accepted",
    "* Input “t1” : Fine!", "INPUT t1 = okay", "Input t1 – good",
]  # fmt: skip


@pytest.mark.parametrize("line", GOOD)
def test_an_input_that_is_good_is_accepted_however_that_is_written(line: str) -> None:
    text, review = split_review(f"The answer.\n\n{line}\nConfidence: 0.8", ["t1"])

    assert review
    assert [(one.task_id, one.accept) for one in review.verdicts] == [("t1", True)]
    assert "The answer." in text
    assert "Confidence: 0.8" in text
    assert line.splitlines()[-1] not in text


def test_what_lacks_is_the_feedback_and_what_nobody_was_given_is_a_gap() -> None:
    said = "So.\nInput a: good in parts, but says no year\nInput b: good\nMissing: Find the risks.\nMissing: nothing"
    text, review = split_review(said, ["a", "b"])

    assert (text, review is None) == ("So.", False)
    assert review
    assert [(one.accept, one.feedback) for one in review.verdicts] == [
        (False, "good in parts, but says no year"),
        (True, ""),
    ]
    assert [gap.description for gap in review.gaps] == ["Find the risks."]


@pytest.mark.parametrize(
    "said",
    [
        "Input x: good",
        "The input a: good one",
        "Missing: a leg",
        "Inputs: good",
        "Input: good",
        "What is missing: much",
    ],
)
def test_text_that_speaks_of_no_input_by_its_line_stays_as_it_is(said: str) -> None:
    assert split_review(f"So.\n{said}", ["a"]) == (f"So.\n{said}", None)


def test_who_leaves_one_out_has_reviewed_nothing_and_the_lines_are_gone_all_the_same() -> None:
    assert split_review("So.\nInput a: good", ["a", "b"]) == ("So.", None)


def test_who_is_asked_nothing_says_what_they_like() -> None:
    assert split_review("Input a: good", []) == ("Input a: good", None)
