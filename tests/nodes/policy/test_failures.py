"""What failing means (row M5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.failures import RETRIED, abort_reason, is_retried, most_failures, retry_delay
from state.policy import Policy
from state.record import TaskRecord, TaskStatus
from tests.builders import make_record, make_task


def records(total: int, failed: int, kind: str = "research", rest: TaskStatus = "done") -> list[TaskRecord]:
    statuses: list[TaskStatus] = ["failed" if n < failed else rest for n in range(total)]
    return [make_record(make_task(f"{kind}{n}", kind=kind), status) for n, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("total", "kind", "goes_on", "aborts"),
    [
        (6, "research", 3, 4),
        (8, "research", 4, 5),
        (1, "writing", 0, 1),
        (5, "analysis", 1, 2),
        (10, "analysis", 2, 3),
        (4, "analysis", 0, 1),
        (7, "critical", 0, 1),
    ],
)
def test_a_run_aborts_at_floor_of_n_times_threshold_plus_one(total: int, kind: str, goes_on: int, aborts: int) -> None:
    assert abort_reason(records(total, goes_on, kind), Policy()) is None
    assert f"{aborts} of {total}" in (abort_reason(records(total, aborts, kind), Policy()) or "")


def test_two_failures_of_six_go_on() -> None:
    assert abort_reason(records(6, 2), Policy()) is None


def test_the_reason_says_what_failed_and_where_the_limit_is() -> None:
    assert abort_reason(records(5, 2, "analysis"), Policy()) == (
        "2 of 5 analysis tasks failed; at 2 the run stops (threshold 20%)"
    )
    assert abort_reason(records(2, 2), Policy()) == "2 of 2 tasks failed; at 2 the run stops (threshold 50%)"


def test_kinds_without_a_threshold_of_their_own_count_together() -> None:
    mixed = [*records(3, 2, "research"), *records(3, 1, "writing")]
    apart = Policy(failure_threshold={"research": 0.5})

    assert abort_reason(mixed, Policy()) is None
    assert "2 of 3 research tasks" in (abort_reason(mixed, apart) or "")


def test_skipped_and_cancelled_tasks_are_no_failures() -> None:
    assert abort_reason(records(4, 0, "critical", rest="skipped"), Policy()) is None
    assert abort_reason(records(4, 0, "critical", rest="cancelled"), Policy()) is None


@given(st.integers(1, 500), st.floats(0, 1))
def test_the_limit_is_above_the_share_and_within_reach_of_it(count: int, share: float) -> None:
    limit = most_failures(count, share)

    assert limit > count * share - 1e-6
    assert limit - 1 <= count * share + 1e-6


def test_a_share_that_floats_cannot_hold_is_not_rounded_down() -> None:
    assert most_failures(10, 0.7) == 8
    assert most_failures(100, 0.29) == 30


@pytest.mark.parametrize(
    ("attempt", "jitter", "seconds"), [(1, 0.5, 0.5), (2, 0.5, 1.0), (3, 0.5, 2.0), (1, 0, 0.25), (1, 1, 0.75)]
)
def test_each_wait_is_twice_the_last_spread_by_half(attempt: int, jitter: float, seconds: float) -> None:
    assert retry_delay(attempt, jitter) == seconds


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_wait_is_never_longer_than_45_seconds(attempt: int, jitter: float) -> None:
    assert 0.25 <= retry_delay(attempt, jitter) <= 45


def test_defects_limits_and_refusals_are_not_tried_again() -> None:
    assert frozenset({"transient", "declared", "invalid"}) == RETRIED


def test_what_ran_out_of_time_is_not_tried_again_unchanged() -> None:
    assert not is_retried("timeout", is_same=True)
    assert is_retried("timeout", is_same=False)
