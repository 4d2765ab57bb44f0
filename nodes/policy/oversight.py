"""How closely a human watches, and what follows when triggers fire (chapter 15.12.3, row M12).

| mode | asks | only records and tells |
|---|---|---|
| in_command | every action, every task, the plan | |
| in_the_loop | whatever fires a trigger | |
| on_the_loop | critical risk, consecutive failures | every other trigger |
"""

from collections.abc import Sequence
from typing import Literal

from state.policy import Oversight, Policy
from state.trigger import Fired, Risk, TriggerName
from state.trust import Level

Closeness = Literal["in_command", "in_the_loop", "on_the_loop"]
"""An oversight mode that is settled: `auto` has become one of these."""
Response = Literal["ask", "note", "pass"]
"""What to do: wait for a human, go on but record and tell, or just go on."""

EXCEPTIONS: frozenset[TriggerName] = frozenset({"critical", "failures"})
"""What is asked on the loop too."""

OF_LEVEL: dict[Level, Closeness] = {
    "novice": "in_command",
    "proficient": "in_the_loop",
    "expert": "on_the_loop",
}
"""Trust to mode (15.12.6)."""

EVERYTHING_WAITS = Fired(
    trigger="oversight", priority="low", reason="every step waits for a human (oversight in_command)"
)


def closeness(oversight: Oversight, level: Level) -> Closeness:
    """The mode for an agent: the policy's, or with `auto` that of its trust."""
    return OF_LEVEL[level] if oversight == "auto" else oversight


def response(found: Sequence[Fired], mode: Closeness) -> tuple[Response, list[Fired]]:
    """What the mode makes of the triggers that fired (`nodes.policy.triggers.fired`), and the reasons to show."""
    if mode == "in_command":
        return "ask", list(found) or [EVERYTHING_WAITS]
    if not found:
        return "pass", []
    if mode == "in_the_loop" or any(one.trigger in EXCEPTIONS for one in found):
        return "ask", list(found)
    return "note", list(found)


def risk_asked(risk: Risk, mode: Closeness) -> Risk:
    """The risk of a question: where every step waits for a human none is low, which silence might approve."""
    return "medium" if mode == "in_command" and risk == "low" else risk


def is_sensitive(action: str, policy: Policy) -> bool:
    """Whether an action's name contains one of the policy's sensitive words (15.12.8)."""
    name = action.lower()
    return any(word.lower() in name for word in policy.sensitive_actions)
