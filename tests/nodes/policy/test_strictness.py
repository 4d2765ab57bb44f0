"""A client's policy holds where it is stricter than the server's, field by field; elsewhere the server's stays."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.strictness import STRICTER, stricter
from state.errors import PolicyInvalid
from state.policy import Policy, merged_policy

TIMEOUTS = dict.fromkeys(("default", "low", "medium", "high", "critical"), "reject")


def test_every_field_of_a_policy_says_what_is_stricter() -> None:
    assert STRICTER.keys() == Policy.model_fields.keys()


@pytest.mark.parametrize(
    ("field", "floor", "asked", "holds"),
    [
        ("oversight", "in_the_loop", "in_command", "in_command"),
        ("oversight", "in_the_loop", "on_the_loop", "in_the_loop"),
        ("oversight", "in_the_loop", "auto", "in_the_loop"),
        ("oversight", "auto", "in_the_loop", "auto"),
        ("oversight", "auto", "in_command", "in_command"),
        ("max_parallel", 4, 2, 2),
        ("max_parallel", 4, 8, 4),
        ("max_team_size", 4, 8, 4),
        ("max_attempts", 2, 3, 2),
        ("max_iterations", 2, 0, 0),
        ("failure_threshold", {"default": 0.5}, {"default": 0.9, "analysis": 0.1}, {"default": 0.5, "analysis": 0.1}),
        ("failure_threshold", {"default": 0.2}, {"writing": 0.9}, {"default": 0.2, "writing": 0.2}),
        ("on_timeout", {"low": "reject"}, {"low": "approve", "high": "approve"}, TIMEOUTS),
        ("on_timeout", {"low": "approve"}, {"low": "escalate"}, {**TIMEOUTS, "low": "escalate"}),
        ("on_reject", "fail", "revise", "fail"),
        ("on_failed_input", "skip", "degrade", "skip"),
        ("confidence_threshold", 0.6, 0.1, 0.6),
        ("confidence_threshold", 0.6, 0.9, 0.9),
        ("cost_limit", 1.0, 100.0, 1.0),
        ("sensitive_actions", ["pay", "send"], [], ["pay", "send"]),
        ("sensitive_actions", ["pay"], ["call"], ["pay", "call"]),
        ("consecutive_failures", 3, 9, 3),
        ("decision_timeout_s", 5.0, None, 5.0),
        ("decision_timeout_s", None, 5.0, 5.0),
        ("token_budget", 100, None, 100),
        ("token_budget", None, 100, 100),
        (
            "max_tokens",
            {"plan": 100},
            {"plan": 4096, "answer": 50},
            {"plan": 100, "review": 4096, "answer": 50, "worker": 4096},
        ),
        ("call_timeout_s", 60.0, 600.0, 60.0),
        ("cost_budget", 1.0, 2.0, 1.0),
        ("max_seconds", 10.0, None, 10.0),
        ("recruit_roles", ["a", "b"], ["b", "c"], ["b"]),
        ("recruit_roles", ["a"], None, ["a"]),
        ("recruit_roles", None, ["a"], ["a"]),
        ("max_agent_iterations", 200, 1000, 200),
        ("max_delegation_depth", 2, 5, 2),
        ("delegation", "needs_approval", "allowed", "needs_approval"),
        ("delegation", "needs_approval", "forbidden", "forbidden"),
    ],
)
def test_only_what_is_stricter_holds(field: str, floor: Any, asked: Any, holds: Any) -> None:
    made, kept = stricter(Policy.model_validate({field: floor}), {field: asked})

    assert getattr(made, field) == holds
    if not isinstance(asked, dict):
        assert kept == ([] if holds == asked else [field])


def test_a_deadline_may_not_be_shortened_where_its_end_approves_something() -> None:
    floor = Policy(approval_timeout_s=60, on_timeout={"low": "approve"})
    rejecting = Policy(approval_timeout_s=60, on_timeout={})

    assert stricter(floor, {"approval_timeout_s": 1})[0].approval_timeout_s == 60
    assert stricter(floor, {"approval_timeout_s": 90})[0].approval_timeout_s == 90
    assert stricter(floor, {"approval_timeout_s": 1, "on_timeout": {"low": "reject"}})[0].approval_timeout_s == 1
    assert stricter(rejecting, {"approval_timeout_s": 1})[0].approval_timeout_s == 1
    by_risk = stricter(floor, {"approval_timeout_s": {"default": 1, "high": 90}})[0].approval_timeout_s
    assert by_risk == {"default": 60, "high": 90}


def test_what_is_not_asked_for_is_the_servers() -> None:
    floor = Policy(oversight="in_command", token_budget=7, sensitive_actions=["call"])

    assert stricter(floor, None) == stricter(floor, {}) == (floor, [])


def test_what_no_policy_can_have_is_refused() -> None:
    with pytest.raises(PolicyInvalid, match="max_attempts"):
        stricter(Policy(), {"max_attempts": 0})


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "oversight": st.sampled_from(["auto", "in_command", "in_the_loop", "on_the_loop"]),
        "on_timeout": st.dictionaries(
            st.sampled_from(["low", "medium", "high", "critical", "default"]),
            st.sampled_from(["approve", "reject", "escalate"]),
        ),
        "failure_threshold": st.dictionaries(st.sampled_from(["default", "analysis", "x"]), st.floats(0, 1)),
        "token_budget": st.none() | st.integers(1, 9),
        "recruit_roles": st.none() | st.lists(st.sampled_from("abc"), unique=True),
        "sensitive_actions": st.lists(st.sampled_from("abc"), unique=True),
        "delegation": st.sampled_from(["allowed", "needs_approval", "forbidden"]),
    },
)


@given(FIELDS, FIELDS)
def test_what_holds_is_never_looser_and_asking_for_it_again_changes_nothing(first: Any, second: Any) -> None:
    floor = merged_policy(Policy(), first)
    made, _ = stricter(floor, second)
    again, kept = stricter(floor, made.model_dump(mode="json"))

    assert kept == []
    assert stricter(floor, again.model_dump(mode="json")) == (again, [])
