"""Whether an agent may delegate (row M24, M25): each refusal with a reason that the agent can use."""

from collections.abc import Collection, Sequence

from state.agent import AgentSpec
from state.policy import Policy


def may_delegate(spec: AgentSpec, chain: Sequence[str], ceiling: int, policy: Policy) -> bool:
    """Whether the agent gets the tool at all: it has workers, the policy allows it, and there is depth left."""
    return bool(spec.workers) and policy.delegation != "forbidden" and len(chain) < ceiling


def refusal(
    worker: str,
    task: str,
    *,
    spec: AgentSpec,
    chain: Sequence[str],
    ceiling: int,
    policy: Policy,
    retired: Collection[str] = (),
) -> str:
    """Why `spec` may not delegate `task` to `worker`, or an empty string.

    `chain`: who delegated to it, outermost first. `ceiling`: the supervisor's own depth limit, or what an outer
    supervisor has left of its own.
    """
    roster = ", ".join(spec.workers) or "none"
    if policy.delegation == "forbidden":
        return "delegating is forbidden here; do the work yourself"
    depth = len(chain) + 1
    if depth > ceiling:
        return f"a delegation at depth {depth} is too deep, the limit is {ceiling}; do it yourself"
    if not task.strip():
        return "the task is empty; say what is to be done"
    if worker == spec.name:
        return f"{worker} is yourself; do it, or give it to one of: {roster}"
    if worker in chain:
        way = " to ".join([*chain, spec.name])
        return f"{worker} waits for your result (delegated from {way}); a cycle never ends, do it yourself"
    if worker not in spec.workers:
        return f"{worker!r} is not among your workers; they are: {roster}"
    if worker in retired:
        return f"{worker} is retired; your workers are: {roster}"
    return ""


def may_transfer(chain: Sequence[str], ceiling: int) -> bool:
    """Whether an agent may hand its task over: hand-overs are bounded like delegations, and none goes in circles."""
    return len(chain) < max(1, ceiling)
