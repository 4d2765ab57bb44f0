"""What stays, what is done again and what goes when a human hands a run back."""

from typing import Any

import pytest

from nodes.policy.takeover import dropped, hand_back_faults, handed_back
from state.plan import Plan
from state.record import TaskRecord
from tests.builders import make_outcome, make_plan, make_record, make_task


def chain() -> list[TaskRecord]:
    """a and b are done, c waits for a human, d has not begun."""
    return [
        make_record("a", "done", outcome=make_outcome("a", "of a")),
        make_record("b <- a", "done", outcome=make_outcome("b", "of b")),
        make_record("c <- b", "parked", outcome=make_outcome("c", "", status="parked")),
        make_record("d <- c"),
    ]


def back(records: list[TaskRecord], plan: Plan | None = None, **results: Any) -> dict[str, TaskRecord]:
    return {record.id: record for record in handed_back(records, results, plan, at=7.0, iteration=1)}


def shown(records: dict[str, TaskRecord]) -> dict[str, str]:
    return {key: record.status for key, record in records.items()}


def test_what_nobody_changed_stays_as_it_is() -> None:
    records = chain()
    assert handed_back(records, {}, None, at=7.0, iteration=0) == records
    assert handed_back(records, {}, make_plan("a", "b <- a", "c <- b", "d <- c"), at=7.0, iteration=0) == records


def test_a_result_makes_its_task_done_by_a_human() -> None:
    made = back(chain(), c="mine", d={"figures": [1, 2]})
    assert shown(made) == {"a": "done", "b": "done", "c": "done", "d": "done"}
    outcome = made["c"].outcome
    assert outcome is not None
    assert (outcome.agent, outcome.result, outcome.finished_at, outcome.iteration) == ("human", "mine", 7.0, 1)
    assert made["c"].is_by_human
    assert not made["a"].is_by_human


def test_what_is_built_on_a_result_that_is_replaced_is_done_again() -> None:
    made = back(chain(), a="another")
    assert shown(made) == {"a": "done", "b": "pending", "c": "pending", "d": "pending"}
    assert [made[key].outcome for key in ("b", "c", "d")] == [None, None, None]


def test_a_changed_task_and_what_is_built_on_it_are_done_again_and_the_rest_is_kept() -> None:
    changed = make_task("b", "a", description="Do b better.")
    made = back(chain(), make_plan("a", changed, "c <- b", "d", "e <- a"))
    assert shown(made) == {"a": "done", "b": "pending", "c": "pending", "d": "pending", "e": "pending"}
    assert (made["b"].task.description, made["b"].route, made["c"].outcome) == ("Do b better.", None, None)


def test_a_task_that_is_removed_is_gone_and_parked_work_that_still_fits_stays_parked() -> None:
    made = back(chain(), make_plan("a", "b <- a", "c <- b"))
    assert shown(made) == {"a": "done", "b": "done", "c": "parked"}


def test_a_result_for_a_new_task_counts_too() -> None:
    made = back(chain(), make_plan("a", "new <- a"), new="mine")
    assert shown(made) == {"a": "done", "new": "done"}


def test_a_recruit_stays_while_whoever_asked_for_it_does() -> None:
    recruits = [
        make_record("b.r1").model_copy(update={"recruited_by": "b"}),
        make_record("b.r1.r1").model_copy(update={"recruited_by": "b.r1"}),
        make_record("d.r1").model_copy(update={"recruited_by": "d"}),
        make_record("ana.r1").model_copy(update={"recruited_by": "ana"}),
    ]
    kept = back([*chain(), *recruits], make_plan("a", "b <- a", make_task("d", description="Else.")))
    assert list(kept) == ["a", "b", "d", "b.r1", "b.r1.r1", "ana.r1"]


def test_what_is_dropped_is_what_changed_or_is_gone() -> None:
    before = chain()
    after = list(back(before, make_plan("a", make_task("b", "a", description="Else.")), a="of a again").values())
    assert [record.id for record in dropped(before, after)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("results", "plan", "fault"),
    [
        ({"zoe": "x"}, None, "there is no task 'zoe' to give a result for; there are a, b, c, d"),
        ({"c": "x"}, make_plan("a"), "there is no task 'c' to give a result for; there are a"),
        ({"c": ""}, None, "the result of 'c' is empty"),
        ({"c": None, "d": []}, None, "the result of 'c', 'd' is empty"),
    ],
)
def test_results_that_do_not_fit_are_refused(results: dict[str, Any], plan: Plan | None, fault: str) -> None:
    [found] = hand_back_faults(chain(), results, plan)
    assert found.startswith(fault)


def test_results_that_fit_have_no_fault() -> None:
    assert hand_back_faults(chain(), {"c": 0, "d": False}, None) == []
    assert hand_back_faults(chain(), {"new": "x"}, make_plan("a", "new")) == []
