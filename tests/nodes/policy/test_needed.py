"""Which agents a run cannot do without."""

import pytest

from nodes.policy.phases import needed
from state.record import Outcome, Route, TaskRecord, TaskStatus
from tests.builders import make_task

TEAM = ["ada", "bo", "cy"]


def record(agent: str | None, status: TaskStatus = "pending", *, now_with: str = "") -> TaskRecord:
    return TaskRecord(
        task=make_task(),
        route=Route(agent=agent, reason="", scores=[]) if agent else None,
        status=status,
        outcome=Outcome(task_id="t1", agent=now_with, status="parked") if now_with else None,
    )


@pytest.mark.parametrize(
    ("records", "names"),
    [
        ([], TEAM),
        ([record("ada", "done"), record(None)], TEAM),
        ([record("bo"), record("ada", "parked"), record("bo", "running")], ["bo", "ada"]),
        ([record("ada", "done"), record("bo", "failed"), record("cy", "skipped")], []),
        ([record(None, "done"), record("cy")], ["cy"]),
        ([record("ada", "parked", now_with="cy")], ["ada", "cy"]),
        ([record("human", "parked", now_with="human")], []),
        ([record("recruited")], ["recruited"]),
    ],
    ids=["no plan", "not routed", "unfinished", "finished", "by hand", "handed on", "a human's", "joined later"],
)
def test_needed_are_those_with_unfinished_tasks_and_all_before_there_is_a_route(
    records: list[TaskRecord], names: list[str]
) -> None:
    assert needed(records, TEAM) == names


def test_nothing_is_known_of_runs_that_kept_no_names() -> None:
    assert needed([record("ada"), record(None)], []) == []
