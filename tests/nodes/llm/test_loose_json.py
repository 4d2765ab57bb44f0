"""JSON is found in whatever a model writes around it, and never made up."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.llm.structured import objects_in

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, max_size=4), st.text(alphabet=st.characters(exclude_characters="{")))
def test_valid_json_is_found_in_any_prose(data: dict[str, object], prose: str) -> None:
    assert next(objects_in(f"{prose}\n{json.dumps(data)}\n{prose}")) == data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('{"a": [1, 2,], "b": {"c": 3,},}', [{"a": [1, 2], "b": {"c": 3}}]),
        ("{'a': 'it\\'s', 'b': True, 'c': None}", [{"a": "it's", "b": True, "c": None}]),
        ("{'a': 'say \"hi\" {now}'}", [{"a": 'say "hi" {now}'}]),
        ('{"a": "a brace } and , ] None"}', [{"a": "a brace } and , ] None"}]),
        ('{"a": "it\'s, \'quoted\'",}', [{"a": "it's, 'quoted'"}]),
        ('{"a": "two\nlines"}', [{"a": "two\nlines"}]),
        ('first {"a": 1} then {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('use {braces} freely: {"a": 1}', [{"a": 1}]),
        ("it's {\"a\": 1}, isn't it", [{"a": 1}]),
        ('{"outer": {"inner": 1}}', [{"outer": {"inner": 1}}]),
        ("[1, 2, 3]", []),
        ("no JSON here", []),
        ("", []),
    ],
)
def test_what_models_make_of_json(text: str, expected: list[dict[str, object]]) -> None:
    assert list(objects_in(text)) == expected


def test_a_reply_that_was_cut_off_is_not_completed_by_guessing() -> None:
    assert list(objects_in('{"tasks": [{"id": "t1"')) == []


@given(st.text(alphabet="{}[]\"':, \\a1\n"))
def test_no_text_makes_it_fail(text: str) -> None:
    for found in objects_in(text):
        assert isinstance(found, dict)


def test_deep_or_hostile_texts_do_not_stop_it() -> None:
    began = time.process_time()

    for hostile in ("{" * 100_000, '{"a":' * 100_000, "{'" * 50_000, '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}"):
        list(objects_in(hostile))

    assert time.process_time() - began < 20
