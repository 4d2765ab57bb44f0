"""How a run ends: complete, partial, failed or cancelled, and the line that says why."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.phases import ending
from state.record import Failure, TaskRecord, TaskStatus
from state.run import Phase
from tests.builders import make_outcome, make_record

ENDED: tuple[TaskStatus, ...] = ("done", "failed", "skipped", "cancelled")


def ended(task_id: str, status: TaskStatus, *, required: bool = True, kind: Any = "permanent") -> TaskRecord:
    failure = None if status == "done" else Failure(kind=kind, message=f"{task_id} broke")
    outcome = make_outcome(task_id).model_copy(update={"status": status, "failure": failure})
    record = make_record(task_id, status=status, outcome=outcome)
    return record.model_copy(update={"task": record.task.model_copy(update={"required": required})})


def ends(*records: TaskRecord, **facts: Any) -> tuple[Phase, str | None]:
    usual = {"error": None, "is_cancelled": False, "is_at_limit": False, "on_reject": "revise", "report": "So."}
    return ending(records, **{**usual, **facts})


A, B = ended("a", "done"), ended("b", "failed")
REFUSED = ended("b", "failed", kind="denied")
OPTIONAL = ended("b", "skipped", required=False)


@pytest.mark.parametrize(
    ("records", "facts", "phase", "said"),
    [
        ([A], {}, "complete", None),
        ([A, OPTIONAL], {}, "complete", None),
        ([A, B], {}, "partial", "not done: b (b broke)"),
        ([A, ended("b", "skipped")], {}, "partial", "not done: b (b broke)"),
        ([B], {}, "failed", "no task delivered a result: b broke"),
        ([OPTIONAL], {}, "failed", "no task delivered a result: b broke"),
        ([A, REFUSED], {}, "partial", "not done: b (b broke)"),
        ([A, REFUSED], {"on_reject": "fail"}, "failed", "b broke"),
        ([A, B], {"on_reject": "fail"}, "partial", "not done: b (b broke)"),
        ([A, B], {"error": "2 of 3 tasks failed"}, "failed", "2 of 3 tasks failed"),
        ([A, B], {"error": "no money is left", "is_at_limit": True}, "partial", "no money is left"),
        ([B], {"error": "no money is left", "is_at_limit": True}, "failed", "no money is left"),
        ([A], {"report": " "}, "failed", "no report was put together"),
        ([A, B], {"is_cancelled": True, "error": "x"}, "cancelled", None),
    ],
)
def test_a_run_ends_as_its_required_tasks_did(
    records: list[TaskRecord], facts: dict[str, Any], phase: str, said: str | None
) -> None:
    assert ends(*records, **facts) == (phase, said)


def test_a_task_that_a_human_did_by_hand_counts_as_done() -> None:
    by_hand = make_record("b", status="done", outcome=make_outcome("b", agent="human"))
    assert ends(A, by_hand) == ("complete", None)


@given(st.lists(st.tuples(st.sampled_from(ENDED), st.booleans()), min_size=1, max_size=6), st.booleans())
def test_complete_is_what_has_no_line_and_every_required_task_done(
    tasks: list[tuple[TaskStatus, bool]], is_at_limit: bool
) -> None:
    records = [ended(f"t{n}", status, required=required) for n, (status, required) in enumerate(tasks)]
    phase, said = ends(*records, is_at_limit=is_at_limit)
    is_delivered = any(status == "done" for status, _ in tasks)
    is_whole = all(status == "done" for status, required in tasks if required)
    assert (phase is Phase.complete) == (said is None) == (is_delivered and is_whole)
    assert (phase is Phase.partial) == (is_delivered and not is_whole)
