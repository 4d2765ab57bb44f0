"""Which limit stands in the way of one more call, and how much a call is expected to use."""

import pytest

from nodes.policy.budget import FIRST_REPLY, exceeded, expected, used_up
from state.policy import Policy
from state.record import Usage


@pytest.mark.parametrize(
    ("policy", "used", "reserved", "named"),
    [
        (Policy(), Usage(calls=199), Usage(calls=1), ""),
        (Policy(), Usage(calls=200), Usage(calls=1), "max_agent_iterations"),
        (Policy(max_agent_iterations=20), Usage(calls=10), Usage(calls=11), "20 model calls"),
        (Policy(token_budget=100), Usage(input_tokens=60, output_tokens=20), Usage(input_tokens=20), ""),
        (Policy(token_budget=100), Usage(input_tokens=60, output_tokens=20), Usage(output_tokens=21), "token_budget"),
        (Policy(cost_budget=1.0), Usage(cost=0.5), Usage(cost=0.5), ""),
        (Policy(cost_budget=1.0), Usage(cost=0.5), Usage(cost=0.51), "cost_budget of $1.00"),
    ],
)
def test_a_call_has_room_up_to_the_limit_and_not_beyond(
    policy: Policy, used: Usage, reserved: Usage, named: str
) -> None:
    said = exceeded(policy, used, reserved)
    assert bool(said) == bool(named)
    assert named in said


def test_work_of_unknown_price_needs_some_money_left() -> None:
    policy = Policy(cost_budget=1.0)
    assert used_up(policy, Usage(cost=0.99)) == ""
    assert used_up(policy, Usage(cost=1.0)) == "the cost_budget of $1.00 is used up ($1.00 spent)"


def test_without_limits_nothing_is_used_up() -> None:
    assert used_up(Policy(), Usage(input_tokens=10**9, cost=10**6)) == ""


def test_the_first_call_is_estimated_by_its_prompt_and_later_ones_by_the_dearest() -> None:
    assert expected(400, Usage()) == Usage(input_tokens=100, output_tokens=FIRST_REPLY, calls=1)
    largest_call = Usage(input_tokens=7, output_tokens=3, calls=1, cost=5.0)
    assert expected(400, largest_call) == Usage(input_tokens=7, output_tokens=3, calls=1)
