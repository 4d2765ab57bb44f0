"""Whether another model call may be made: one budget of tokens, money and calls, shared by all agents (row M25)."""

from state.policy import Policy
from state.record import Usage

FIRST_REPLY = 256
"""Tokens a reply is expected to have before any was seen."""


def exceeded(policy: Policy, used: Usage, reserved: Usage) -> str:
    """Which limit of the run stands in the way of one more call, or an empty string.

    `used` is settled; `reserved` is what calls under way, and the one asked for, are expected to use.
    """
    total = used + reserved
    if total.calls > policy.max_agent_iterations:
        return f"the run's limit of {policy.max_agent_iterations} model calls (max_agent_iterations) is reached"
    if policy.token_budget is not None and total.total_tokens > policy.token_budget:
        return f"the token_budget of {policy.token_budget} is used up ({used.total_tokens} spent)"
    if policy.cost_budget is not None and total.cost > policy.cost_budget:
        return f"the cost_budget of ${policy.cost_budget:.2f} is used up (${used.cost:.2f} spent)"
    return ""


def used_up(policy: Policy, used: Usage) -> str:
    """Which limit leaves no room for work whose price is not known before, such as a function's; or an empty string."""
    if policy.cost_budget is not None and used.cost >= policy.cost_budget:
        return f"the cost_budget of ${policy.cost_budget:.2f} is used up (${used.cost:.2f} spent)"
    return exceeded(policy, used, Usage())


def expected(prompt_characters: int, largest_call: Usage) -> Usage:
    """What a call will probably use: its prompt at four characters a token, or the dearest call seen so far."""
    if largest_call.calls:
        return Usage(input_tokens=largest_call.input_tokens, output_tokens=largest_call.output_tokens, calls=1)
    return Usage(input_tokens=prompt_characters // 4, output_tokens=FIRST_REPLY, calls=1)
