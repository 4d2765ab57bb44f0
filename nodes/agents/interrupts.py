"""Questions that come out of graphs, by LangGraph's `interrupt()`, as approvals; and the answers as graphs expect them.

Three forms are told apart: what LangChain's human-in-the-loop middleware asks (one approval for each action), what a
nested supervisor asks (its own approvals), and any other value (one approval: approve gives `True`, reject `False`,
edit the new arguments, or what stands under `answer` in them).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langgraph.types import Interrupt
from pydantic import JsonValue

from nodes.agents.invocation import Invocation
from nodes.policy.shown import FREE
from state.approval import Approval, Decision, Risk
from state.text import to_json

Decisions = Mapping[str, Decision]
ANSWER = FREE
"""The argument, of an edit, whose value alone is the answer."""


@dataclass(frozen=True)
class InterruptQuestion:
    """One interrupt of a graph, and what a human is asked for it."""

    interrupt: Interrupt
    approvals: tuple[Approval, ...]

    @property
    def is_about_tools(self) -> bool:
        """Whether LangChain's human-in-the-loop middleware asks, before it has tools called."""
        value = self.interrupt.value
        return _is_one_call(value) or (_is_middleware(value) and not is_nested(value))

    def is_answered(self, decisions: Decisions) -> bool:
        """Whether all of it can go back: a nested supervisor takes some of the answers, too."""
        if is_control(self.interrupt.value):
            return True
        known = [approval.id in decisions for approval in self.approvals]
        return any(known) if is_nested(self.interrupt.value) else all(known)

    def answer(self, decisions: Decisions, asks: str) -> object:
        """What the graph's `interrupt()` returns."""
        if is_control(self.interrupt.value):
            return "go on"
        given = [(approval, decisions[approval.id]) for approval in self.approvals if approval.id in decisions]
        if is_nested(self.interrupt.value):
            return {approval.id.removeprefix(asks): said.model_dump(mode="json") for approval, said in given}
        if _is_one_call(self.interrupt.value):
            return _to_middleware(*given[0])
        if _is_middleware(self.interrupt.value):
            return {"decisions": [_to_middleware(approval, said) for approval, said in given]}
        return _to_graph(given[0][1])


def questions_of(interrupts: Sequence[Interrupt], invocation: Invocation) -> list[InterruptQuestion]:
    """What a human is asked for the interrupts of a graph; ids are the same whenever it is looked at."""
    return [InterruptQuestion(asked, tuple(_approvals(asked, invocation))) for asked in interrupts]


def as_asked_outside(inner: Approval, invocation: Invocation) -> Approval:
    """A question of a nested supervisor, as the outer one asks it.

    Whatever it is about inside (a plan, whether a task may begin, a result), outside it is something its agent asks.
    """
    place = {
        "id": f"{invocation.question_prefix}{inner.id}",
        "task_id": invocation.brief.task.id,
        "agent": invocation.spec.name,
    }
    return inner.model_copy(
        update={**place, "subject": "action", "path": [*invocation.path, *(inner.path or [inner.agent])]}
    )


def is_nested(value: object) -> bool:
    """Whether a nested supervisor asks."""
    return isinstance(value, Mapping) and isinstance(value.get("approvals"), list) and "review_configs" in value


def is_control(value: object) -> bool:
    """Whether a nested supervisor has stopped because the outer run did: nothing is asked, it goes on with that one."""
    return isinstance(value, Mapping) and value.get("control") in ("paused", "handed_over")


def _is_middleware(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("action_requests"), list)


def _is_one_call(value: object) -> bool:
    """Whether the middleware asks about one call, in its mode `per_call`."""
    return isinstance(value, Mapping) and value.get("type") == "tool_approval"


def _approvals(asked: Interrupt, invocation: Invocation) -> list[Approval]:
    value: Any = asked.value
    if is_control(value):
        return []
    if is_nested(value):
        return [as_asked_outside(Approval.model_validate(inner), invocation) for inner in value["approvals"]]
    if _is_one_call(value):
        return [_approval(invocation, asked.id, str(value.get("name", "action")), value.get("args") or {}, value)]
    if _is_middleware(value):
        return [
            _approval(invocation, f"{asked.id}.{n}", str(one.get("name", "action")), one.get("args") or {}, one)
            for n, one in enumerate(value["action_requests"])
        ]
    shown = to_json(value)
    args = shown if isinstance(shown, dict) else {"question": shown}
    free = _approval(invocation, asked.id, "answer", args, {"description": _explained(value)})
    return [free.model_copy(update={"takes_anything": True})]


def _approval(
    invocation: Invocation, key: str, action: str, args: Mapping[str, Any], said: Mapping[str, Any]
) -> Approval:
    risk: Risk = "medium"
    return Approval(
        id=f"{invocation.question_prefix}{key}",
        task_id=invocation.brief.task.id,
        agent=invocation.spec.name,
        path=invocation.path,
        action=action,
        args=cast(dict[str, JsonValue], to_json(args)),
        risk=risk,
        reason=f"{invocation.spec.name} asks before it goes on",
        description=str(said.get("description") or f"{invocation.spec.name} asks about {action}"),
    )


def _explained(value: object) -> str:
    shown = to_json(value)
    text = shown if isinstance(shown, str) else "\n".join(f"- {key}: {item}" for key, item in _items(shown))
    return f'{text}\n\nApprove answers yes, reject no; to answer with something else, edit: {{"{ANSWER}": …}}.'


def _items(shown: JsonValue) -> list[tuple[str, JsonValue]]:
    return list(shown.items()) if isinstance(shown, dict) else [("question", shown)]


def _to_graph(said: Decision) -> object:
    if said.type == "edit" and said.args is not None:
        return said.args[ANSWER] if set(said.args) == {ANSWER} else said.args
    return said.type == "approve"


def _to_middleware(approval: Approval, said: Decision) -> dict[str, object]:
    if said.type == "edit":
        return {"type": "edit", "edited_action": {"name": approval.action, "args": said.args or {}}}
    if said.type == "reject":
        return {"type": "reject", "message": said.message or f"{said.who} did not allow this"}
    return {"type": "approve"}
