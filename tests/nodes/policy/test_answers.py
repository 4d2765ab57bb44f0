"""A human's answer is understood, whatever page or program it came from."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from nodes.policy.answers import read_answers
from state.approval import Approval

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "args", "message", "by", "decisions", "approved", "edited_action", "a", "b", "action"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def asked(*names: str) -> list[Approval]:
    return [
        Approval(id=name, task_id="t1", agent="ada", action="publish", args={"name": "x"}, reason="sensitive")
        for name in names
    ]


def read_one(raw: object) -> tuple[str, str, JsonValue]:
    """Type, message and arguments of the one decision."""
    decisions, problems = read_answers(cast(JsonValue, raw), asked("a"))
    assert problems == []
    decision = decisions["a"]
    return decision.type, decision.message, cast(JsonValue, decision.args)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # Agent Chat UI
        ({"decisions": [{"type": "approve"}]}, ("approve", "", None)),
        ({"decisions": [{"type": "reject", "message": "not yet"}]}, ("reject", "not yet", None)),
        (
            {"decisions": [{"type": "edit", "edited_action": {"name": "publish", "args": {"name": "y"}}}]},
            ("edit", "", {"name": "y"}),
        ),
        # Agent Inbox
        ([{"type": "accept", "args": None}], ("approve", "", None)),
        ([{"type": "ignore", "args": None}], ("reject", "", None)),
        ([{"type": "accept", "args": {"action": "publish", "args": {"name": "x"}}}], ("approve", "", None)),
        ([{"type": "response", "args": "use another name"}], ("reject", "use another name", None)),
        ([{"type": "edit", "args": {"action": "publish", "args": {"name": "y"}}}], ("edit", "", {"name": "y"})),
        ([{"type": "response", "args": "Yes!"}], ("approve", "", None)),
        ([{"type": "response", "args": "no, because of Monday"}], ("reject", "because of Monday", None)),
        # Studio: what a person types
        ("yes", ("approve", "", None)),
        ('"yes"', ("approve", "", None)),
        ("Approve", ("approve", "", None)),
        (" ok ", ("approve", "", None)),
        (True, ("approve", "", None)),
        ("true", ("approve", "", None)),
        (False, ("reject", "", None)),
        ("no", ("reject", "", None)),
        ("reject: it is too early", ("reject", "it is too early", None)),
        ('{"type": "reject", "message": "late"}', ("reject", "late", None)),
        ({"approved": True}, ("approve", "", None)),
        ({"approved": False, "comment": "no"}, ("reject", "no", None)),
        # Code: by id
        ({"a": {"type": "approve"}}, ("approve", "", None)),
        ({"a": True}, ("approve", "", None)),
        ({"a": "no"}, ("reject", "", None)),
        ({"a": {"type": "edit", "args": {"name": "y"}, "message": "y it is"}}, ("edit", "y it is", {"name": "y"})),
        ({"type": "APPROVE", "feedback": "well done"}, ("approve", "well done", None)),
    ],
)
def test_every_dialect_is_read(raw: object, expected: tuple[str, str, JsonValue]) -> None:
    assert read_one(raw) == expected


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ("maybe", "a: 'maybe' is not an answer; say approve, reject or edit"),
        ("", "a: '' is not an answer"),
        (None, "a: null is not an answer"),
        (3, "a: 3 is not an answer"),
        ({}, "{} says nothing; say approve, reject or edit"),
        (
            {"decisions": [{"type": "edit", "edited_action": {"name": "delete", "args": {"name": "y"}}}]},
            "a: it names 'delete', but 'publish' is asked about",
        ),
        ([{"type": "edit", "args": {"action": "delete", "args": {"name": "y"}}}], "a: it names 'delete'"),
        ({"type": "edit"}, "a: an edit needs the new arguments"),
        ({"type": "edit", "args": "name=y"}, "a: an edit needs the new arguments"),
        ({"decisions": [{"type": "shrug"}]}, "a: 'shrug' is not an answer"),
        ({"z": True}, "no open question is called 'z'"),
        ("ok wait, not yet", "a: 'ok wait, not yet' is not an answer"),
        ("approve: false", "a: 'approve: false' is not an answer"),
        ("go away", "a: 'go away' is not an answer"),
        ({"type": "approve", "approved": False}, "a: it says both yes and no"),
        ({"type": "approve", "args": {"name": "evil"}}, "a: an approval takes no other arguments; say edit"),
        (
            [{"type": "accept", "args": {"action": "publish", "args": {"name": "evil"}}}],
            "a: an approval takes no other",
        ),
        ({"decisions": []}, ""),
        ([], ""),
    ],
)
def test_what_cannot_be_read_leaves_the_question_open_and_says_why(raw: object, complaint: str) -> None:
    decisions, problems = read_answers(cast(JsonValue, raw), asked("a"))

    assert decisions == {}
    assert complaint in "; ".join(problems)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([{"type": "response", "args": "30"}], ("edit", {"answer": "30"})),
        ({"a": {"type": "response", "args": 30}}, ("edit", {"answer": 30})),
        ("Ana", ("edit", {"answer": "Ana"})),
        ("yes", ("approve", None)),
        ("no", ("reject", None)),
        ({"type": "reject", "message": "never"}, ("reject", None)),
        ({"type": "edit", "args": {"answer": [1]}}, ("edit", {"answer": [1]})),
        (
            [{"type": "edit", "args": {"action": "answer", "args": {"question": "Age?", "answer": "30"}}}],
            ("edit", {"answer": "30"}),
        ),
        (
            [{"type": "accept", "args": {"action": "answer", "args": {"question": "Age?", "answer": ""}}}],
            ("approve", None),
        ),
    ],
)
def test_a_question_that_takes_any_answer_takes_it_as_it_is_said(raw: object, expected: tuple[str, JsonValue]) -> None:
    (named,) = asked("a")
    free = named.model_copy(update={"action": "answer", "args": {"question": "Age?"}, "takes_anything": True})
    decisions, problems = read_answers(cast(JsonValue, raw), [free])
    assert problems == []
    assert (decisions["a"].type, decisions["a"].args) == expected


def test_some_answers_are_enough() -> None:
    by_id, _ = read_answers({"b": True}, asked("a", "b", "c"))
    by_place, problems = read_answers({"decisions": [{"type": "reject"}, {"type": "approve"}]}, asked("a", "b", "c"))

    assert {key: decision.type for key, decision in by_id.items()} == {"b": "approve"}
    assert {key: decision.type for key, decision in by_place.items()} == {"a": "reject", "b": "approve"}
    assert problems == []


def test_one_bad_answer_does_not_spoil_the_others() -> None:
    decisions, problems = read_answers({"a": True, "b": "hm"}, asked("a", "b"))

    assert list(decisions) == ["a"]
    assert problems == ["b: 'hm' is not an answer; say approve, reject or edit"]


def test_too_many_answers_are_noticed() -> None:
    decisions, problems = read_answers([True, False, True], asked("a", "b"))

    assert decisions == {}
    assert problems == ["3 answers, but 2 open questions: look again, or answer by id"]


def test_one_word_answers_all_but_one_decision_does_not() -> None:
    assert set(read_answers("yes", asked("a", "b"))[0]) == {"a", "b"}
    decisions, problems = read_answers({"type": "approve"}, asked("a", "b"))

    assert decisions == {}
    assert problems == ["2 questions are open: answer by id, or with one decision for each"]


def test_who_answered_is_kept() -> None:
    assert read_answers(True, asked("a"), by="ana")[0]["a"].by == "ana"
    assert read_answers({"type": "approve", "by": "bob"}, asked("a"), by="ana")[0]["a"].by == "bob"
    assert read_answers(True, asked("a"))[0]["a"].by == "human"
    assert read_answers(True, asked("a"), by="")[0]["a"].by == "human"


@pytest.mark.parametrize("raw", ["[" * 100_000, "NaN", '{"a": Infinity}', "9" * 5000])
def test_a_text_that_is_hardly_json_is_only_unreadable(raw: str) -> None:
    decisions, problems = read_answers(raw, asked("a"))

    assert decisions == {}
    assert len(problems) == 1


@given(JSON, st.sampled_from([(), ("a",), ("a", "b")]))
def test_reading_never_raises_and_answers_only_what_was_asked(raw: JsonValue, open_ids: tuple[str, ...]) -> None:
    for given_as in (raw, json.dumps(raw)):
        decisions, _ = read_answers(given_as, asked(*open_ids))

        assert set(decisions) <= set(open_ids)
