"""What happens to a question that nobody answers (row M14): by its risk, and critical always rejects."""

from state.approval import POLICY, Approval, Decision
from state.policy import Policy, Timeout

DOOR = "deadline"


def is_expired(approval: Approval, now: float) -> bool:
    """Whether its time is up."""
    return approval.expires_at is not None and now >= approval.expires_at


def on_expiry(approval: Approval, policy: Policy) -> Timeout:
    """What the policy does then. Somebody else is told once; after that it is rejected."""
    if approval.risk == "critical":
        return "reject"
    wanted = policy.on_timeout.get(approval.risk, policy.on_timeout["default"])
    return "reject" if wanted == "escalate" and approval.escalated else wanted


def decided(approval: Approval, policy: Policy) -> Decision | None:
    """The decision that takes the place of a human's; None where somebody else is to be told first."""
    what = on_expiry(approval, policy)
    if what == "escalate":
        return None
    verb = "approved" if what == "approve" else "rejected"
    seconds = policy.approval_timeout_s
    time = f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"
    message = f"nobody answered within {time}: {verb} by policy ({approval.risk} risk)"
    return Decision(type=what, message=message, by=POLICY, door=DOOR)


def stamped(approval: Approval, policy: Policy, now: float) -> Approval:
    """The question as it is asked now, with its deadline."""
    return approval.model_copy(update={"asked_at": now, "expires_at": now + policy.approval_timeout_s})


def escalated(approval: Approval, policy: Policy, now: float) -> Approval:
    """The question as it goes to somebody else, with a new deadline."""
    return approval.model_copy(update={"escalated": True, "expires_at": now + policy.approval_timeout_s})
