"""What a function can be called with, as JSON Schema: what an edit of its arguments has to fit.

What a parameter is comes from its annotation; where that says nothing, or not what it is called with, from the value.
"""

import inspect
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import JsonValue, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation

Json = dict[str, JsonValue]

_KINDS: dict[type, str] = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"
}  # fmt: skip


def form_of(do: Callable[..., Any], args: Json) -> Json | None:
    """JSON Schema of what `do` can be called with; None where it does not say.

    Raises:
        TypeError: it cannot be called with `args` either.
    """
    signature = _signature(do)
    if signature is None:
        return None
    signature.bind(**args)
    named = [one for one in signature.parameters.values() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    names = dict.fromkeys([*(one.name for one in named), *args])
    said = {one.name: made for one in named if (made := _adapter(one, args)) is not None}
    schemas, shared = TypeAdapter.json_schemas([(name, "validation", made) for name, made in said.items()])
    properties: Json = {name: schemas[name, "validation"] if name in said else _kind(args.get(name)) for name in names}
    required: list[JsonValue] = [one.name for one in named if one.default is one.empty]
    takes_more = len(named) < len(signature.parameters)
    closed: Json = {"properties": properties, "required": required, "additionalProperties": takes_more}
    return {"type": "object", **closed, **shared}


def _signature(do: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(do, eval_str=True)
    except ValueError:  # made in C, and does not say
        return None
    except Exception:  # noqa: BLE001 - an annotation is any expression, and one that cannot be evaluated says nothing
        return inspect.signature(do)


def _adapter(parameter: inspect.Parameter, args: Json) -> TypeAdapter[Any] | None:
    """What its annotation takes; None where it says nothing that can be told in JSON, or not what it is called with."""
    wanted = parameter.annotation
    if wanted is parameter.empty or isinstance(wanted, str):
        return None
    try:
        made: TypeAdapter[Any] = TypeAdapter(wanted)
        schema = made.json_schema()
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError):
        return None
    is_fitting = parameter.name not in args or Draft202012Validator(schema).is_valid(args[parameter.name])
    return made if schema and is_fitting else None


def _kind(value: JsonValue) -> Json:
    return {"type": _KINDS[type(value)]} if type(value) in _KINDS else {}
