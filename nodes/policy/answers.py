"""Reading a human's answer, whatever page or program it came from.

Agent Chat UI sends `{"decisions": [...]}` by position; Agent Inbox a list for the first action, with values as
strings; Studio whatever a person typed; code a mapping by approval id. What cannot be read stays open, with the reason.
"""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from nodes.policy.edits import checked_edit
from state.approval import POLICY, Answer, Approval, Decision

FREE = "answer"
"""The action of a question that takes any answer, and the argument, of an edit, whose value is the answer."""

_WORDS: dict[str, Answer] = {
    **dict.fromkeys(("approve", "approved", "accept", "accepted", "yes", "y", "ok", "okay", "true", "go"), "approve"),
    **dict.fromkeys(("reject", "rejected", "deny", "denied", "ignore", "no", "n", "false", "response"), "reject"),
    **dict.fromkeys(("edit", "edited", "modify", "change"), "edit"),
}


def read_answers(
    raw: JsonValue, open_approvals: Sequence[Approval], by: str = "human", door: str = "resume"
) -> tuple[dict[str, Decision], list[str]]:
    """The decisions in `raw`, by approval id, and what could not be read, in words.

    `by` and `door` are who decided and which way it came, where the answer itself does not say.
    """
    if isinstance(raw, str):
        raw = _unwrapped(raw)
    pairs, problems = _pairs(raw, open_approvals)
    decisions: dict[str, Decision] = {}
    for approval, answer in pairs:
        decision, problem = _decision(_free(answer) if is_free(approval) else answer, by, approval.args)
        if decision:
            decision, problem = checked(decision, approval)
        if decision:
            decisions[approval.id] = decision.model_copy(update={"door": _door(answer) or door})
        else:
            problems.append(f"{approval.id}: {problem}")
    return decisions, problems


def is_free(approval: Approval) -> bool:
    """Whether the question is one of a graph that takes any answer, not only yes or no."""
    return approval.action == FREE and approval.args_schema is None


def _free(answer: JsonValue) -> JsonValue:
    """An answer to a free question: what is neither yes nor no is the answer itself."""
    said = answer.get("args") if isinstance(answer, dict) and answer.get("type") == "response" else answer
    if isinstance(said, str) and said.strip() and said.strip(":,.! ").lower() not in _WORDS:
        return {"type": "edit", "args": {FREE: said}}
    if said is not answer and said not in (None, ""):
        return {"type": "edit", "args": {FREE: said}}
    return answer


def _door(answer: JsonValue) -> str:
    """The way an answer came, where whoever passes it on says so."""
    said = answer.get("door") if isinstance(answer, dict) else None
    return said if isinstance(said, str) else ""


def came_second(approval_id: str, first: Decision) -> str:
    """What is told to whoever answers a question that somebody has answered."""
    return f"{approval_id} was answered before: {first.by} said {first.type}; the first answer stands"


def checked(decision: Decision, approval: Approval) -> tuple[Decision | None, str]:
    """The decision with its arguments as they are to be used, or what is wrong with them."""
    if decision.type != "edit" or decision.args is None:
        return decision, ""
    if is_free(approval) and not decision.args:
        return None, "the answer is empty"
    args, problem = checked_edit(decision.args, approval)
    if problem:
        return None, f"the new arguments cannot be used: {problem}"
    return decision.model_copy(update={"args": args}), ""


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
            return [], [f"{len(raw)} answers, but {len(approvals)} open questions: look again, or answer by id"]
        return list(zip(approvals, raw, strict=False)), []
    if isinstance(raw, dict) and "type" not in raw and "approved" not in raw:
        by_id = {approval.id: approval for approval in approvals}
        unknown = [f"no open question is called {key!r}" for key in raw if key not in by_id]
        return [(by_id[key], value) for key, value in raw.items() if key in by_id], unknown
    if len(approvals) > 1 and not isinstance(raw, bool | str):
        return [], [f"{len(approvals)} questions are open: answer by id, or with one decision for each"]
    return [(approval, raw) for approval in approvals], []


def _decision(answer: JsonValue, by: str, asked: dict[str, JsonValue]) -> tuple[Decision | None, str]:
    if isinstance(answer, bool):
        answer = "approve" if answer else "reject"
    if isinstance(answer, str):
        answer = _spoken(answer)
    if not isinstance(answer, dict):
        return None, f"{json.dumps(answer)} is not an answer; say approve, reject or edit"
    if "type" not in answer and isinstance(answer.get("approved"), bool):
        answer = {**answer, "type": "approve" if answer["approved"] else "reject"}
    kind = _WORDS.get(str(answer.get("type", "")).lower())
    if kind is None:
        return None, f"{str(answer.get('type'))[:80]!r} is not an answer; say approve, reject or edit"
    if isinstance(answer.get("approved"), bool) and answer["approved"] != (kind != "reject"):
        return None, "it says both yes and no"
    message = _message(answer)
    who = str(answer.get("by") or answer.get("approver") or by or "human")
    who = "human" if who == POLICY else who  # that name is the policy's own
    args = _edited(answer)
    if kind == "approve" and args is not None and args != asked:
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
    if message.strip() and _WORDS.get(kind) == "approve":
        return {"type": text.strip()}
    return {"type": kind, "message": message.strip()}


def _message(answer: dict[str, JsonValue]) -> str:
    for key in ("message", "comment", "feedback", "args"):
        value = answer.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _edited(answer: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """The new arguments, in any of the dialects."""
    holder = answer.get("edited_action", answer)
    args = holder.get("args") if isinstance(holder, dict) else None
    if isinstance(args, dict) and isinstance(args.get("args"), dict) and "action" in args:
        args = args["args"]
    return args if isinstance(args, dict) else None
