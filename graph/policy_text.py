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
    """What may be given, as Python writes types."""
    default: JsonValue
    effect: str


def fields() -> list[Field]:
    """All fields, in their order, from the model itself."""
    defaults = Policy().model_dump(mode="json")
    return [
        Field(name, _kind(info.annotation), defaults[name], " ".join((info.description or "").split()))
        for name, info in Policy.model_fields.items()
    ]


def _kind(annotation: object) -> str:
    said = annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else annotation
    text = re.sub(r"(?:typing|state\.policy)\.", "", str(said))
    return re.sub(r"Literal\[([^\]]*)\]", lambda found: found[1].replace("'", "").replace(", ", " or "), text)


def read_policy(path: Path, name: str = "--policy") -> Json:
    """The fields in a file, YAML or JSON, checked one by one; `name` stands in errors.

    Raises:
        PolicyInvalid: it cannot be read, or has no fields, or a field that is unknown or out of range.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PolicyInvalid(f"{name}, {path}, cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(given, dict):
        raise PolicyInvalid(f"{name}, {path}, has no policy fields; write `oversight: in_command`")
    return checked(given)


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
