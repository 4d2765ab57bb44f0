"""Schemas of answers: which can be asked for, what fits one, and where null may stand in for what nobody knows.

A schema is JSON Schema (draft 2020-12). It is kept with its references written out, so that it is bounded, and a model
is shown all of it. Whoever fills it may put null in the place of any property; what the schema itself says of null is
looked at in the end (`settled`, `faults`).
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import regex  # type: ignore[import-untyped] # it has no types
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import JsonValue, TypeAdapter

from state.errors import SchemaInvalid
from state.text import Json

CHARS = 50_000
"""Of a schema as JSON, at most."""
PARTS = 1_000
"""Schemas in a schema, its references written out, at most."""
DEPTH = 24
"""Levels of them, at most."""
FAULTS = 20
"""Complaints about one reply, at most."""
PATTERN_S = 0.5
"""Seconds that one pattern may take on one text."""

Path = tuple[str | int, ...]

_NAMED = ("properties", "dependentSchemas")
_SINGLE = ("items", "contains", "additionalProperties", "not", "if", "then", "else", "propertyNames")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_REFUSED = ("patternProperties", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef")
_DROPPED = ("$defs", "definitions", "$schema", "$id", "$anchor", "$comment")
_ABOUT = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_CAMEL = regex.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def schema_of(answer: object) -> Json:
    """The schema of what an answer is to look like: one that is given, or that of a Pydantic model or any such type.

    Raises:
        SchemaInvalid: it is none, or none that can be asked for.
    """
    if isinstance(answer, Mapping):
        return checked_schema(dict(answer))
    if isinstance(answer, str):  # Pydantic would evaluate it
        raise SchemaInvalid("the answer is described by a JSON Schema or a Pydantic model, and not by a text")
    try:
        made = TypeAdapter[Any](answer).json_schema()  # type: ignore[arg-type] # it says what is none
    except Exception as error:  # noqa: BLE001 - of what is no type Pydantic raises whatever it runs into
        why = " ".join(str(error).split())[:200]
        raise SchemaInvalid(f"the answer is described by a JSON Schema or a Pydantic model ({why})") from None
    return checked_schema(made)


def checked_schema(given: object) -> Json:
    """The schema with its references written out.

    Raises:
        SchemaInvalid: it is no JSON Schema, is too large or refers to itself, or nothing can fit it.
    """
    if not isinstance(given, dict) or not given:
        raise SchemaInvalid('the schema is no JSON object that says something; give one such as {"type": "object", …}')
    try:
        size = len(json.dumps(given))
    except (TypeError, ValueError, RecursionError):
        raise SchemaInvalid("the schema is no JSON, or is nested too deeply; give a plain JSON Schema") from None
    if size > CHARS:
        raise SchemaInvalid(f"the schema has {size} characters, more than {CHARS}; ask for less at once")
    schema = _WrittenOut(given).schema
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        where = "/".join(map(str, getattr(error, "absolute_path", ()))) or "its top"
        why = str(getattr(error, "message", error))[:200]
        raise SchemaInvalid(f"the schema is no JSON Schema: at {where}, {why}") from None
    if not possible_types(schema):
        raise SchemaInvalid(f"nothing can fit the schema: look at {_impossible(schema)}")
    return schema


class _WrittenOut:
    """A schema in the place of each reference to it."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts = 0
        self.schema: Json = self._part(root, ())

    def _part(self, part: Any, above: tuple[str, ...], depth: int = 0) -> Any:
        self._parts += 1
        if self._parts > PARTS:
            raise SchemaInvalid(f"the schema has more than {PARTS} parts, references written out; ask for less at once")
        if depth > DEPTH:
            raise SchemaInvalid(f"the schema is more than {DEPTH} levels deep; make it flatter")
        if not isinstance(part, Mapping):
            return part
        if refused := [key for key in _REFUSED if key in part]:
            raise SchemaInvalid(f"`{refused[0]}` in a schema cannot be filled; name the properties")
        if isinstance(part.get("$ref"), str):
            return self._referred(part, above, depth)
        _check_pattern(part)
        made: dict[str, Any] = {}
        for key, value in part.items():
            if key in _NAMED and isinstance(value, Mapping):
                made[key] = {name: self._part(one, above, depth + 1) for name, one in value.items()}
            elif key in _SINGLE:
                made[key] = self._part(value, above, depth + 1)
            elif key in _LISTED and isinstance(value, Sequence) and not isinstance(value, str):
                made[key] = [self._part(one, above, depth + 1) for one in value]
            elif key not in _DROPPED:
                made[key] = value
        return made

    def _referred(self, part: Mapping[str, Any], above: tuple[str, ...], depth: int) -> Any:
        name = str(part["$ref"])
        if name in above:
            raise SchemaInvalid(f"the schema refers to itself ({name[:100]}); write out as many levels as are needed")
        found = self._part(self._looked_up(name), (*above, name), depth + 1)
        beside = {key: value for key, value in part.items() if key != "$ref" and key not in _DROPPED}
        if not isinstance(found, dict):
            return found
        if beside.keys() <= _ABOUT:
            return {**found, **beside}
        return {"allOf": [found], **self._part(beside, above, depth + 1)}

    def _looked_up(self, name: str) -> Any:
        found: Any = self._root
        if not name.startswith("#"):
            raise SchemaInvalid(f"the schema refers to {name[:100]!r}, outside itself; put that into its $defs")
        for step in filter(None, name[1:].split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(key)] if isinstance(found, list) else found[key]
            except (LookupError, TypeError, ValueError):
                raise SchemaInvalid(f"the schema refers to {name[:100]!r}, which is not in it") from None
        return found


