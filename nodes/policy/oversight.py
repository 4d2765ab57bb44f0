"""When a human is asked (chapter 15.12.2 and 15.12.3)."""

from state.approval import Risk
from state.policy import Policy


def is_sensitive(action: str, policy: Policy) -> bool:
    """Whether an action's name contains one of the policy's sensitive words (15.12.8)."""
    name = action.lower()
    return any(word.lower() in name for word in policy.sensitive_actions)


def needs_approval(*, sensitive: bool, risk: Risk, cost: float, policy: Policy) -> str:
    """Why this action needs a human, or an empty string: by the oversight mode, the action's risk and its cost."""
    if risk == "critical":
        return "critical actions are never done without a human"
    if policy.oversight in ("in_command", "auto"):
        return "every action waits for a human (oversight in_command)"
    if policy.oversight == "on_the_loop":
        return ""
    if sensitive:
        return "sensitive operation requires approval"
    if cost > policy.cost_limit:
        return f"cost exceeds limit: ${cost:.2f} > ${policy.cost_limit:.2f}"
    return ""
