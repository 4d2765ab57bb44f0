"""The team directory, from the tasks as they are (chapter 15.4: list, find by role)."""

from collections.abc import Collection, Iterable, Mapping

from state.agent import AgentSpec
from state.directory import Member, MemberStatus
from state.record import TaskRecord
from state.signal import EVERYBODY
from state.team import Team


def directory(records: Iterable[TaskRecord], team: Iterable[AgentSpec], retired: Collection[str] = ()) -> list[Member]:
    """Every agent of the team with its status; a new list each time."""
    tasks: dict[str, list[TaskRecord]] = {}
    for record in records:
        tasks.setdefault(_doer(record), []).append(record)
    return [_member(agent, tasks.get(agent.name, []), agent.name in retired) for agent in team]


def by_role(members: Iterable[Member], role: str) -> list[Member]:
    """The members of one role."""
    return [member for member in members if member.role == role]


def addressees(to: str, sender: str, team: Team, records: Mapping[str, TaskRecord]) -> list[str]:
    """The agents that an address means: all, a name, whoever does a task, or a role."""
    if to == EVERYBODY:
        return [agent.name for agent in team if agent.name != sender]
    if to in team:
        return [to]
    record = records.get(to)
    if record and record.agent:
        return [record.agent]
    return [agent.name for agent in team if agent.role == to]


def _doer(record: TaskRecord) -> str:
    """Who did it, or is to do it."""
    return (record.outcome.agent if record.outcome else "") or record.agent or ""


def _member(agent: AgentSpec, records: list[TaskRecord], retired: bool) -> Member:
    recruited = bool(records) and all(record.recruited_by for record in records)
    ids = [record.id for record in records]
    return Member(agent=agent.name, role=agent.role, status=_status(records, retired), tasks=ids, recruited=recruited)


def _status(records: list[TaskRecord], retired: bool) -> MemberStatus:
    statuses = [record.status for record in records]
    if any(status in ("running", "parked") for status in statuses):
        return "running"
    if retired:
        return "retired"
    ended = [status for status in statuses if status in ("done", "failed", "skipped", "cancelled")]
    if not ended or "pending" in statuses:
        return "idle"
    return "completed" if ended[-1] == "done" else "failed"
