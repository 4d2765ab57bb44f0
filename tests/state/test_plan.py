"""A plan is a bounded DAG of unique tasks; what keeps it from being one is said in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from state.plan import MAX_TASKS, Plan, Task, dependents_of, faults, in_cycles
from tests.builders import make_plan, make_task


def test_a_diamond_is_a_plan() -> None:
    plan = make_plan("a", "b <- a", "c <- a", "d <- b c")

    assert plan.task("d").depends_on == ["b", "c"]


def test_a_task_that_is_not_in_the_plan_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="z"):
        make_plan("a").task("z")


@pytest.mark.parametrize(
    ("tasks", "complaint"),
    [
        ([make_task("a"), make_task("a")], "task id 'a' is used 2 times"),
        ([make_task("a", "z")], "task 'a' depends on unknown task 'z'"),
        ([make_task("a", "a")], "task 'a' depends on itself"),
        ([make_task("a", "b"), make_task("b", "a")], "tasks depend on each other in a cycle: a, b"),
    ],
)
def test_what_keeps_tasks_from_being_a_plan_is_said(tasks: list[Task], complaint: str) -> None:
    assert faults(tasks) == [complaint]
    with pytest.raises(ValidationError, match=complaint):
        Plan(tasks=tasks)


def test_tasks_that_only_wait_for_a_cycle_are_named_with_it() -> None:
    tasks = [make_task("free"), make_task("a", "b"), make_task("b", "a"), make_task("after", "b", "free")]

    assert in_cycles(tasks) == ["a", "b", "after"]


def test_a_dependency_that_is_named_twice_counts_once() -> None:
    tasks = [make_task("a"), make_task("b", "a", "a")]

    assert dependents_of(tasks) == {"a": ["b"], "b": []}
    assert in_cycles(tasks) == []


@pytest.mark.parametrize("task_id", ["", " a", "a b", "-a", "a/b", "a\n", "x" * 65])
def test_an_id_that_cannot_be_typed_is_refused(task_id: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        make_task(task_id)


@pytest.mark.parametrize("task_id", ["a", "C'", "t-1", "market.v2", "9", "x" * 64])
def test_an_ordinary_id_is_taken(task_id: str) -> None:
    assert make_task(task_id).id == task_id


def test_more_tasks_than_a_thousand_are_refused() -> None:
    tasks = [make_task(f"t{n}") for n in range(MAX_TASKS + 1)]

    assert len(Plan(tasks=tasks[:-1]).tasks) == 1000
    with pytest.raises(ValidationError, match="at most 1000"):
        Plan(tasks=tasks)


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n), st.integers(0, n))))
    )
)
def test_edges_that_all_point_back_never_make_a_cycle(shape: tuple[int, set[tuple[int, int]]]) -> None:
    count, edges = shape
    tasks = [make_task(f"t{n}", *(f"t{m}" for k, m in sorted(edges) if k == n and m < n)) for n in range(count)]

    assert faults(tasks) == []
