"""The directory: what each agent of the team is doing, read off the tasks."""

import pytest

from nodes.policy.recruiting import by_role, directory
from state.agent import MemberStatus
from state.record import TaskRecord, TaskStatus
from tests.builders import make_agent, make_outcome, make_record


def status_of(*statuses: TaskStatus, retired: bool = False) -> MemberStatus:
    records = [make_record(f"t{n}", status) for n, status in enumerate(statuses)]
    (member,) = directory(records, [make_agent("ada")], ["ada"] if retired else [])
    return member.status


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], "idle"),
        (["pending"], "idle"),
        (["running", "done"], "running"),
        (["parked"], "running"),
        (["done"], "completed"),
        (["failed", "done"], "completed"),
        (["done", "failed"], "failed"),
        (["done", "skipped"], "failed"),
        (["done", "pending"], "idle"),
    ],
)
def test_the_status_of_an_agent_follows_from_its_tasks(statuses: list[TaskStatus], expected: MemberStatus) -> None:
    assert status_of(*statuses) == expected


def test_one_that_is_retired_is_shown_so_once_it_has_finished() -> None:
    assert status_of("running", retired=True) == "running"
    assert status_of("done", retired=True) == "retired"
    assert status_of(retired=True) == "retired"


def test_a_task_counts_for_who_did_it_and_not_for_who_was_to_do_it() -> None:
    record = make_record("t1", "done", agent="ada", outcome=make_outcome(agent="bob"))
    members = {member.agent: member.tasks for member in directory([record], [make_agent("ada"), make_agent("bob")])}
    assert members == {"ada": [], "bob": ["t1"]}


def test_only_an_agent_all_of_whose_tasks_are_recruits_was_recruited() -> None:
    recruits = [recruited("r1", "ada"), recruited("r2", "bob"), make_record("t1", agent="bob")]
    members = directory(recruits, [make_agent("ada"), make_agent("bob"), make_agent("cyd")])
    assert {member.agent: member.recruited for member in members} == {"ada": True, "bob": False, "cyd": False}


def test_members_are_found_by_role() -> None:
    members = directory([], [make_agent("ada", "writer"), make_agent("bob"), make_agent("cyd", "writer")])
    assert [member.agent for member in by_role(members, "writer")] == ["ada", "cyd"]


def recruited(task: str, agent: str) -> TaskRecord:
    return make_record(task, agent=agent).model_copy(update={"recruited_by": "t0"})
