"""Whether a run may grow: who gets the recruit, and each refusal with its reason."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from nodes.policy.recruiting import Grant, Refusal, recruit
from state.agent import AgentSpec
from state.policy import Policy
from state.record import TaskRecord, TaskStatus
from state.signal import Recruit
from tests.builders import make_agent, make_record

TEAM = [make_agent("ada"), make_agent("hal", "helper", kinds={"analysis": 0.9, "research": 0.2})]


def asked(records: list[TaskRecord], recruiter: str | None = "a", **more: Any) -> Grant | Refusal:
    fields: dict[str, Any] = {"retired": [], "policy": {}, "budget_left": True, "team": TEAM, "role": "helper", **more}
    policy: dict[str, JsonValue] = fields["policy"]
    wanted = Recruit(role=fields["role"], task="Help.", recruiter=recruiter, by="ana")
    team: list[AgentSpec] = fields["team"]
    return recruit(
        wanted, records, team, fields["retired"], Policy.model_validate(policy), budget_left=fields["budget_left"]
    )


@given(by=st.text(min_size=1, max_size=200))
@example(by="José Müller")
@example(by="王")
@example(by="Q\x81É.r1")
def test_whatever_somebody_is_called_they_can_recruit(by: str) -> None:
    wanted = Recruit(role="helper", task="Help.", by=by)
    first = granted(recruit(wanted, [], TEAM, [], Policy(), budget_left=True))
    again = Recruit(role="helper", task="Help with that, too.", by=by)
    second = granted(recruit(again, [first], TEAM, [], Policy(), budget_left=True))
    assert first.id != second.id
    assert first.recruited_by == second.recruited_by == by


def granted(found: Grant | Refusal) -> TaskRecord:
    assert isinstance(found, Grant), found
    return found.record


def member(task: str, agent: str, status: TaskStatus = "running", by: str | None = None) -> TaskRecord:
    return make_record(task, status, agent=agent).model_copy(update={"recruited_by": by})


def test_a_recruit_is_a_task_of_its_own_for_an_agent_of_the_role_and_remembers_who_asked() -> None:
    record = granted(asked([member("a", "ada")]))
    assert (record.id, record.agent, record.recruited_by) == ("a.r1", "hal", "a")
    assert (record.task.role, record.task.description, record.task.depends_on) == ("helper", "Help.", [])
    assert record.task.kind == "analysis"  # what the role is best at


def test_one_that_a_person_asks_for_is_named_after_the_person() -> None:
    record = granted(asked([member("a", "ada")], recruiter=None))
    assert (record.id, record.recruited_by) == ("ana.r1", "ana")


def test_asking_for_the_same_again_gives_the_same_task() -> None:
    first = granted(asked([member("a", "ada")]))
    again = asked([member("a", "ada"), first], policy={"max_team_size": 1})
    assert granted(again) is first


def test_two_people_may_ask_for_the_same() -> None:
    first = granted(asked([member("a", "ada")], recruiter=None))
    second = granted(asked([member("a", "ada"), first], recruiter=None))
    assert (first.id, second.id) == ("ana.r1", "ana.r2")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"policy": {"recruit_roles": ["x", "y"]}}, "role 'helper' may not be recruited; allowed are: x, y"),
        ({"budget_left": False}, "the budget is used up"),
        ({"policy": {"max_delegation_depth": 0}}, "a recruit at depth 1 is too deep, the limit is 0"),
        ({"retired": ["ada", "hal"]}, "every agent of the team is retired"),
        ({"policy": {"max_team_size": 1}}, "the team has 1 members, the limit is 1"),
    ],
)  # fmt: skip
def test_a_refusal_names_its_reason(more: dict[str, Any], reason: str) -> None:
    assert asked([member("a", "ada")], **more) == Refusal(reason)


def test_depth_counts_recruiters_of_recruiters() -> None:
    line = [member("a", "ada"), member("a.r1", "hal", by="a"), member("a.r1.r1", "hal", by="a.r1")]
    assert isinstance(asked(line, "a.r1"), Grant)
    assert asked(line, "a.r1.r1") == Refusal("a recruit at depth 3 is too deep, the limit is 2")


def test_an_idle_member_of_the_role_is_used_even_where_the_team_is_full() -> None:
    found = asked([member("a", "ada"), member("b", "hal", "done")], policy={"max_team_size": 2})
    assert isinstance(found, Grant)
    assert (found.record.agent, found.record.reused) == ("hal", True)
    assert found.reason == "an agent of that role is idle: hal is used"


@pytest.mark.parametrize("status", ["running", "pending", "parked"])
def test_a_member_that_has_something_to_do_is_not_idle(status: TaskStatus) -> None:
    busy = [member("a", "ada"), member("b", "hal", "done"), member("c", "hal", status)]
    assert isinstance(asked(busy, policy={"max_team_size": 2}), Refusal)


def test_one_that_is_retired_gets_no_recruit() -> None:
    assert granted(asked([member("a", "ada"), member("b", "hal", "done")], retired=["hal"])).agent == "ada"


def test_the_team_counts_agents_of_the_plan_and_recruits_but_not_those_that_were_idle() -> None:
    hired = member("a.r1", "hal", by="a")
    reused = member("a.r2", "hal", by="a").model_copy(update={"reused": True})
    records = [member("a", "ada"), member("b", "ada"), hired, reused]
    assert asked(records, policy={"max_team_size": 2}) == Refusal("the team has 2 members, the limit is 2")
    assert isinstance(asked(records, policy={"max_team_size": 3}), Grant)
