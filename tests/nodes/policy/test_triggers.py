"""What calls a human: each trigger at its boundary, their priorities, and what each mode makes of them."""

import ast
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.oversight import (
    EVERYTHING_WAITS,
    TRIGGERS,
    Closeness,
    Response,
    effective_oversight,
    fired,
    is_sensitive,
    response,
)
from state.approval import PRIORITIES, TriggerInput, TriggerName
from state.policy import Oversight, Policy
from state.trust import Level
from tests.house.tracked import modules, parsed

EVERYTHING = TriggerInput(
    action="publish", risk="critical", cost=2, confidence=0.1, failures_in_a_row=3, overdue_s=9, misfit="no tool"
)


def names(signs: TriggerInput, **policy: Any) -> list[TriggerName]:
    return [one.trigger for one in fired(signs, Policy(**policy))]


@pytest.mark.parametrize(
    ("action", "asks"),
    [("publish", True), ("Delete_File", True), ("resend mail", True), ("search", False), ("write", False)],
)
def test_an_action_is_sensitive_by_the_words_in_its_name(action: str, asks: bool) -> None:
    assert is_sensitive(action, Policy()) is asks


def test_the_sensitive_words_are_the_policys() -> None:
    assert is_sensitive("search", Policy(sensitive_actions=["SEARCH"]))
    assert not is_sensitive("publish", Policy(sensitive_actions=[]))


@pytest.mark.parametrize(
    ("signs", "policy", "reason"),
    [
        ({}, {}, ""),
        ({"action": "publish"}, {}, "sensitive operation requires approval: publish"),
        ({"action": "launch", "is_marked": True}, {}, "sensitive operation requires approval: launch"),
        ({"risk": "critical"}, {}, "critical actions are never done without a human"),
        ({"risk": "high"}, {}, ""),
        ({"cost": 1.0}, {}, ""),
        ({"cost": 1.01}, {}, "cost exceeds limit: $1.01 > $1.00"),
        ({"cost": 0.5}, {"cost_limit": 0.4}, "cost exceeds limit: $0.50 > $0.40"),
        ({"confidence": 0.6}, {}, ""),
        ({"confidence": 0.59}, {}, "confidence too low: 0.59 < 0.60"),
        ({"confidence": 0.8}, {"confidence_threshold": 0.9}, "confidence too low: 0.80 < 0.90"),
        ({"failures_in_a_row": 2}, {}, ""),
        ({"failures_in_a_row": 3}, {}, "consecutive failures: 3 (limit 3)"),
        ({"failures_in_a_row": 1}, {"consecutive_failures": 1}, "consecutive failures: 1 (limit 1)"),
        ({"overdue_s": 30}, {}, "no decision within 30 seconds"),
        ({"misfit": "no tool of ada can do 'fly'"}, {}, "out of scope: no tool of ada can do 'fly'"),
    ],
)
def test_a_trigger_fires_at_its_boundary_and_says_why(signs: Any, policy: Any, reason: str) -> None:
    found = fired(TriggerInput(**signs), Policy(**policy))

    assert [one.reason for one in found] == ([reason] if reason else [])


def test_all_that_fire_are_told_the_highest_first() -> None:
    found = fired(EVERYTHING, Policy())

    assert [(one.trigger, one.priority) for one in found] == [
        ("critical", "highest"),
        ("sensitive", "highest"),
        ("cost", "high"),
        ("confidence", "medium"),
        ("failures", "medium"),
        ("timeout", "medium"),
        ("scope", "low"),
    ]


def test_every_name_of_a_trigger_is_listed_with_what_fires_it() -> None:
    assert {*TRIGGERS, EVERYTHING_WAITS.trigger} == set(get_args(TriggerName))
    assert {
        name: [one.trigger for one in fired(EVERYTHING, Policy(), {name: TRIGGERS[name]})] for name in TRIGGERS
    } == {name: [name] for name in TRIGGERS}


@given(st.permutations(list(TRIGGERS.items())))
def test_triggers_compose_in_any_order(order: Any) -> None:
    found = fired(EVERYTHING, Policy(), dict(order))

    assert {one.trigger for one in found} == set(names(EVERYTHING))
    places = [PRIORITIES.index(one.priority) for one in found]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("mode", "signs", "what"),
    [
        ("in_command", {}, "ask"),
        ("in_command", {"action": "publish"}, "ask"),
        ("in_the_loop", {}, "pass"),
        ("in_the_loop", {"risk": "high"}, "pass"),
        ("in_the_loop", {"action": "publish"}, "ask"),
        ("in_the_loop", {"cost": 1.5}, "ask"),
        ("in_the_loop", {"confidence": 0.1}, "ask"),
        ("in_the_loop", {"failures_in_a_row": 3}, "ask"),
        ("in_the_loop", {"overdue_s": 9}, "ask"),
        ("in_the_loop", {"misfit": "no tool"}, "ask"),
        ("in_the_loop", {"risk": "critical"}, "ask"),
        ("on_the_loop", {}, "pass"),
        ("on_the_loop", {"action": "publish"}, "note"),
        ("on_the_loop", {"cost": 1.5}, "note"),
        ("on_the_loop", {"confidence": 0.1}, "note"),
        ("on_the_loop", {"overdue_s": 9}, "note"),
        ("on_the_loop", {"misfit": "no tool"}, "note"),
        ("on_the_loop", {"failures_in_a_row": 3}, "ask"),
        ("on_the_loop", {"risk": "critical"}, "ask"),
    ],
)
def test_the_mode_decides_what_follows(mode: Closeness, signs: Any, what: Response) -> None:
    made, why = response(fired(TriggerInput(**signs), Policy()), mode)

    assert made == what
    assert bool(why) is (what != "pass")


@pytest.mark.parametrize(
    ("oversight", "level", "mode"),
    [
        ("auto", "novice", "in_command"),
        ("auto", "proficient", "in_the_loop"),
        ("auto", "expert", "on_the_loop"),
        ("in_the_loop", "novice", "in_the_loop"),
        ("on_the_loop", "novice", "on_the_loop"),
        ("in_command", "expert", "in_command"),
    ],
)
def test_auto_takes_the_mode_from_trust_and_nothing_else_does(
    oversight: Oversight, level: Level, mode: Closeness
) -> None:
    assert effective_oversight(oversight, level) == mode


def test_every_sign_that_triggers_look_at_is_told_by_somebody() -> None:
    calls = (node for path in modules() for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))
    told = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "TriggerInput"]
    assert {keyword.arg for call in told for keyword in call.keywords} == TriggerInput.model_fields.keys()
