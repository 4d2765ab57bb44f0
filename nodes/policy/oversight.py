"""Whether a human is asked: triggers, the oversight mode, the risk (chapter 15.12.2, 15.12.3, row M12).

| mode | asks | only records and notifies |
|---|---|---|
| in_command | every action, every task, the plan | |
| in_the_loop | whatever fires a trigger | |
| on_the_loop | critical risk, consecutive failures | every other trigger |

A trigger is a pure function of its input and the policy, and returns what it found or None. Triggers know nothing of
each other, and of no mode. To add one, write a function, name it in `TriggerName`, and list it in `TRIGGERS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from state.approval import PRIORITIES, Approval, FiredTrigger, Priority, Risk, TriggerInput, TriggerName
from state.policy import Oversight, Policy
from state.trust import Level

Closeness = Literal["in_command", "in_the_loop", "on_the_loop"]
"""An oversight mode that is settled: `auto` has become one of these."""
Response = Literal["ask", "note", "pass"]
"""What to do: wait for a human, go on but record and tell, or just go on."""

OF_LEVEL: dict[Level, Closeness] = {
    "novice": "in_command",
    "proficient": "in_the_loop",
    "expert": "on_the_loop",
}
"""Trust to mode (15.12.6)."""

EVERYTHING_WAITS = FiredTrigger(
    trigger="oversight", priority="low", reason="every step waits for a human (oversight in_command)"
)


def effective_oversight(oversight: Oversight, level: Level) -> Closeness:
    """The mode for an agent: the policy's, or with `auto` that of its trust."""
    return OF_LEVEL[level] if oversight == "auto" else oversight


def response(found: Sequence[FiredTrigger], mode: Closeness) -> tuple[Response, list[FiredTrigger]]:
    """What the mode makes of the triggers that fired (`nodes.policy.oversight.fired`), and the reasons to show."""
    if mode == "in_command":
        return "ask", list(found) or [EVERYTHING_WAITS]
    if not found:
        return "pass", []
    if mode == "in_the_loop" or any(TRIGGERS[one.trigger].is_asked_on_the_loop for one in found):
        return "ask", list(found)
    return "note", list(found)


def ask_about(question: Approval, found: Sequence[FiredTrigger], mode: Closeness) -> Approval:
    """The question with why it is asked: every trigger that fired, its priority, and its risk as the mode sees it."""
    said = [question.reason] if question.reason else []
    return question.model_copy(
        update={
            "risk": risk_asked(question.risk, mode),
            "priority": highest(found),
            "triggers": list(found),
            "reason": "; ".join([*said, *(one.reason for one in found)]),
        }
    )


def risk_asked(risk: Risk, mode: Closeness) -> Risk:
    """The risk of a question: where every step waits for a human none is low, which silence might approve."""
    return "medium" if mode == "in_command" and risk == "low" else risk


def is_sensitive(action: str, policy: Policy) -> bool:
    """Whether an action's name contains one of the policy's sensitive words (15.12.8)."""
    name = action.lower()
    return any(word.lower() in name for word in policy.sensitive_actions)


@dataclass(frozen=True, slots=True)
class Trigger:
    """One thing that calls a human."""

    check: Callable[[TriggerInput, Policy], FiredTrigger | None]
    risk: Risk = "medium"
    """Of a question about a result for which it fired first. A low one may pass when nobody answers."""
    is_asked_on_the_loop: bool = False
    """Whether a human is waited for where others are only recorded and told."""


def critical(signs: TriggerInput, policy: Policy) -> FiredTrigger | None:  # noqa: ARG001 - no policy switches it off
    """Critical risk: no mode goes without a human (row M12)."""
    if signs.risk != "critical":
        return None
    return FiredTrigger(
        trigger="critical", priority="highest", reason="critical actions are never done without a human"
    )


def sensitive(signs: TriggerInput, policy: Policy) -> FiredTrigger | None:
    """Irreversible: the tool says so, or its name contains one of the policy's words (15.12.8)."""
    if not signs.is_marked and not is_sensitive(signs.action, policy):
        return None
    reason = f"sensitive operation requires approval: {signs.action}"
    return FiredTrigger(trigger="sensitive", priority="highest", reason=reason)


def cost(signs: TriggerInput, policy: Policy) -> FiredTrigger | None:
    """A single action that costs more than the limit."""
    if signs.cost <= policy.cost_limit:
        return None
    return FiredTrigger(
        trigger="cost", priority="high", reason=f"cost exceeds limit: ${signs.cost:.2f} > ${policy.cost_limit:.2f}"
    )


def confidence(signs: TriggerInput, policy: Policy) -> FiredTrigger | None:
    """The agent itself is uncertain."""
    if signs.confidence is None or signs.confidence >= policy.confidence_threshold:
        return None
    reason = f"confidence too low: {signs.confidence:.2f} < {policy.confidence_threshold:.2f}"
    return FiredTrigger(trigger="confidence", priority="medium", reason=reason)


def failures(signs: TriggerInput, policy: Policy) -> FiredTrigger | None:
    """The agent may be stuck."""
    if signs.failures_in_a_row < policy.consecutive_failures:
        return None
    return FiredTrigger(
        trigger="failures",
        priority="medium",
        reason=f"consecutive failures: {signs.failures_in_a_row} (limit {policy.consecutive_failures})",
    )


def timeout(signs: TriggerInput, policy: Policy) -> FiredTrigger | None:  # noqa: ARG001 - the limit is in the signs: it is the agent's
    """The agent came to no decision in the time it had."""
    if signs.overdue_s is None:
        return None
    return FiredTrigger(trigger="timeout", priority="medium", reason=f"no decision within {signs.overdue_s:g} seconds")


def scope(signs: TriggerInput, policy: Policy) -> FiredTrigger | None:  # noqa: ARG001 - what fits is decided where it is known
    """No tool or agent fits."""
    return (
        FiredTrigger(trigger="scope", priority="low", reason=f"out of scope: {signs.misfit}") if signs.misfit else None
    )


TRIGGERS: Mapping[TriggerName, Trigger] = {
    "critical": Trigger(critical, is_asked_on_the_loop=True),
    "sensitive": Trigger(sensitive),
    "cost": Trigger(cost, risk="high"),
    "confidence": Trigger(confidence, risk="low"),
    "failures": Trigger(failures, is_asked_on_the_loop=True),
    "timeout": Trigger(timeout),
    "scope": Trigger(scope),
}
"""All that can fire; `oversight`, the one reason besides, is the mode's own (`EVERYTHING_WAITS`)."""


def fired(
    signs: TriggerInput, policy: Policy, triggers: Mapping[TriggerName, Trigger] = TRIGGERS
) -> list[FiredTrigger]:
    """Every trigger that fires, highest priority first; among equals in the order of `triggers`."""
    found = [made for trigger in triggers.values() if (made := trigger.check(signs, policy))]
    return sorted(found, key=lambda one: PRIORITIES.index(one.priority))


def highest(found: Sequence[FiredTrigger]) -> Priority:
    """The priority of a question for which these triggers fired."""
    return found[0].priority if found else "low"
