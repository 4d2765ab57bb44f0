"""Runs with questions on three levels, and what came of them on the records of the outermost run."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from graph.app import build_supervisor
from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.errors import ThreadUnknown
from state.replies import PlanDraft, TaskDraft
from state.run import Run
from tests.journeys.doom import THREAD
from tests.runs import agent, plan

PATIENCE_S = 90
"""After this a test that waits for something fails."""
IDS = {"top": "top.0.q1", "one": "a.0.mid/one.0.q1", "two": "a.0.mid/m.0.low/two.0.q1"}
"""The questions of `Levels`, by the task that asks: outermost, one level down, two levels down."""
PATHS = {"top": ["ada"], "one": ["mid", "ada"], "two": ["mid", "low", "ada"]}
PLAN = plan("top", {"id": "a", "role": "mid"}, {"id": "busy", "role": "busy"})


def drafts(*tasks: str) -> list[TaskDraft]:
    """Tasks of a plan: each by its id, its role and what it builds on, as in `drafts("a", "b: clerk <- a")`."""
    made = []
    for task in tasks:
        named, _, after = task.partition("<-")
        name, _, role = (part.strip() for part in named.partition(":"))
        made.append(TaskDraft(id=name, description=f"Do {name}.", role=role or "generalist", depends_on=after.split()))
    return made


def unit(name: str, *team: AgentSpec, tasks: Sequence[str], model: Any = None, **policy: Any) -> AgentSpec:
    """A nested supervisor whose plan has these tasks."""
    planned = ScriptedModel({lambda _: True: PlanDraft(tasks=drafts(*tasks), complexity=0.5)})
    graph = build_supervisor(team, policy={"max_iterations": 0, **policy}, model=model or planned)
    return AgentSpec(name=name, role=name, run=graph)


class Levels:
    """One task asks on each level; `busy` works in the outermost run, and `idle` two levels down, until `let_go`."""

    def __init__(self, risk: Any = "medium", **policy: Any) -> None:
        self.risk, self.policy = risk, policy
        self.began: list[str] = []
        self.did: list[str] = []
        self.said: dict[str, str] = {}
        self.let_go = asyncio.Event()

    @property
    def team(self) -> list[AgentSpec]:
        ada = agent(self.work)
        low = unit("low", ada, tasks=("two", "idle"), **self.policy)
        mid = unit("mid", ada, low, tasks=("one", "m: low"), **self.policy)
        return [ada, mid, agent(self.work, "busy", "busy")]

    async def work(self, brief: Brief, desk: Desk) -> str:
        task = brief.task.id
        self.began.append(task)
        if task in IDS:
            said = await desk.ask(f"send {task}", {"to": task}, self.risk)
            self.said[task] = f"{said.type} by {said.by}"
            self.did.append(task)
            return self.said[task]
        while not self.let_go.is_set():
            await desk.pause_point()
            await asyncio.sleep(0.001)
        return f"{task} went on"

    async def until_done(self, *tasks: str) -> None:
        """Wait until these have their answers and have gone on."""
        async with asyncio.timeout(PATIENCE_S):
            while not set(tasks) <= set(self.did):  # noqa: ASYNC110 - agents get no event
                await asyncio.sleep(0.002)


async def until_asked(sup: Supervisor, *ids: str) -> Run:
    """The run, once it has these questions and no others, each asked: a task is parked a moment before it has asked."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ThreadUnknown):  # it has not begun
                run = await sup.view(THREAD)
                if {asked.id for asked in run.approvals} == set(ids) and all(one.expires_at for one in run.approvals):
                    return run
            await asyncio.sleep(0.002)


async def recorded(sup: Supervisor) -> dict[str, list[str]]:
    """By question: what the audit log, which holds, and the events of the outermost run say of it, in their order."""
    entries, broken = await sup.audit(THREAD)
    assert broken == ""
    found: dict[str, list[str]] = {}
    for entry in (one for one in entries if one.approval):
        found.setdefault(entry.approval, []).append(f"{entry.kind} {entry.decision} {entry.by}".strip())
    for event in await sup.events(THREAD):
        if event.kind in ("approval_requested", "approval_answered"):
            found.setdefault(str(event.data["id"]), []).append(event.kind)
    return found


def once(by: str, decision: str = "approve") -> list[str]:
    """The records of a question that was asked once and answered once."""
    return ["requested", f"answered {decision} {by}", "approval_requested", "approval_answered"]


class Postbox:
    """Keeps what is told to whom."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        self.told.append(f"{'next person: ' if escalated else ''}{title}")
        return True
