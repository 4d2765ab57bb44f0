"""How a run may grow or pass work on (chapter 15.4, 15.10, rows M24, M25): each refusal with its reason."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nodes.policy.routing import route
from state.agent import AgentSpec, Member, MemberStatus
from state.plan import Task
from state.policy import Policy
from state.record import FINAL, Route, TaskRecord
from state.signal import Recruit

ACTIVE = frozenset({"pending", "running", "parked"})


@dataclass(frozen=True)
class Grant:
    """A recruit that may start."""

    record: TaskRecord
    reason: str


@dataclass(frozen=True)
class Refusal:
    """A recruit that may not, and why."""

    reason: str


def recruit(
    asked: Recruit,
    records: Sequence[TaskRecord],
    team: Sequence[AgentSpec],
    retired: Iterable[str],
    policy: Policy,
    *,
    budget_left: bool,
) -> Grant | Refusal:
    """The record of a new task for `asked`, or why there is none. Asking for the same again gives the same task."""
    if known := _asked_before(asked, records):
        return Grant(known, "it was recruited before")
    if reason := _refusal(asked, records, policy, budget_left=budget_left):
        return Refusal(reason)
    available = [agent for agent in team if agent.name not in set(retired)]
    if not available:
        return Refusal("every agent of the team is retired")
    task = Task(id=_new_id(asked, records), description=asked.task, role=asked.role, kind=_kind(asked, available))
    chosen = route(task, available)
    idle = _idle(asked.role, records, available)
    if idle:
        reason = f"an agent of that role is idle: {idle} is used"
        chosen = Route(agent=idle, reason=reason, scores=chosen.scores)
    elif _size(records) >= policy.max_team_size:
        return Refusal(f"the team has {_size(records)} members, the limit is {policy.max_team_size}")
    record = TaskRecord(
        task=task,
        route=chosen,
        recruited_by=asked.recruiter or asked.by,
        by_person=asked.recruiter is None,
        needed_by=asked.needed_by,
        reused=bool(idle),
    )
    return Grant(record, chosen.reason)


def _refusal(asked: Recruit, records: Sequence[TaskRecord], policy: Policy, *, budget_left: bool) -> str:
    statuses = {record.id: record.status for record in records}
    if unknown := [repr(task_id) for task_id in asked.needed_by if task_id not in statuses]:
        return f"there is no task {', '.join(unknown)} to wait for it; there are {', '.join(statuses)}"
    if begun := [task_id for task_id in asked.needed_by if statuses[task_id] != "pending"]:
        return f"task {', '.join(begun)} has begun, and cannot wait for it any more"
    if policy.recruit_roles is not None and asked.role not in policy.recruit_roles:
        return f"role {asked.role!r} may not be recruited; allowed are: {', '.join(policy.recruit_roles) or 'none'}"
    if not budget_left:
        return "the budget is used up"
    depth = _depth(asked.recruiter, records) + 1
    if depth > policy.max_delegation_depth:
        return f"a recruit at depth {depth} is too deep, the limit is {policy.max_delegation_depth}"
    return ""


def _asked_before(asked: Recruit, records: Sequence[TaskRecord]) -> TaskRecord | None:
    """The recruit that the same task asked for with the same words: a try made again, or a step after a crash."""
    if not asked.recruiter:
        return None
    same = (r for r in records if r.recruiter == asked.recruiter and r.task.role == asked.role)
    return next((r for r in same if r.task.description == asked.task), None)


def _depth(recruiter: str | None, records: Sequence[TaskRecord]) -> int:
    """How many recruits stand between a task and the plan."""
    by_id = {record.id: record for record in records}
    depth = 0
    while recruiter in by_id and by_id[recruiter].recruited_by:
        depth, recruiter = depth + 1, by_id[recruiter].recruiter
    return depth


def _new_id(asked: Recruit, records: Sequence[TaskRecord]) -> str:
    """Says who asked, as far as an id can: people have names in all letters."""
    plain = unicodedata.normalize("NFKD", asked.recruiter or asked.by).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9_.'-]+", "-", plain)[:50] + ".r"
    stem = stem if stem[0].isalnum() else f"x{stem}"
    taken = {record.id for record in records}
    return next(name for n in range(1, len(taken) + 2) if (name := f"{stem}{n}") not in taken)


def _kind(asked: Recruit, team: Sequence[AgentSpec]) -> str:
    """The kind of work that agents of the role are best at."""
    kinds = [agent.skills.kinds for agent in team if asked.role in (agent.role, agent.name) and agent.skills.kinds]
    return max(kinds[0], key=lambda kind: kinds[0][kind]) if kinds else "general"


def _idle(role: str, records: Sequence[TaskRecord], team: Sequence[AgentSpec]) -> str | None:
    """A member of the run of that role who has nothing left to do."""
    members = {r.agent for r in records if r.status in FINAL} - {r.agent for r in records if r.status in ACTIVE}
    return next((agent.name for agent in team if agent.name in members and role in (agent.role, agent.name)), None)


def _size(records: Sequence[TaskRecord]) -> int:
    """Members: every agent of the plan, and every recruit that was not an idle member."""
    planned = {record.agent for record in records if record.recruited_by is None}
    return len(planned) + sum(record.recruited_by is not None and not record.reused for record in records)


def may_delegate(spec: AgentSpec, chain: Sequence[str], depth_limit: int, policy: Policy) -> bool:
    """Whether the agent gets the tool at all: it has workers, the policy allows it, and there is depth left."""
    return bool(spec.workers) and policy.delegation != "forbidden" and len(chain) < depth_limit


def refusal(
    worker: str,
    task: str,
    *,
    spec: AgentSpec,
    chain: Sequence[str],
    depth_limit: int,
    policy: Policy,
    retired: Collection[str] = (),
) -> str:
    """Why `spec` may not delegate `task` to `worker`, or an empty string.

    `chain`: who delegated to it, outermost first. `depth_limit`: the supervisor's own depth limit, or what an outer
    supervisor has left of its own.
    """
    roster = ", ".join(spec.workers) or "none"
    if policy.delegation == "forbidden":
        return "delegating is forbidden here; do the work yourself"
    depth = len(chain) + 1
    if depth > depth_limit:
        return f"a delegation at depth {depth} is too deep, the limit is {depth_limit}; do it yourself"
    if not task.strip():
        return "the task is empty; say what is to be done"
    if worker == spec.name:
        return f"{worker} is yourself; do it, or give it to one of: {roster}"
    if worker in chain:
        way = " to ".join([*chain, spec.name])
        return f"{worker} waits for your result (delegated from {way}); a cycle never ends, do it yourself"
    if worker not in spec.workers:
        return f"{worker!r} is not among your workers; they are: {roster}"
    if worker in retired:
        return f"{worker} is retired; your workers are: {roster}"
    return ""


def may_transfer(chain: Sequence[str], depth_limit: int) -> bool:
    """Whether an agent may hand its task over: hand-overs are bounded like delegations, and none goes in circles."""
    return len(chain) < max(1, depth_limit)


def nobody(name: str, team: Iterable[AgentSpec]) -> str:
    """The refusal of what names an agent that there is not, with the roster."""
    return f"there is no agent {name!r}; there are: {', '.join(agent.name for agent in team)}"


def directory(
    records: Iterable[TaskRecord],
    team: Iterable[AgentSpec],
    retired: Collection[str] = (),
    unread: Mapping[str, int] | None = None,
) -> list[Member]:
    """Every agent of the team with its status; a new list each time. `unread`: messages, by agent."""
    tasks: dict[str, list[TaskRecord]] = {}
    for record in records:
        who = (record.outcome.agent if record.outcome else "") or record.agent or ""  # did it, or is to do it
        tasks.setdefault(who, []).append(record)
    waiting = unread or {}
    return [
        _member(agent, tasks.get(agent.name, []), agent.name in retired, waiting.get(agent.name, 0)) for agent in team
    ]


def by_role(members: Iterable[Member], role: str) -> list[Member]:
    """The members of one role."""
    return [member for member in members if member.role == role]


def _member(agent: AgentSpec, records: list[TaskRecord], retired: bool, unread: int) -> Member:
    recruited = bool(records) and all(record.recruited_by for record in records)
    ids = [record.id for record in records]
    status = _status(records, retired)
    return Member(agent=agent.name, role=agent.role, status=status, tasks=ids, recruited=recruited, unread=unread)


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
