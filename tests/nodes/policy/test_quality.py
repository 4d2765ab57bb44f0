"""What a reviewer finds without a model, and when a human is asked."""

import pytest

from nodes.policy.quality import faults_of
from state.citation import Citation, Claim
from state.policy import Policy
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
