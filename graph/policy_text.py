"""A policy as people write it: fields from a file, from `key=value`, and the list of all there are."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue

from state.errors import PolicyInvalid
from state.policy import Policy, merged_policy
from state.text import Json

_TIME = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_SECONDS = (86_400.0, 3_600.0, 60.0, 1.0)
IN_SECONDS = frozenset(name for name in Policy.model_fields if name.endswith(("_s", "_seconds")))
"""Fields that are times, as their names say; `1h30m` may be written for them."""


@dataclass(frozen=True)
class Field:
    """One field of the policy."""

    name: str
    kind: str
    """What may be given, in words."""
    default: JsonValue
    effect: str


def fields() -> list[Field]:
    """All fields, in their order, from the model itself."""
    defaults, schema = Policy().model_dump(mode="json"), Policy.model_json_schema()
    return [
        Field(name, _kind(schema["properties"][name], schema["$defs"]), defaults[name], _effect(info.description))
        for name, info in Policy.model_fields.items()
    ]


def _effect(description: str | None) -> str:
    return " ".join((description or "").split())


def _kind(schema: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """What may be given, in words: `a whole number from 1 to 20`, `high, low`, `nothing`."""
    match schema:
        case {"$ref": str(place)}:
            return _kind(known[place.rpartition("/")[2]], known)
        case {"anyOf": list(ways)}:
            return ", or ".join(_kind(way, known) for way in ways)
        case {"enum": list(values)}:
            return ", ".join(map(str, values))
        case {"type": "array", "items": items}:
            return f"a list, each {_kind(items, known)}"
        case {"type": "object", "properties": properties}:
            return " and ".join(f"`{name}`: {_kind(one, known)}" for name, one in properties.items())
        case {"type": "object", "additionalProperties": value}:
            keys = _kind(schema["propertyNames"], known) if "propertyNames" in schema else "name"
            return f"by {keys}: {_kind(value, known)}"
        case {"type": ("integer" | "number") as kind}:
            return f"a {'whole number' if kind == 'integer' else 'number'}{_bounds(schema)}"
        case {"type": "string"}:
            return "text"
    return "nothing"


def _bounds(schema: Mapping[str, Any]) -> str:
    said = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
    return "".join(f" {word} {schema[key]:,}" for key, word in said.items() if key in schema)


def read_policy(path: Path, name: str = "--policy") -> Json:
    """The fields in a file, YAML or JSON, checked one by one; `name` stands in errors.

    Raises:
        PolicyInvalid: it cannot be read, or has no fields, or a field that is unknown or out of range.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PolicyInvalid(f"{name}, {path}, cannot be read: {_why(error)}") from error
    if not isinstance(given, dict):
        raise PolicyInvalid(f"{name}, {path}, has no policy fields; write `oversight: in_command`")
    return checked(given)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or " ".join(str(error).split())


def set_fields(pairs: Iterable[str]) -> Json:
    """Fields from `key=value`; `key.part=value` for one part of a field that has parts, times also as `1h30m`.

    Raises:
        PolicyInvalid: no `=`, or a field that is unknown or out of range.
    """
    made: Json = {}
    for pair in pairs:
        key, is_set, text = pair.partition("=")
        name, _, part = key.strip().partition(".")
        if not is_set or not name:
            raise PolicyInvalid(
                f"--set {pair[:60]!r} sets nothing; write --set max_attempts=2 (`baton policy` lists them)"
            )
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise PolicyInvalid(
                f"--set {name}: {text[:60]!r} cannot be read: {' '.join(str(error).split())}"
            ) from error
        value = _timed(value) if name in IN_SECONDS else value
        before = made.get(name)
        made[name] = {**(before if isinstance(before, dict) else {}), part: value} if part else value
    return checked(made)


def checked(given: Mapping[str, Any]) -> Json:
    """The fields, if a policy can have them.

    Raises:
        PolicyInvalid: names what is unknown or out of range, and where all fields are listed.
    """
    if unknown := sorted(str(name) for name in given if name not in Policy.model_fields):
        raise PolicyInvalid(f"there is no policy field {', '.join(map(repr, unknown))}; `baton policy` lists them all")
    merged_policy(Policy(), dict(given))
    return dict(given)


def _timed(value: Any) -> Any:
    """Seconds, where a time was written as people do; anything else as it is, for the policy to judge."""
    if isinstance(value, dict):
        return {key: _timed(one) for key, one in value.items()}
    found = _TIME.fullmatch(value.replace(" ", "")) if isinstance(value, str) and value else None
    if found is None or not any(found.groups()):
        return value
    return sum(float(part) * unit for part, unit in zip(found.groups(), _SECONDS, strict=True) if part)