def _check_pattern(part: Mapping[str, Any]) -> None:
    pattern = part.get("pattern")
    if isinstance(pattern, str):
        try:
            regex.compile(pattern)
        except regex.error as error:
            raise SchemaInvalid(f"the pattern {pattern[:80]!r} in the schema cannot be read: {error}") from None


# ------------------------------------------------------------------------------------------------------- what fits


def possible_types(schema: Any) -> frozenset[str]:
    """The types of what may fit, as far as can be told without trying; none where nothing can."""
    if not isinstance(schema, Mapping):
        return frozenset() if schema is False else _TYPES
    said = schema.get("type", list(_TYPES))
    types = frozenset([said] if isinstance(said, str) else said)
    types |= {"integer"} if "number" in types else frozenset()
    for part in schema.get("allOf", []):
        types &= possible_types(part)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            types &= frozenset[str]().union(*map(possible_types, schema[key]))
    denied = schema.get("not")
    if denied is True or denied == {}:
        return frozenset()
    if isinstance(denied, Mapping) and denied.keys() == {"type"}:
        types -= possible_types(denied)
    types = frozenset(one for one in types if _has_room(schema, one))
    named = [schema["const"]] if "const" in schema else schema.get("enum")
    if named is None:
        return types
    plain = _Checked({key: value for key, value in schema.items() if key not in ("enum", "const")})
    return types & frozenset[str]().union(*(_types_of(one) for one in named if plain.is_valid(one)))


def _has_room(schema: Mapping[str, Any], kind: str) -> bool:
    """Whether the limits that are set for a type leave room for anything of it."""
    match kind:
        case "number" | "integer":
            return _is_room_for_number(schema, is_whole=kind == "integer")
        case "string":
            return bool(schema.get("minLength", 0) <= schema.get("maxLength", math.inf))
        case "array":
            least = schema.get("minItems", 0)
            is_filled = least <= len(schema.get("prefixItems", [])) or bool(possible_types(schema.get("items", True)))
            return bool(least <= schema.get("maxItems", math.inf)) and is_filled
        case "object":
            others, own = schema.get("additionalProperties", True), schema.get("properties", {})
            needed = schema.get("required", [])
            most = schema.get("maxProperties", math.inf)
            is_filled = all(possible_types(own.get(name, others)) for name in needed)
            return bool(max(schema.get("minProperties", 0), len(needed)) <= most) and is_filled
    return True


def _is_room_for_number(schema: Mapping[str, Any], *, is_whole: bool) -> bool:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    under, over = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    if low > high or under >= over or low >= over or under >= high:
        return False
    if not is_whole or -math.inf in (least := max(low, under), -(most := min(high, over))):
        return True
    first = math.floor(least) + 1 if least == under else math.ceil(least)
    return bool(first < most if most == over else first <= most)


