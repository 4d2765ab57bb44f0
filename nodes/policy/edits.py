"""Whether the arguments that a human gave for an action can be used: the tool's schema decides, forms are met half-way.

A page with a form sends every value as a string. What the schema does not take as a string is read as what it does
take: `"3"` as 3, `"true"` as true, `"[1, 2]"` or `"a, b"` as a list.
"""

import json
from collections.abc import Mapping
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import JsonValue

from nodes.policy.plans import parse_plan
from state.approval import Approval
from state.errors import PlanInvalid

PLAN = "plan"
"""The action of the question whether a plan may be carried out; its arguments are the plan."""

Json = dict[str, JsonValue]
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def checked_edit(args: Json, approval: Approval) -> tuple[Json, str]:
    """The arguments as they are to be used, and what is wrong with them, in words; empty when they can be.

    What the tool requires and the edit leaves out stays as it was asked: nobody has to type a whole report again.
    """
    if "edit" not in approval.choices:
        return args, f"{approval.action} is called by code that does not take others: approve or reject it"
    if not args:
        return args, "they are empty; give those that change"
    if approval.action == PLAN and not approval.task_id:
        return args, _plan_fault(args)
    if approval.args_schema is None:
        return args, ""
    schema = _closed(approval.args_schema)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:  # a tool's own schema may be odd; the tool has the last word then
        return args, ""
    fitted = cast(Json, _fitted(_completed(args, approval, schema), schema, schema))
    errors = sorted(Draft202012Validator(schema).iter_errors(fitted), key=lambda error: list(map(str, error.path)))
    return fitted, "; ".join(_in_words(error) for error in errors[:5])


def _plan_fault(args: Json) -> str:
    try:
        parse_plan(args)
    except PlanInvalid as error:
        return str(error)
    return ""


def _completed(args: Json, approval: Approval, schema: Json) -> Json:
    required = schema.get("required")
    left_out = [str(name) for name in required if str(name) not in args] if isinstance(required, list) else []
    return {**{name: approval.args[name] for name in left_out if name in approval.args}, **args}


def _closed(schema: Mapping[str, JsonValue]) -> Json:
    """The schema, with arguments that it does not name refused: they would be dropped without a word."""
    return {"additionalProperties": False, **schema} if "properties" in schema else dict(schema)


def _in_words(error: ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    return f"{where}: {error.message}" if where else str(error.message)


def _fitted(value: JsonValue, schema: Json, root: Json) -> JsonValue:
    """`value` with every string in it that the schema does not take read as what it takes."""
    options = _options(schema, root)
    types = {name for option in options for name in _types(option)}
    if isinstance(value, str) and types and "string" not in types:
        value = _read(value, types)
    for option in options:
        if isinstance(value, dict) and "object" in _types(option):
            return {key: _fitted(item, _property(option, key), root) for key, item in value.items()}
        if isinstance(value, list) and "array" in _types(option):
            items = option.get("items")
            return [_fitted(item, items if isinstance(items, dict) else {}, root) for item in value]
    return value


def _options(schema: Json, root: Json, depth: int = 0) -> list[Json]:
    """The schemas of which a value may fit any, references followed."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and depth < 20:
        return _options(_referred(reference, root), root, depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list) and depth < 20:
        return [found for choice in choices if isinstance(choice, dict) for found in _options(choice, root, depth + 1)]
    return [schema]


def _referred(reference: str, root: Json) -> Json:
    found: JsonValue = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def _types(schema: Json) -> list[str]:
    named = schema.get("type")
    listed = named if isinstance(named, list) else [named]
    return [name for name in listed if isinstance(name, str)]


def _property(schema: Json, key: str) -> Json:
    properties = schema.get("properties")
    found = properties.get(key) if isinstance(properties, dict) else schema.get("additionalProperties")
    return found if isinstance(found, dict) else {}


def _read(text: str, types: set[str]) -> JsonValue:
    """`text` as one of `types`, or as it is where it cannot be read as any."""
    bare = text.strip()
    if "boolean" in types and bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    if "null" in types and bare.lower() in ("", "null", "none"):
        return None
    try:
        value: JsonValue = json.loads(bare)
    except (ValueError, RecursionError):
        return [part.strip() for part in bare.split(",") if part.strip()] if "array" in types else text
    return value if _is_one_of(value, types) else text


def _is_one_of(value: JsonValue, types: set[str]) -> bool:
    kinds = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
    kind = kinds.get(type(value), "string")
    return kind in types or (kind == "integer" and "number" in types)
