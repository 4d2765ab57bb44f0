"""Whether another model call may be made: one budget of tokens, money and calls, shared by all agents (row M25)."""

from dataclasses import dataclass

from state.policy import Policy
from state.record import NOTHING, Usage

LEAST_REPLY = 256
"""Tokens of a reply that is worth asking for, as long as no shorter one was seen."""


def exceeded(policy: Policy, used: Usage, reserved: Usage) -> str:
    """Which limit of the run stands in the way of one more call, or an empty string.

    `used` is settled; `reserved` is what calls under way, and the one asked for, are expected to use.
    """
    total = used + reserved
    if total.calls > policy.max_agent_iterations:
        return f"the run's limit of {policy.max_agent_iterations} model calls (max_agent_iterations) is reached"
    if policy.token_budget is not None and total.total_tokens > policy.token_budget:
        left = policy.token_budget - used.total_tokens
        more = f"; one more call may take {reserved.total_tokens}" if left >= LEAST_REPLY else ""
        return f"the token_budget of {policy.token_budget} is used up ({used.total_tokens} spent{more})"
    if policy.cost_budget is not None and total.cost > policy.cost_budget:
        return f"the cost_budget of ${policy.cost_budget:.2f} is used up (${used.cost:.2f} spent)"
    return ""


FREE = frozenset({"offline", "baton-offline"})
"""Models that work by rules, on this machine."""


def is_by_rules(used: Usage) -> bool:
    """Whether only such models have worked: asked again, they find the same."""
    return bool(used.models) and {model.name for model in used.models} <= FREE


def priced(policy: Policy, used: Usage) -> Usage:
    """What calls of one model have used, with what the tokens cost, or that nobody knows it."""
    if not used.models or used.models[0].name in FREE:
        return used
    price = policy.prices.get(used.models[0].name)
    if price is None:
        return used.model_copy(update={"unpriced": used.calls})
    cost = (used.input_tokens * price.input + used.output_tokens * price.output) / 1_000_000
    return used.model_copy(update={"cost": used.cost + cost, "tokens_cost": cost})


def shortfalls(policy: Policy, used: Usage) -> list[str]:
    """What a run has used above its budgets, and what they could not be held against, as lines for people."""
    found = []
    if policy.token_budget is not None and (total := used.total_tokens) > policy.token_budget:
        found.append(f"{total} tokens were used of a token_budget of {policy.token_budget}: {_MORE}")
    if policy.cost_budget is not None and used.cost > policy.cost_budget:
        found.append(
            f"${used.cost:.2f} were used of a cost_budget of ${policy.cost_budget:.2f}: what was under way cost more"
        )
    return found


_MORE = "a model wrote or read more than it was to"


def unpriced(policy: Policy, used: Usage) -> list[str]:
    """The models that a `cost_budget` is not held against, as a line for people."""
    names = [one.name for one in used.models if one.name not in policy.prices and one.name not in FREE]
    if policy.cost_budget is None or not used.unpriced:
        return []
    return [f"the cost_budget does not count calls of {', '.join(dict.fromkeys(names))}: `prices` has no price of it"]


def used_up(policy: Policy, used: Usage) -> str:
    """Which limit leaves no room for work whose price is not known before, such as a function's; or an empty string."""
    if policy.cost_budget is not None and used.cost >= policy.cost_budget:
        return f"the cost_budget of ${policy.cost_budget:.2f} is used up (${used.cost:.2f} spent)"
    return exceeded(policy, used, NOTHING)


@dataclass(frozen=True)
class Asked:
    """A model call that asks for room; all sizes are tokens."""

    prompt: int
    cap: int
    """How long its reply may be."""
    is_fixed: bool = False
    """Whether the call cannot be told a cap: it is made by code that is not Baton's."""
    longest: int | None = None
    """The longest reply of this model so far; None where it has given none yet."""
    heeds: bool = True
    """Whether its replies have kept to their caps so far."""


@dataclass(frozen=True)
class Granted:
    """Room for a call; all sizes are tokens."""

    cap: int
    """How long its reply may be."""
    held: int
    """How much of the budget is kept for the reply."""


def granted(policy: Policy, used: Usage, held: Usage, asked: Asked, *, is_alone: bool) -> Granted | None:
    """Room for a call; None where it has to wait for calls under way or, if it `is_alone`, cannot be made.

    A model that keeps to its cap may get a smaller one when nothing else is under way. For one
    that keeps to none the cap is held, or the longest reply seen where that is longer; alone, it goes on as long as
    another such reply fits.
    """
    if policy.token_budget is None:
        return Granted(asked.cap, 0)
    left = policy.token_budget - used.total_tokens - held.total_tokens - asked.prompt
    keeps = asked.heeds and not asked.is_fixed
    wanted = asked.cap if keeps else max(asked.cap, asked.longest or 0)
    if wanted <= left:
        return Granted(asked.cap, wanted)
    least = LEAST_REPLY if asked.longest is None else max(1, asked.longest)
    least = min(least, LEAST_REPLY, asked.cap) if keeps else least
    return Granted(min(left, asked.cap), left) if is_alone and least <= left else None
