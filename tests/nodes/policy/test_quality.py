"""What a reviewer finds without a model, and when a human is asked."""

from functools import partial

import pytest

from nodes.policy.quality import faults_of, unsure_of
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


def test_who_says_that_it_is_not_sure_is_asked_to_check_and_not_to_cite() -> None:
    assert found(done(sure=0.59)) == ""
    assert "cites nothing" in found(done(sure=0.6))
    assert "not sure of it (0.59" in unsure_of(done(sure=0.59), Policy())
    assert unsure_of(done(sure=0.6), Policy()) == unsure_of(done(), Policy()) == ""


def test_what_does_not_stand_where_it_is_cited_is_named() -> None:
    claim = Claim(text="It cost 12.", citations=[THERE], unverified=["12"])
    record = done(cites=True)
    assert record.outcome
    told = record.model_copy(update={"outcome": record.outcome.model_copy(update={"claims": [claim]})})

    assert "“12”" in found(told)
    assert found(told, by_model=False) == ""


def test_a_result_that_uses_nothing_of_what_it_builds_on_is_told_whose() -> None:
    record, said = (
        done("writing", "Nothing new."),
        "Revenue grew strongly across Germany while churn dropped below plan",
    )
    check = partial(faults_of, record, sourced=False, by_model=True, broken=(), policy=Policy())

    assert "nothing of the results of b" in check(inputs={"b": said, "c": "It grew."})
    assert check(inputs={"b": "Nothing new, but for that."}) == ""
    assert check(request="Compare Rust and Nothing new") != ""
    assert check(request="Say it in at most one word") != ""


def test_a_result_without_text_is_told_so() -> None:
    assert "empty" in found(done("writing", text=" "))


def test_citations_that_point_nowhere_are_named() -> None:
    assert "These citations are not in the sources: [a.md#L99]." in found(done(cites=True), broken=(BROKEN,))
    assert "[a.md#L99]" in found(done("writing"), by_model=False, broken=(BROKEN,))


def test_what_was_not_delivered_is_not_reviewed() -> None:
    failed = make_record("a", "failed", outcome=make_outcome("a", failure="broke"))

    assert found(failed, broken=(BROKEN,)) == ""
    assert found(make_record("a", "done")) == ""
