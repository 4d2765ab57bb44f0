"""What a reviewer finds without a model, and when a human is asked."""

import pytest

from nodes.policy.oversight import is_sensitive, needs_approval
from nodes.policy.quality import faults_of
from state.approval import Risk
from state.citation import Citation, Claim
from state.policy import Oversight, Policy
from state.record import TaskRecord
from tests.builders import make_outcome, make_record, make_task

THERE = Citation(file="a.md", place="L1", quote="x")
BROKEN = Citation(file="a.md", place="L99")


def done(kind: str = "research", text: str = "Said.", *, cites: bool = False, sure: float | None = None) -> TaskRecord:
    claims = [Claim(text=text, citations=[THERE] if cites else [])]
    outcome = make_outcome("a", text, confidence=sure).model_copy(update={"claims": claims})
    return make_record(make_task("a", kind=kind), "done", outcome=outcome)


def found(record: TaskRecord, *, sourced: bool = True, by_model: bool = True, broken: tuple[Citation, ...] = ()) -> str:
    return faults_of(record, sourced=sourced, by_model=by_model, broken=broken, policy=Policy())


@pytest.mark.parametrize("kind", ["research", "analysis"])
def test_a_model_that_cites_nothing_is_told_to_where_there_are_sources(kind: str) -> None:
    assert "cites nothing" in found(done(kind))
    assert found(done(kind, cites=True)) == ""
    assert found(done(kind), sourced=False) == ""


def test_functions_and_other_kinds_of_task_need_not_cite() -> None:
    assert found(done("writing")) == ""
    assert found(done(), by_model=False) == ""


def test_who_says_that_it_is_not_sure_is_not_sent_back_for_it() -> None:
    assert found(done(sure=0.59)) == ""
    assert "cites nothing" in found(done(sure=0.6))


def test_a_result_without_text_is_told_so() -> None:
    assert "empty" in found(done("writing", text=" "))


def test_citations_that_point_nowhere_are_named() -> None:
    assert "These citations are not in the sources: [a.md#L99]." in found(done(cites=True), broken=(BROKEN,))
    assert "[a.md#L99]" in found(done("writing"), by_model=False, broken=(BROKEN,))


def test_what_was_not_delivered_is_not_reviewed() -> None:
    failed = make_record("a", "failed", outcome=make_outcome("a", failure="broke"))

    assert found(failed, broken=(BROKEN,)) == ""
    assert found(make_record("a", "done")) == ""


@pytest.mark.parametrize(
    ("action", "asks"),
    [("publish", True), ("Delete_File", True), ("resend mail", True), ("search", False), ("write", False)],
)
def test_an_action_is_sensitive_by_the_words_in_its_name(action: str, asks: bool) -> None:
    assert is_sensitive(action, Policy()) is asks


def test_the_sensitive_words_are_the_policys() -> None:
    assert is_sensitive("search", Policy(sensitive_actions=["SEARCH"]))
    assert not is_sensitive("publish", Policy(sensitive_actions=[]))


@pytest.mark.parametrize(
    ("oversight", "sensitive", "risk", "cost", "why"),
    [
        ("in_command", False, "low", 0.0, "every action waits"),
        ("auto", False, "low", 0.0, "every action waits"),
        ("in_the_loop", True, "low", 0.0, "sensitive operation"),
        ("in_the_loop", False, "low", 1.01, "cost exceeds limit: $1.01 > $1.00"),
        ("in_the_loop", False, "high", 1.0, ""),
        ("in_the_loop", False, "critical", 0.0, "critical"),
        ("on_the_loop", True, "high", 99.0, ""),
        ("on_the_loop", False, "critical", 0.0, "critical"),
    ],
)
def test_the_oversight_mode_decides_what_a_human_is_asked(
    oversight: Oversight, sensitive: bool, risk: Risk, cost: float, why: str
) -> None:
    reason = needs_approval(sensitive=sensitive, risk=risk, cost=cost, policy=Policy(oversight=oversight))

    assert why in reason
    assert bool(reason) is bool(why)
