"""Which limit stands in the way of one more call, and how much a call is expected to use."""

import pytest

from nodes.policy.budget import LEAST_REPLY, Asked, Granted, exceeded, granted, used_up
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


def test_what_is_left_and_too_little_is_said_with_what_it_is_too_little_for() -> None:
    said = exceeded(Policy(token_budget=10_000), Usage(output_tokens=5_796), Usage(output_tokens=4_900))
    assert said == "the token_budget of 10000 is used up (5796 spent; one more call may take 4900)"


def test_work_of_unknown_price_needs_some_money_left() -> None:
    policy = Policy(cost_budget=1.0)
    assert used_up(policy, Usage(cost=0.99)) == ""
    assert used_up(policy, Usage(cost=1.0)) == "the cost_budget of $1.00 is used up ($1.00 spent)"


def test_without_limits_nothing_is_used_up() -> None:
    assert used_up(Policy(), Usage(input_tokens=10**9, cost=10**6)) == ""


SMALL = Policy(token_budget=1000)


def test_a_reply_is_asked_for_at_its_cap_while_there_is_room_for_all_of_it() -> None:
    assert granted(SMALL, Usage(), Usage(), Asked(100, 900), is_alone=False) == Granted(900, 900)
    assert granted(SMALL, Usage(), Usage(output_tokens=1), Asked(100, 900), is_alone=False) is None


def test_alone_it_may_have_what_is_left_if_that_is_worth_it() -> None:
    used = Usage(output_tokens=600)
    assert granted(SMALL, used, Usage(), Asked(100, 900), is_alone=True) == Granted(300, 300)
    assert granted(SMALL, used, Usage(), Asked(101 + 300 - LEAST_REPLY, 900), is_alone=True) is None
    assert granted(SMALL, used, Usage(), Asked(390, 900, longest=10), is_alone=True) == Granted(10, 10)


@pytest.mark.parametrize("is_fixed", [False, True])
def test_of_a_model_that_has_given_no_reply_yet_one_of_256_tokens_is_expected(is_fixed: bool) -> None:
    used = Usage(output_tokens=600)
    assert granted(SMALL, used, Usage(), Asked(144, 900, is_fixed), is_alone=True) == Granted(256, 256)
    assert granted(SMALL, used, Usage(), Asked(145, 900, is_fixed), is_alone=True) is None


def test_who_keeps_to_no_cap_is_asked_only_if_another_reply_as_long_as_the_longest_fits() -> None:
    for asked in (Asked(100, 50, longest=700, heeds=False), Asked(100, 50, is_fixed=True, longest=700)):
        assert granted(SMALL, Usage(), Usage(), asked, is_alone=False) == Granted(50, 700)
        assert granted(SMALL, Usage(output_tokens=201), Usage(), asked, is_alone=True) is None


def test_without_a_budget_only_the_cap_counts() -> None:
    assert granted(Policy(), Usage(output_tokens=10**9), Usage(), Asked(10**9, 50), is_alone=False) == Granted(50, 0)
