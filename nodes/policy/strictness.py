"""A client's policy on a server: it may only be stricter than the server's own, the floor.

What is stricter is said field by field, in `STRICTER`: what lets less be done without a human, or at all. Where neither
of two values is stricter, or nothing says which, the server's stays. `tests/nodes/policy/test_strictness.py` names a
field of `Policy` that is not in the table.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, cast, get_args

from state.approval import Risk
from state.policy import Oversight, Policy, Timeout, merged_policy
from state.text import Json

_WATCHED: tuple[Oversight, ...] = ("on_the_loop", "in_the_loop", "in_command")
_UNANSWERED: tuple[Timeout, ...] = ("approve", "escalate", "reject")
_DELEGATING = ("allowed", "needs_approval", "forbidden")
_LEARNING = ("apply", "suggest", "off")

Choose = Callable[[Any, Any], Any]
"""From the floor's value and the client's: the one that holds."""


def _keep(floor: Any, _: Any) -> Any:
    return floor


def _most(floor: Any, asked: Any) -> Any:
    return max(floor, asked)


def _least(floor: Any, asked: Any) -> Any:
    """None is no limit."""
    return min(floor, asked, key=lambda value: inf if value is None else value)


def _later_in(order: Sequence[str]) -> Choose:
    """The one that comes later; one that is not in the order is neither less nor more than another."""
    places = {value: place for place, value in enumerate(order)}

    def choose(floor: str, asked: str) -> str:
        is_last = asked == order[-1]
        return asked if is_last or places.get(asked, -1) > places.get(floor, len(order)) else floor

    return choose


def _least_of_each(floor: dict[str, float], asked: dict[str, float]) -> dict[str, float]:
    """By key; what one does not have is its `default`, where it has one."""
    keys = {**floor, **asked}
    return {key: min(_of(floor, key), _of(asked, key)) for key in keys}


def _of(values: dict[str, float], key: str) -> float:
    return values.get(key, values.get("default", inf))


def _longest(floor: float | dict[str, float], asked: float | dict[str, float]) -> float | dict[str, float]:
    """One number, or by risk."""
    if not isinstance(floor, dict) and not isinstance(asked, dict):
        return max(floor, asked)
    one, other = (given if isinstance(given, dict) else {"default": given} for given in (floor, asked))
    return {key: max(_of(one, key), _of(other, key)) for key in {**one, **other}}


def _unanswered(floor: dict[str, Timeout], asked: dict[str, Timeout]) -> dict[str, Timeout]:
    choose = _later_in(_UNANSWERED)
    keys = ("default", *get_args(Risk))
    return {key: choose(floor.get(key, floor["default"]), asked.get(key, asked["default"])) for key in keys}


def _union(floor: list[str], asked: list[str]) -> list[str]:
    return list(dict.fromkeys([*floor, *asked]))


def _common(floor: list[str] | None, asked: list[str] | None) -> list[str] | None:
    """None is any."""
    if floor is None or asked is None:
        return asked if floor is None else floor
    return [role for role in asked if role in floor]


STRICTER: dict[str, Choose] = {
    "oversight": _later_in(_WATCHED),
    "max_parallel": _least,
    "max_team_size": _least,
    "max_attempts": _least,
    "failure_threshold": _least_of_each,
    "max_iterations": _least,
    "reviewer": _keep,
    # Where the end of it approves something, see `stricter`; else it only rejects sooner or later.
    "approval_timeout_s": lambda _, asked: asked,
    "on_timeout": _unanswered,
    "on_reject": _keep,
    "confidence_threshold": _most,
    "cost_limit": _least,
    "sensitive_actions": _union,
    "consecutive_failures": _least,
    "decision_timeout_s": _least,
    "token_budget": _least,
    "max_tokens": _least_of_each,
    "call_timeout_s": _least,
    "cost_budget": _least,
    "prices": _keep,
    "max_seconds": _least,
    "recruit_roles": _common,
    "on_failed_input": _keep,
    "max_agent_iterations": _least,
    "max_delegation_depth": _least,
    "delegation": _later_in(_DELEGATING),
    "learning": _later_in(_LEARNING),
}


def stricter(floor: Policy, changes: Json | None) -> tuple[Policy, list[str]]:
    """The floor with what is stricter in the changes, and the names of the fields that were not changed as asked.

    Raises:
        PolicyInvalid: names the fields that are unknown or out of range.
    """
    asked = merged_policy(floor, changes)
    chosen = {name: STRICTER.get(name, _keep)(getattr(floor, name), getattr(asked, name)) for name in changes or {}}
    if "approval_timeout_s" in chosen and _approves(chosen.get("on_timeout", floor.on_timeout)):
        chosen["approval_timeout_s"] = _longest(floor.approval_timeout_s, asked.approval_timeout_s)
    made = merged_policy(floor, cast(Json, chosen))
    kept = [name for name in chosen if not _is_same(getattr(made, name), getattr(asked, name))]
    return made, kept


def _is_same(one: object, other: object) -> bool:
    """Whether two values mean the same; of what is said by key, the rest is the default."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one == other
    return all(one.get(key, one.get("default")) == other.get(key, other.get("default")) for key in {**one, **other})


def _approves(on_timeout: dict[str, Timeout]) -> bool:
    return "approve" in {on_timeout.get(risk, on_timeout["default"]) for risk in get_args(Risk)}
