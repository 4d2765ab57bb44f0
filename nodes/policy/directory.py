"""The team directory, from the tasks as they are (chapter 15.4: list, find by role)."""

from collections.abc import Collection, Iterable

from state.agent import AgentSpec
from state.directory import Member, MemberStatus
from state.record import TaskRecord


def directory(records: Iterable[TaskRecord], team: Iterable[AgentSpec], retired: Collection[str] = ()) -> list[Member]:
    """Every agent of the team with its status; a new list each time."""
    tasks: dict[str, list[TaskRecord]] = {}
    for record in records:
        tasks.setdefault(_doer(record), []).append(record)
    return [_member(agent, tasks.get(agent.name, []), agent.name in retired) for agent in team]


def by_role(members: Iterable[Member], role: str) -> list[Member]:
    """The members of one role."""
    return [member for member in members if member.role == role]


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
