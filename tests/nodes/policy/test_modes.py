"""How much machinery a run gets (row M1)."""

import pytest

from nodes.policy.plans import choose_mode, complexity_of
from state.plan import Plan
from state.policy import Policy
from tests.builders import make_plan, make_task

LONE = make_task("a", tools=False)


def ids(count: int) -> list[str]:
    return [f"t{n}" for n in range(count)]


@pytest.mark.parametrize(
    ("plan", "name", "reason"),
    [
        (Plan(tasks=[LONE], complexity=0.29), "simple", "complexity 0.29 is below 0.3"),
        (Plan(tasks=[LONE]), "simple", "complexity 0.15"),
        (Plan(tasks=[LONE], complexity=0.3), "dag", "a fixed plan of 1 task, complexity 0.30"),
        (make_plan("a", complexity=0.1), "dag", "a fixed plan of 1 task,"),
        (Plan(tasks=[LONE, make_task("b", tools=False)], complexity=0.1), "dag", "2 tasks"),
        (make_plan(*ids(5), complexity=1.0), "dag", "5 tasks, complexity 1.00"),
        (make_plan(*ids(6), complexity=0.0), "supervisor", "6 tasks, more than 5"),
        (Plan(tasks=[LONE], complexity=0.1, dynamic=True), "supervisor", "expected to grow"),
        (Plan(tasks=[LONE], complexity=0.1, communicates=True), "supervisor", "talk to each other"),
    ],
)
def test_the_mode_and_its_reason_follow_from_the_plan(plan: Plan, name: str, reason: str) -> None:
    mode = choose_mode(plan, Policy())

    assert mode.name == name
    assert reason in mode.reason


@pytest.mark.parametrize(
    ("plan", "granted", "rounds"),
    [
        (Plan(tasks=[LONE], complexity=0.1), 2, 0),
        (make_plan("a", "b", complexity=0.4), 2, 1),
        (make_plan("a", "b", complexity=0.4), 0, 0),
        (make_plan("a", "b", complexity=0.6), 3, 3),
        (make_plan(*ids(6), complexity=0.1), 3, 3),
    ],
)
def test_hard_requests_get_more_review_rounds_than_easy_ones(plan: Plan, granted: int, rounds: int) -> None:
    assert choose_mode(plan, Policy(max_iterations=granted)).review_rounds == rounds


def test_a_plan_without_an_estimate_is_judged_by_its_shape() -> None:
    assert complexity_of(make_plan("a")) == 0.15
    assert complexity_of(make_plan("a", "b", "c <- a b")) == 0.39
    assert complexity_of(make_plan(*ids(20))) == 1.0
    assert complexity_of(make_plan("a", complexity=0.77)) == 0.77