def _types_of(value: JsonValue) -> frozenset[str]:
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number", "integer"} if value.is_integer() else {"number"})
        case str():
            return frozenset({"string"})
        case list():
            return frozenset({"array"})
    return frozenset({"object"})


def _impossible(schema: Mapping[str, Any]) -> str:
    """The innermost property that nothing can fit."""
    for name in schema.get("required", []):
        part = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
        if not possible_types(part):
            inner = _impossible(part) if isinstance(part, Mapping) else ""
            return f"{name!r}" if inner in ("", "its top") else inner
    return "its top"


def nullable(schema: Any) -> Any:
    """The schema as it is filled: each property has to be there, and may be null where it is not known."""
    if not isinstance(schema, Mapping):
        return schema
    made = dict(schema)
    if isinstance(properties := schema.get("properties"), Mapping):
        made["properties"] = {name: _or_null(nullable(part)) for name, part in properties.items()}
        made["required"] = list(dict.fromkeys([*schema.get("required", []), *properties]))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            made[key] = nullable(schema[key])
    for key in ("anyOf", "allOf", "prefixItems"):
        if key in schema:
            made[key] = [nullable(part) for part in schema[key]]
    if "oneOf" in schema:  # with nulls, more than one may fit
        made["anyOf"] = [nullable(part) for part in made.pop("oneOf")]
        if "anyOf" in schema:
            made["allOf"] = [*made.get("allOf", []), {"anyOf": [nullable(part) for part in schema["anyOf"]]}]
    return made


_NULL = {"type": "null"}


def _or_null(schema: Any) -> Any:
    if "null" in possible_types(schema):
        return schema
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, str) and not {"enum", "const", "not"} & schema.keys():
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, _NULL]}


def parts_at(schema: Any, path: Sequence[str | int]) -> list[Mapping[str, Any]]:
    """The schemas that speak of a place in the data, all of those that may."""
    found = list(_with_branches(schema))
    for step in path:
        found = [deeper for part in found for one in _below(part, step) for deeper in _with_branches(one)]
    return found


