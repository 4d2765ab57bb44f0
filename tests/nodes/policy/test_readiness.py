"""Which tasks may run, and which run again (rows M9, M21)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.phases import is_assembled, is_decomposed, is_executed, is_reviewed, is_routed
from nodes.policy.readiness import downstream, kept, readiness, sent_back
from state.errors import FailureClass
from state.plan import Task
from state.record import Failure, OutcomeStatus, TaskStatus
from tests.builders import make_outcome, make_record, make_task


@st.composite
def dags(draw: st.DrawFn) -> list[Task]:
    count = draw(st.integers(1, 10))
    edges = [draw(st.sets(st.integers(0, max(0, n - 1)))) if n else set() for n in range(count)]
    return [make_task(f"t{n}", *(f"t{m}" for m in sorted(edges[n]))) for n in range(count)]


def reaches(tasks: list[Task], start: str, end: str) -> bool:
    """The naive definition: `end` depends on `start`, directly or not."""
    by_id = {task.id: task for task in tasks}
    return any(other == start or reaches(tasks, start, other) for other in by_id[end].depends_on)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], "ready"),
        (["done", "done"], "ready"),
        (["done", "failed"], "ready"),
        (["failed", "skipped"], "hopeless"),
        (["cancelled"], "hopeless"),
        (["done", "parked"], "blocked"),
        (["failed", "blocked"], "blocked"),
    ],
)
def test_what_inputs_mean_for_a_task(statuses: list[OutcomeStatus], expected: str) -> None:
    inputs = {f"i{n}": make_outcome(f"i{n}", status=status) for n, status in enumerate(statuses)}

    assert readiness(make_task("t", *inputs), inputs) == expected


@given(dags(), st.data())
def test_downstream_is_all_that_builds_on_a_task_and_nothing_else(tasks: list[Task], data: st.DataObject) -> None:
    changed = data.draw(st.sampled_from(tasks)).id

    assert downstream(tasks, [changed]) == {task.id for task in tasks if reaches(tasks, changed, task.id)}


@given(dags(), st.data())
def test_sending_back_makes_all_dependents_stale_and_touches_nothing_else(
    tasks: list[Task], data: st.DataObject
) -> None:
    chosen = data.draw(st.sets(st.sampled_from([task.id for task in tasks])))
    records = [make_record(task, "done", outcome=make_outcome(task.id)) for task in tasks]
    after = {record.id: record for record in sent_back(records, dict.fromkeys(chosen, "Say more."))}
    stale = downstream(tasks, chosen)

    assert list(after) == [task.id for task in tasks]
    for before in records:
        now = after[before.id]
        if before.id in chosen:
            assert (now.status, now.feedback) == ("pending", "Say more.")
        elif before.id in stale:
            assert (now.status, now.feedback) == ("pending", "")
        else:
            assert now == before


@pytest.mark.parametrize(
    ("statuses", "over"),
    [
        (["done", "failed", "skipped", "cancelled"], True),
        (["done", "pending"], False),
        (["running"], False),
        (["parked"], False),
    ],
)
def test_executing_ends_when_every_task_has_ended(statuses: list[TaskStatus], over: bool) -> None:
    assert is_executed([make_record(f"t{n}", status) for n, status in enumerate(statuses)]) is over


def test_decomposing_ends_with_tasks_whose_dependencies_are_valid() -> None:
    assert is_decomposed([make_task("a"), make_task("b", "a")])
    assert not is_decomposed([])
    assert not is_decomposed([make_task("b", "a")])


def test_routing_ends_when_every_task_has_an_agent() -> None:
    assert is_routed([make_record("a", agent="ada")])
    assert not is_routed([make_record("a", agent="ada"), make_record("b", agent=None)])


@pytest.mark.parametrize(
    ("feedback", "iteration", "over"),
    [({}, 0, True), ({"a": "More."}, 0, False), ({"a": "More."}, 1, False), ({"a": "More."}, 2, True)],
)
def test_reviewing_ends_when_nothing_is_sent_back_or_the_rounds_are_used_up(
    feedback: dict[str, str], iteration: int, over: bool
) -> None:
    assert is_reviewed(feedback, iteration, rounds=2) is over


@pytest.mark.parametrize(("report", "over"), [(None, False), (" \n", False), ("# Yes", True)])
def test_assembling_ends_with_a_report(report: str | None, over: bool) -> None:
    assert is_assembled(report) is over


@pytest.mark.parametrize(
    ("feedback", "kind", "result"),
    [
        ("Say more.", "permanent", "First."),
        ("Say more.", "limit", "First."),
        ("Say more.", "denied", ""),
        ("", "permanent", ""),
    ],
)
def test_what_was_sent_back_keeps_its_result_where_doing_it_again_fails(
    feedback: str, kind: FailureClass, result: str
) -> None:
    record = make_record("t", outcome=make_outcome("t", "First.")).model_copy(update={"feedback": feedback})
    failed = {"status": "failed", "result": "", "failure": Failure(kind=kind, message="no")}
    made = kept(record, make_outcome("t", iteration=1).model_copy(update=failed))

    assert (made.result, made.iteration) == (result, 1)
    assert made.not_improved == ("no" if result else "")
