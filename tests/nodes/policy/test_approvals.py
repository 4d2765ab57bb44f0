"""What happens to a question that nobody answers: by its risk, once it is time."""

import pytest

from nodes.policy.approvals import decision_on_expiry, escalated, is_expired, on_expiry, with_deadline
from state.approval import Approval, Risk
from state.policy import Policy, Timeout

ESCALATES = Policy(on_timeout={"low": "approve", "high": "escalate", "critical": "approve", "default": "reject"})


def question(risk: Risk = "medium") -> Approval:
    return Approval(id="q", task_id="a", agent="ada", action="publish", reason="it is public", risk=risk)


@pytest.mark.parametrize(("now", "over"), [(1799.99, False), (1800, True), (9999, True)])
def test_a_question_expires_when_its_seconds_are_over(now: float, over: bool) -> None:
    assert is_expired(with_deadline(question(), Policy(), 0.0), now) is over


def test_what_was_never_asked_does_not_expire() -> None:
    assert not is_expired(question(), 1e12)


@pytest.mark.parametrize(
    ("risk", "policy", "what"),
    [
        ("low", Policy(), "approve"),
        ("medium", Policy(), "reject"),
        ("high", Policy(), "reject"),
        ("critical", Policy(), "reject"),
        ("medium", Policy(on_timeout={"default": "approve"}), "approve"),
        ("high", ESCALATES, "escalate"),
        ("critical", ESCALATES, "reject"),
        ("critical", Policy(on_timeout={"default": "approve"}), "reject"),
        ("critical", Policy(on_timeout={"critical": "escalate"}), "reject"),
    ],
)
def test_the_risk_decides_and_critical_always_rejects(risk: Risk, policy: Policy, what: Timeout) -> None:
    assert on_expiry(question(risk), policy) == what


def test_somebody_else_is_told_once_and_then_it_is_rejected() -> None:
    asked = with_deadline(question("high"), ESCALATES, 0.0)
    passed_on = escalated(asked, ESCALATES, 2000.0)

    assert decision_on_expiry(asked, ESCALATES) is None
    assert passed_on.expires_at == 3800.0
    made = decision_on_expiry(passed_on, ESCALATES)
    assert made is not None
    assert (made.type, made.by, made.door) == ("reject", "policy", "deadline")
    assert made.message == "nobody answered within 30 minutes: rejected by policy (high risk)"


@pytest.mark.parametrize(("seconds", "said"), [(2.5, "2.5 seconds"), (59, "59 seconds"), (90, "1.5 minutes")])
def test_how_long_nobody_answered_is_said_in_the_unit_that_fits(seconds: float, said: str) -> None:
    made = decision_on_expiry(question(), Policy(approval_timeout_s=seconds))
    assert made
    assert f"nobody answered within {said}: " in made.message
