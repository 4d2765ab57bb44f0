"""Reading a human's answer, whatever page or program it came from, and fitting edited arguments to a tool's schema.

Agent Chat UI sends `{"decisions": [...]}` by position; Agent Inbox a list for the first action, with values as strings;
Studio whatever a person typed; code a mapping by approval id. What cannot be read stays open, with the reason. A page
with a form sends every value as a string: what the schema does not take as a string is read as what it does take, `"3"`
as 3, `"true"` as true, `"[1, 2]"` or `"a, b"` as a list.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import JsonValue

from nodes.policy.plans import parse_plan
from nodes.policy.shown import FREE, args_of, is_called, read_args
from state.approval import POLICY, Answer, Approval, Decision
from state.errors import PlanInvalid
from state.text import Json, counted

RESUME = "resume"
"""The door of what comes by LangGraph's own resume."""
_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")
WORDS: dict[str, Answer] = {
    **dict.fromkeys(("approve", "approved", "accept", "accepted", *_YES, "ok", "okay", "go"), "approve"),
    **dict.fromkeys(("reject", "rejected", "deny", "denied", "ignore", *_NO, "response"), "reject"),
    **dict.fromkeys(("edit", "edited", "modify", "change"), "edit"),
}
"""What people and pages say, in small letters, and what it means."""
_NOT_TYPED = frozenset({"response", "ignore", "true", "false", "go", "y", "n"})
"""What programs say, or is too short or too common to be an answer in a conversation."""
_BOOLEANS = {**dict.fromkeys((*_YES, "on"), True), **dict.fromkeys((*_NO, "off"), False)}


def read_answers(
    raw: JsonValue, open_approvals: Sequence[Approval], by: str = "human", door: str = RESUME
) -> tuple[dict[str, Decision], list[str]]:
    """The decisions in `raw`, by approval id, and what could not be read, in words.

    `by` and `door` are who decided and which way it came, where the answer itself does not say.
    """
    if isinstance(raw, str):
        raw = _unwrapped(raw)
    pairs, problems = _pairs(raw, open_approvals)
    decisions: dict[str, Decision] = {}
    for approval, answer in pairs:
        decision, problem = _decision(_free(answer) if approval.takes_anything else answer, by, approval)
        if decision:
            decision, problem = checked(decision, approval)
        if decision:
            decisions[approval.id] = decision.model_copy(update={"door": _door(answer) or door})
        else:
            problems.append(f"{approval.id}: {problem}")
    return decisions, problems


def _free(answer: JsonValue) -> JsonValue:
    """An answer to a free question: what is neither yes nor no is the answer itself."""
    said = answer.get("args") if isinstance(answer, dict) and answer.get("type") == "response" else answer
    if isinstance(said, str) and said.strip() and said.strip(":,.! ").lower() not in WORDS:
        return {"type": "edit", "args": {FREE: said}}
    if said is not answer and said not in (None, ""):
        return {"type": "edit", "args": {FREE: said}}
    return answer


def _door(answer: JsonValue) -> str:
    """The way an answer came, where whoever passes it on says so."""
    said = answer.get("door") if isinstance(answer, dict) else None
    return said if isinstance(said, str) else ""


def already_answered(approval_id: str, first: Decision) -> str:
    """What is told to whoever answers a question that somebody has answered."""
    return f"{approval_id} was answered before: {first.by} said {first.type}; the first answer stands"


def checked(decision: Decision, approval: Approval) -> tuple[Decision | None, str]:
    """The decision with its arguments as they are to be used, or what is wrong with them."""
    if decision.type != "edit" or decision.args is None:
        return decision, ""
    if approval.takes_anything and decision.args in ({}, {FREE: ""}, {**approval.args, FREE: ""}):
        return None, "the answer is empty"
    args, problem = checked_edit(decision.args, approval)
    if problem:
        return None, f"the new arguments cannot be used: {problem}"
    return decision.model_copy(update={"args": args}), ""


_TYPED = re.compile(r"(\w+)\s*(?:[,.:;!–—-]+\s*(.*)|\s(because\b.*))?", re.DOTALL)


def typed_answer(text: str) -> Json | None:
    """The answer that a message typed into a conversation is, if it is one: a bare yes, or a no with its reason.

    A no without a comma in between may be the beginning of any sentence: “no need to hurry” is a note.
    """
    found = _TYPED.fullmatch(text.strip())
    word, reason = (found[1].lower(), (found[2] or found[3] or "").strip()) if found else ("", "")
    kind = WORDS.get(word) if word not in _NOT_TYPED else None
    if kind == "approve" and not reason:
        return {"type": kind}
    return {"type": kind, "message": reason} if kind == "reject" else None


