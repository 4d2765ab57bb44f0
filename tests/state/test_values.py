"""The smaller nouns: policies, agents, outcomes, usage, errors."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from state import errors
from state.agent import AgentSpec
from state.errors import AgentFailed, BadInput, BatonError, ModelFailed, ToolRefused
from state.policy import Policy
from state.record import Outcome, Usage
from state.text import as_text

USAGES = st.builds(Usage, input_tokens=st.integers(0, 99), output_tokens=st.integers(0, 99), calls=st.integers(0, 9))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"oversite": "auto"}, "oversite"),
        ({"oversight": "sometimes"}, "oversight"),
        ({"max_parallel": 0}, "max_parallel"),
        ({"max_attempts": 21}, "max_attempts"),
        ({"confidence_threshold": 1.1}, "confidence_threshold"),
        ({"failure_threshold": {"analysis": 1.5}}, "analysis"),
        ({"on_timeout": {"terrible": "reject"}}, "terrible"),
        ({"on_timeout": {"low": "shrug"}}, "on_timeout"),
        ({"approval_timeout_s": 0}, "approval_timeout_s"),
        ({"token_budget": 0}, "token_budget"),
    ],
)
def test_a_policy_value_that_is_unknown_or_out_of_range_is_refused_by_name(
    fields: dict[str, object], named: str
) -> None:
    with pytest.raises(ValidationError, match=named):
        Policy.model_validate(fields)


def test_a_threshold_of_ones_own_leaves_the_default_in_place() -> None:
    assert Policy(failure_threshold={"research": 0.1}).failure_threshold == {"default": 0.5, "research": 0.1}
    assert Policy(on_timeout={"high": "approve"}).on_timeout["default"] == "reject"


def test_the_defaults_are_the_documents_figures() -> None:
    policy = Policy()

    assert policy.failure_threshold == {"default": 0.5, "analysis": 0.2, "critical": 0.0}
    assert (policy.oversight, policy.max_team_size, policy.max_attempts, policy.max_iterations) == (
        "in_the_loop",
        10,
        3,
        2,
    )
    assert (policy.confidence_threshold, policy.cost_limit, policy.approval_timeout_s) == (0.6, 1.0, 1800)


def test_a_policy_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Policy().max_parallel = 3


def test_skills_given_as_words_are_keywords_and_the_kinds_among_them_kinds() -> None:
    agent = AgentSpec.model_validate({"name": "bo", "role": "analyst", "skills": ["analysis", "price"]})

    assert agent.skills.kinds == {"analysis": 0.9}
    assert agent.skills.keywords == ["analysis", "price"]


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "x" * 65])
def test_an_agent_needs_a_name_that_can_be_typed(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        AgentSpec(name=name, role="writer")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        (None, ""),
        (3.5, "3.5"),
        ({"a": 1, "b": [1, 2]}, "- a: 1\n- b: 1, 2"),
        (["x", {"y": None, "z": True}], "- x\n- y: , z: True"),
    ],
)
def test_any_result_reads_as_text(result: JsonValue, text: str) -> None:
    assert as_text(result) == text


@pytest.mark.parametrize("confidence", [-0.1, 1.1, 7.0])
def test_a_confidence_is_from_0_to_1(confidence: float) -> None:
    with pytest.raises(ValidationError, match="confidence"):
        Outcome(task_id="a", agent="ada", status="done", confidence=confidence)


@given(USAGES, USAGES)
def test_usage_adds_up_field_by_field(one: Usage, other: Usage) -> None:
    both = one + other

    assert both == other + one
    assert both.total_tokens == one.total_tokens + other.total_tokens
    assert both.calls == one.calls + other.calls


def test_every_error_stands_in_the_tree_and_is_a_builtin_one_too() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BatonError)]

    assert errors.__doc__
    assert all(kind.__name__ in errors.__doc__ for kind in kinds)
    assert all(issubclass(kind, ValueError | RuntimeError) for kind in kinds if kind is not BatonError)


@pytest.mark.parametrize(("kind", "code"), [(BadInput, 2), (ModelFailed, 1), (ToolRefused, 1), (AgentFailed, 1)])
def test_an_error_knows_its_exit_code(kind: type[BatonError], code: int) -> None:
    assert kind.exit_code == code