def _with_branches(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        yield schema
        for key in ("anyOf", "oneOf", "allOf"):
            for part in schema.get(key, []):
                yield from _with_branches(part)


def _below(schema: Mapping[str, Any], step: str | int) -> Iterator[Any]:
    if isinstance(step, str):
        properties = schema.get("properties", {})
        yield properties[step] if step in properties else schema.get("additionalProperties", {})
    else:
        prefix = schema.get("prefixItems", [])
        yield prefix[step] if step < len(prefix) else schema.get("items", {})


def completed(data: JsonValue, schema: Any) -> JsonValue:
    """The data with null for properties that were left out, and without those that the schema does not allow."""
    if isinstance(data, list):
        items = schema.get("items", {}) if isinstance(schema, Mapping) else {}
        prefix = schema.get("prefixItems", []) if isinstance(schema, Mapping) else []
        return [completed(one, prefix[n] if n < len(prefix) else items) for n, one in enumerate(data)]
    if not isinstance(data, dict) or not isinstance(schema, Mapping):
        return data
    fitting = [part for part in _with_branches(schema) if "properties" in part]
    own: dict[str, Any] = {name: one for part in fitting for name, one in part["properties"].items()}
    is_closed = any(part.get("additionalProperties") is False for part in fitting) and "additionalProperties" in schema
    missing = [name for name in schema.get("properties", {}) if name not in data]
    kept = {name: completed(value, own.get(name, {})) for name, value in data.items() if name in own or not is_closed}
    return {**kept, **dict.fromkeys(missing)}


def settled(data: JsonValue, schema: Any, path: Path = ()) -> JsonValue:
    """The data without the nulls of properties that may be left out, and may not be null."""
    if isinstance(data, list):
        return [settled(one, schema, (*path, number)) for number, one in enumerate(data)]
    if not isinstance(data, dict):
        return data
    needed = {name for part in parts_at(schema, path) for name in part.get("required", [])}
    return {
        name: settled(value, schema, (*path, name))
        for name, value in data.items()
        if value is not None or name in needed or _takes_null(schema, (*path, name))
    }


def _takes_null(schema: Any, path: Path) -> bool:
    parts = parts_at(schema, path)
    return any("null" in possible_types(part) for part in parts)


def leaves(data: JsonValue, path: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    """The values that have none below them, with their places: texts, numbers, nulls, and lists that are empty."""
    inner: Iterable[tuple[str | int, JsonValue]] = ()
    if isinstance(data, dict):
        inner = data.items()
    elif isinstance(data, list):
        inner = enumerate(data)
    else:
        yield path, data
        return
    if not data:
        yield path, data
    for step, value in inner:
        yield from leaves(value, (*path, step))


def with_null(data: JsonValue, path: Path) -> tuple[JsonValue, Path | None]:
    """The data with null in the place of the innermost property around `path`, and which that is; None if none is."""
    names = [number for number, step in enumerate(path) if isinstance(step, str)]
    if not names:
        return None, None
    place = path[: names[-1] + 1]
    return _replaced(data, place), place


def _replaced(data: JsonValue, path: Path) -> JsonValue:
    if not path:
        return None
    first, rest = path[0], path[1:]
    if isinstance(data, dict) and isinstance(first, str):
        return {**data, first: _replaced(data.get(first), rest)}
    if isinstance(data, list) and isinstance(first, int) and first < len(data):
        return [_replaced(one, rest) if number == first else one for number, one in enumerate(data)]
    return data


def words_of(path: Path) -> str:
    """What a place in the data is about, by the names on the way: `vendors price` for `/vendors/0/price`."""
    return " ".join(_CAMEL.sub(" ", step).replace("_", " ").replace("-", " ") for step in path if isinstance(step, str))


def fields_of(schema: Any, path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The properties that a schema asks for, nested ones too, each with its own schema; a list has `0` in its path."""
    for part in _with_branches(schema):
        for name, one in part.get("properties", {}).items():
            yield (*path, name), one if isinstance(one, Mapping) else {}
            yield from fields_of(one, (*path, name))
        if isinstance(part.get("items"), Mapping):
            yield from fields_of(part["items"], (*path, 0))


def pointer(path: Path) -> str:
    """A place in the data, as RFC 6901 writes it."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


# ---------------------------------------------------------------------------------------------------------- faults

_formats = FormatChecker()
"""What the library can check by itself, and moments."""


@_formats.checks("date-time", raises=ValueError)  # type: ignore[untyped-decorator] # the library's
def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or bool(datetime.fromisoformat(value))


def _pattern(validator: Validator, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ARG001
    """The keyword `pattern`, for patterns that others have written: bounded in time."""
    if not validator.is_type(instance, "string"):
        return
    try:
        if not regex.search(pattern, instance, timeout=PATTERN_S):
            yield ValidationError(f"{instance[:80]!r} does not match {pattern[:80]!r}")
    except TimeoutError:
        yield ValidationError(f"the pattern {pattern[:80]!r} takes too long")


_Checked: Any = extend(Draft202012Validator, {"pattern": _pattern})


def faults(data: JsonValue, schema: Any) -> list[tuple[Path, str]]:
    """What of the data does not fit the schema, with its place; at most `FAULTS` of them."""
    found: list[tuple[Path, str]] = []
    for error in _Checked(schema, format_checker=_formats).iter_errors(data):
        told = _innermost(error)
        found.append((tuple(told.absolute_path), told.message[:200]))
        if len(found) == FAULTS:
            break
    return found


def lacking(data: JsonValue, schema: Json | None, reasons: Mapping[str, str]) -> str:
    """What data lacks of what its schema requires, in one line; empty where it fits. `reasons`: by JSON pointer."""
    if schema is None or not (wrong := faults(data, schema)):
        return ""
    places = dict.fromkeys(pointer(path) for path, _ in wrong)
    told = [f"{place or 'all of it'} ({reasons.get(place) or wrong[0][1]})" for place in places]
    return f"the data lacks {', '.join(told[:3])}" + (f" and {len(told) - 3} more" if len(told) > 3 else "")


def _innermost(error: ValidationError) -> ValidationError:
    """What is wrong with the one that is not null, of something that may be null."""
    while error.validator == "anyOf" and error.context:
        real = [one for one in error.context if one.schema_path[0] == 0]
        if len(error.validator_value) != 2 or error.validator_value[1] != _NULL or len(real) != 1:
            break
        [error] = real
    return error