def _unwrapped(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _pairs(raw: JsonValue, approvals: Sequence[Approval]) -> tuple[list[tuple[Approval, JsonValue]], list[str]]:
    """Which answer belongs to which question."""
    if isinstance(raw, dict) and isinstance(raw.get("decisions"), list):
        raw = raw["decisions"]
    if isinstance(raw, list):
        if len(raw) > len(approvals):  # some were decided since: by position, the rest would answer others
            given, still = counted(len(raw), "answer"), counted(len(approvals), "open question")
            return [], [f"{given}, but {still}: look again, or answer by id"]
        return list(zip(approvals, raw, strict=False)), []
    if raw == {}:
        return [], ["{} says nothing; say approve, reject or edit"]
    if isinstance(raw, dict) and "type" not in raw and "approved" not in raw:
        by_id = {approval.id: approval for approval in approvals}
        unknown = [f"no open question is called {key!r}" for key in raw if key not in by_id]
        return [(by_id[key], value) for key, value in raw.items() if key in by_id], unknown
    if len(approvals) > 1 and not isinstance(raw, bool | str):
        return [], [f"{len(approvals)} questions are open: answer by id, or with one decision for each"]
    return [(approval, raw) for approval in approvals], []


def _decision(answer: JsonValue, by: str, approval: Approval) -> tuple[Decision | None, str]:
    if isinstance(answer, bool):
        answer = "approve" if answer else "reject"
    if isinstance(answer, str):
        answer = _spoken(answer)
    if not isinstance(answer, dict):
        return None, f"{json.dumps(answer)} is not an answer; say approve, reject or edit"
    if "type" not in answer and isinstance(answer.get("approved"), bool):
        answer = {**answer, "type": "approve" if answer["approved"] else "reject"}
    if answer.get("type") == "response" and (typed := typed_answer(_message({"args": answer.get("args")}))):
        answer = {**answer, "args": None, **typed}
    kind = WORDS.get(str(answer.get("type", "")).lower())
    if kind is None:
        return None, f"{str(answer.get('type'))[:80]!r} is not an answer; say approve, reject or edit"
    if isinstance(answer.get("approved"), bool) and answer["approved"] != (kind != "reject"):
        return None, "it says both yes and no"
    message = _message(answer)
    who = str(answer.get("by") or answer.get("approver") or by or "human")
    who = "human" if who == POLICY else who  # that name is the policy's own
    args, tool = _edited(answer)
    if tool and not is_called(tool, approval):
        return None, f"it names {tool[:80]!r}, but {approval.action!r} is asked about: only its arguments can change"
    if (
        kind == "approve"
        and args not in (None, args_of(approval))
        and checked_edit(args or {}, approval)[0] != approval.args
    ):
        return None, "an approval takes no other arguments; say edit"
    if kind != "edit":
        return Decision(type=kind, message=message, by=who), ""
    if args is None:
        return None, 'an edit needs the new arguments: {"type": "edit", "args": {...}}'
    return Decision(type="edit", args=args, message=message, by=who), ""


def _spoken(text: str) -> dict[str, JsonValue]:
    """What somebody has typed. A no may come with a message; a yes stands alone: “ok wait, not yet” is none."""
    word, _, message = text.strip().partition(" ")
    kind = word.strip(":,.!").lower()
    if message.strip() and WORDS.get(kind) == "approve":
        return {"type": text.strip()}
    return {"type": kind, "message": message.strip()}


def _message(answer: dict[str, JsonValue]) -> str:
    for key in ("message", "comment", "feedback", "args"):
        value = answer.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _edited(answer: dict[str, JsonValue]) -> tuple[dict[str, JsonValue] | None, str]:
    """The new arguments, in any of the dialects, and the tool that they are said to be for, if one is named."""
    holder = answer.get("edited_action")
    args, tool = (holder.get("args"), holder.get("name")) if isinstance(holder, dict) else (answer.get("args"), None)
    if isinstance(args, dict) and isinstance(args.get("args"), dict) and "action" in args:
        tool, args = args["action"], args["args"]
    return args if isinstance(args, dict) else None, tool if isinstance(tool, str) else ""


def checked_edit(args: Json, approval: Approval) -> tuple[Json, str]:
    """The arguments as they are to be used, and what is wrong with them, in words; empty when they can be.

    What the tool requires and the edit leaves out stays as it was asked: nobody has to type a whole report again.
    """
    if "edit" not in approval.choices:
        return args, f"{approval.action} is called by code that does not take others: approve or reject it"
    if not args:
        return args, "they are empty; give those that change"
    if approval.subject == "plan":
        return _checked_plan(args, approval)
    args = read_args(args, approval)
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


def _checked_plan(args: Json, approval: Approval) -> tuple[Json, str]:
    try:
        read = read_args(args, approval)
        parse_plan(read)
    except PlanInvalid as error:
        return args, str(error)
    return read, ""


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
    if "boolean" in types and bare.lower() in _BOOLEANS:
        return _BOOLEANS[bare.lower()]
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


GO_ON: Json = {"type": "resume"}
"""What lets a run go on that is paused or in a human's hands, as programs send it."""
_GO_ON = frozenset({"resume", "continue", "go on", "go_on", "proceed"})


def is_go_on(said: JsonValue) -> bool:
    """Whether an answer says that the run is to go on: `GO_ON`, or one of its words. A bare yes may mean a question."""
    word = said.get("type") if isinstance(said, dict) else said
    return isinstance(word, str) and word.strip(".! ").lower() in _GO_ON


LOOK_AT_SIGNALS: Json = {"type": "look"}
"""What a door resumes a waiting run with when there are signals to look at: it answers nothing by itself."""
