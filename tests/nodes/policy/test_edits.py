"""Arguments that a human gave: read as the tool takes them, or refused with the reason."""

from typing import Any

import pytest
from pydantic import JsonValue

from nodes.policy.answers import checked_edit
from state.approval import Approval

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "level": {"enum": ["low", "high"]},
        "where": {"$ref": "#/$defs/Place"},
    },
    "$defs": {
        "Place": {"type": "object", "properties": {"row": {"type": "integer"}}, "required": ["row"]},
    },
}


def asked(schema: dict[str, Any] | None = None, **fields: Any) -> Approval:
    made = {"id": "q", "task_id": "t", "agent": "ada", "action": "order", "reason": "it costs", **fields}
    return Approval(**made, args_schema=SCHEMA if schema is None else schema)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"name": "3"}, {"name": "3"}),
        ({"count": "3"}, {"count": 3}),
        ({"count": " -3 "}, {"count": -3}),
        ({"price": "2.5"}, {"price": 2.5}),
        ({"price": "2"}, {"price": 2}),
        ({"urgent": "true"}, {"urgent": True}),
        ({"urgent": "No"}, {"urgent": False}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"tags": "a, b"}, {"tags": ["a", "b"]}),
        ({"tags": ""}, {"tags": []}),
        ({"sizes": ["1", 2]}, {"sizes": [1, 2]}),
        ({"options": '{"depth": "4"}'}, {"options": {"depth": 4}}),
        ({"options": {"depth": "4"}}, {"options": {"depth": 4}}),
        ({"limit": ""}, {"limit": None}),
        ({"limit": "7"}, {"limit": 7}),
        ({"level": "low"}, {"level": "low"}),
        ({"where": '{"row": "1"}'}, {"where": {"row": 1}}),
    ],
)
def test_strings_from_a_form_become_what_the_tool_takes(given: dict[str, Any], used: dict[str, Any]) -> None:
    assert checked_edit(given, asked()) == (used, "")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"count": "many"}, "count: 'many' is not of type 'integer'"),
        ({"count": "2.5"}, "count: '2.5' is not of type 'integer'"),
        ({"count": "true"}, "count: 'true' is not of type 'integer'"),
        ({"count": True}, "count: True is not of type 'integer'"),
        ({"urgent": "maybe"}, "urgent: 'maybe' is not of type 'boolean'"),
        ({"name": 3}, "name: 3 is not of type 'string'"),
        ({"level": "middle"}, "level: 'middle' is not one of ['low', 'high']"),
        ({"options": "deep"}, "options: 'deep' is not of type 'object'"),
        ({"sizes": "1, x"}, "sizes.1: 'x' is not of type 'integer'"),
        ({"where": {}}, "where: 'row' is a required property"),
        ({"colour": "red"}, "('colour' was unexpected)"),
    ],
)
def test_what_the_tool_cannot_take_is_refused_with_the_reason(given: dict[str, Any], problem: str) -> None:
    assert problem in checked_edit(given, asked())[1]


def test_missing_arguments_are_named() -> None:
    _, problem = checked_edit({"price": 2}, asked({**SCHEMA, "required": ["name", "count"]}))
    assert problem == "'name' is a required property; 'count' is a required property"


def test_what_is_required_and_not_given_stays_as_it_was_asked() -> None:
    question = asked({**SCHEMA, "required": ["name", "count"]}, args={"name": "a", "count": 2, "urgent": True})
    assert checked_edit({"count": "3"}, question) == ({"name": "a", "count": 3}, "")


def test_an_empty_edit_changes_nothing_and_is_refused() -> None:
    assert "they are empty" in checked_edit({}, asked(args={"name": "a"}))[1]


def test_a_tool_that_takes_anything_takes_anything() -> None:
    assert checked_edit({"colour": "red"}, asked({**SCHEMA, "additionalProperties": True}))[1] == ""
    assert checked_edit({"colour": "red"}, asked({"type": "object"}))[1] == ""


def test_without_a_schema_any_arguments_will_do() -> None:
    question = asked().model_copy(update={"args_schema": None})
    assert checked_edit({"x": "1"}, question) == ({"x": "1"}, "")


def test_a_schema_that_is_none_leaves_the_last_word_to_the_tool() -> None:
    assert checked_edit({"x": "1"}, asked({"type": "nonsense"})) == ({"x": "1"}, "")


@pytest.mark.parametrize(
    ("tasks", "problem"),
    [
        ([{"id": "a", "description": "x"}], ""),
        ([{"id": "a", "description": "x", "depends_on": ["a"]}], "the plan cannot be used: task 'a' depends on itself"),
        ([], "the plan cannot be used: tasks: List should have at least 1 item after validation, not 0"),
    ],
)
def test_an_edited_plan_has_to_be_a_plan(tasks: list[JsonValue], problem: str) -> None:
    assert checked_edit({"tasks": tasks}, asked(subject="plan", action="plan", task_id=""))[1] == problem
