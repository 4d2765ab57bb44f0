"""What `run` reads from files or stdin: a plan, and back (`status --plan` prints one); results; a schema."""

import sys
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from nodes.policy.plans import parse_plan
from nodes.policy.schemas import checked_schema
from state.errors import BadInput, PlanInvalid, SchemaInvalid
from state.plan import Plan
from state.text import Json

STDIN = "-"
LONGEST = 10_000_000
"""Characters of a file; a plan of a thousand tasks has far fewer."""

_RESULTS: TypeAdapter[Json] = TypeAdapter(Json)


def read_plan(name: str) -> Plan:
    """The plan in a YAML or JSON file; `-` is stdin.

    Raises:
        PlanInvalid: it cannot be read, is neither YAML nor JSON, or is not a plan.
    """
    shown = "the plan on stdin" if name == STDIN else f"plan file {name}"
    try:
        return parse_plan(_read(name, shown, "tasks:"))
    except PlanInvalid as error:
        raise PlanInvalid(f"{shown}: {error}") from error
    except BadInput as error:
        raise PlanInvalid(str(error)) from error


def read_results(name: str) -> Json:
    """The results in a YAML or JSON file, by task id; `-` is stdin.

    Raises:
        BadInput: it cannot be read, is neither YAML nor JSON, or is no mapping of plain values.
    """
    shown = "the results on stdin" if name == STDIN else f"results file {name}"
    raw = _read(name, shown, "`task id: result`")
    try:
        return _RESULTS.validate_python(raw)
    except ValidationError as error:
        raise BadInput(f"{shown} is no mapping from task ids to results; write `t1: The result.`") from error


def read_schema(name: str) -> Json:
    """The JSON Schema in a JSON or YAML file; `-` is stdin.

    Raises:
        SchemaInvalid: it cannot be read, is neither YAML nor JSON, or cannot be asked for.
    """
    shown = "the schema on stdin" if name == STDIN else f"schema file {name}"
    try:
        return checked_schema(_read(name, shown, "a JSON Schema"))
    except SchemaInvalid as error:
        raise SchemaInvalid(f"{shown}: {error}") from error


def _read(name: str, shown: str, holding: str) -> object:
    """What stands in a YAML or JSON file."""
    try:
        text = sys.stdin.read(LONGEST + 1) if name == STDIN else _text(Path(name))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise BadInput(f"{shown} cannot be read: {why}; give a YAML or JSON file with {holding}") from error
    if len(text) > LONGEST:
        raise BadInput(f"{shown} has more than {LONGEST} characters; that is too much")
    try:
        return yaml.safe_load(text)
    except Exception as error:  # PyYAML raises whatever its constructors run into: `!!timestamp x`
        raise BadInput(f"{shown} is neither YAML nor JSON: {' '.join(str(error).split())}") from error


def plan_as_yaml(plan: Json) -> str:
    """A plan in the form in which one can be given, for people."""
    fields = Plan.model_validate(plan).model_dump(mode="json", exclude_defaults=True)
    text: str = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)
    return text


def _text(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(LONGEST + 1)
