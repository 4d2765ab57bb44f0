"""Schemas of answers: which can be asked for, and what is said of the others, in one line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from nodes.policy.schemas import checked_schema, completed, faults, lacking, leaves, nullable, schema_of, settled
from state.errors import SchemaInvalid


class Vendor(BaseModel):
    name: str
    price: float | None = None
    tags: list[str] = []


class Tree(BaseModel):
    below: list["Tree"]


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = obj(a=schema)
    return schema


LAUGHS = {
    "$defs": {f"a{n}": obj(**{key: {"$ref": f"#/$defs/a{n + 1}"} for key in "bcdefgh"}) for n in range(6)}
    | {"a6": {"type": "string"}},
    "$ref": "#/$defs/a0",
}
REFUSED = {
    "nothing": ({}, "says something"),
    "no object": ([1], "JSON Schema or a Pydantic model"),
    "no schema": ({"type": "flaot"}, "'flaot'"),
    "recursive": (Tree, "refers to itself"),
    "recursive below": ({"$defs": {"n": obj(n={"$ref": "#/$defs/n"})}, **obj(a={"$ref": "#/$defs/n"})}, "to itself"),
    "itself": ({"$ref": "#"}, "refers to itself"),
    "elsewhere": (obj(a={"$ref": "https://example.org/x.json"}), "outside itself"),
    "not there": (obj(a={"$ref": "#/$defs/none"}), "not in it"),
    "huge": (obj(**{f"f{n}": {"type": "string", "description": "x" * 100} for n in range(500)}), "characters"),
    "many": (obj(**{f"f{n}": {"type": "string"} for n in range(1100)}), "parts"),
    "a bomb": (LAUGHS, "parts"),
    "deep": (nested(30), "levels deep"),
    "deeper": (nested(900), "deep"),
    "patterns for names": ({"type": "object", "patternProperties": {"a+": {}}}, "patternProperties"),
    "a broken pattern": (obj(a={"type": "string", "pattern": "("}), "pattern"),
    "code": ("print(1)", "not by a text"),
    "no type": (7, "JSON Schema or a Pydantic model"),
    "impossible": (obj(a={"not": {}}), "look at 'a'"),
    "no number": (obj(a={"type": "integer", "minimum": 3, "maximum": 2}), "look at 'a'"),
    "no whole number": (obj(a={"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 3}), "look at 'a'"),
    "no length": (obj(a=obj(b={"type": "string", "minLength": 3, "maxLength": 2})), "look at 'b'"),
    "no choice": (obj(a={"type": "string", "enum": [1, 2]}), "look at 'a'"),
    "both": (obj(a={"allOf": [{"type": "string"}, {"type": "integer"}]}), "look at 'a'"),
    "closed": ({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": False}, "look at 'a'"),
    "no items": (obj(a={"type": "array", "items": {"not": {}}, "minItems": 1}), "look at 'a'"),
}


@pytest.mark.parametrize(("schema", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_a_schema_that_nothing_can_be_asked_to_fit_is_refused_in_one_line(schema: Any, said: str) -> None:
    with pytest.raises(SchemaInvalid, match=said) as refused:
        schema_of(schema)

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_the_references_of_a_schema_are_written_out() -> None:
    schema = schema_of(list[Vendor])

    assert "$ref" not in str(schema)
    assert schema["items"]["properties"]["price"]["anyOf"] == [{"type": "number"}, {"type": "null"}]  # type: ignore[index, call-overload]
    assert checked_schema(schema) == schema


def test_a_pattern_that_takes_for_ever_is_given_up() -> None:
    assert "takes too long" in str(faults("a" * 5000 + "b", {"type": "string", "pattern": "^(a|aa)+$"}))


def test_what_is_left_out_is_null_where_that_is_allowed_and_absent_where_it_is_not() -> None:
    schema = obj(name={"type": "string"}, price={"type": ["number", "null"]}, note={"type": "string"})
    schema |= {"required": ["name", "price"], "additionalProperties": False}

    data = completed({"name": "A", "extra": 1}, schema)

    assert data == {"name": "A", "price": None, "note": None}
    assert faults(data, nullable(schema)) == []
    assert settled(data, schema) == {"name": "A", "price": None}
    assert lacking(settled(data, schema), schema, {}) == ""


def test_a_null_that_is_not_allowed_is_told_with_its_reason() -> None:
    said = lacking({"name": None}, obj(name={"type": "string"}), {"/name": "nobody says it"})

    assert said == "the data lacks /name (nobody says it)"


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
SCHEMA = checked_schema(obj(a={"type": "array", "items": obj(b={"type": "string"}, c={"type": "integer"})}))


@given(plain)
def test_any_data_is_completed_and_settled_without_an_error(data: Any) -> None:
    made = completed(data, SCHEMA)

    settled(made, SCHEMA)
    assert all(isinstance(why, str) for _, why in faults(made, nullable(SCHEMA)))
    assert list(leaves(made))
