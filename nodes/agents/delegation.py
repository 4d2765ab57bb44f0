"""Delegating: one agent has another one do something, and goes on with the result (row M24).

What came of each delegation is kept in the Store under the delegating agent's task and the delegation's own key, in
the same transaction as its event: after a crash or a question, what was delivered is not done again, and a worker that
waited goes on where it stood.
"""

import re
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import NoReturn

from langgraph.store.base import PutOp

from nodes.agents.invocation import Invocation
from nodes.llm.tokens import tokens_in
from nodes.policy.recruiting import may_transfer, refusal
from nodes.runtime.calling import HandOver, Parked
from nodes.runtime.rows import read_all, space
from state.agent import AgentSpec, Brief
from state.approval import Approval
from state.delegation import Delegation
from state.errors import ToolRefused
from state.event import EventKind
from state.plan import Task
from state.record import Outcome, Usage

Work = Callable[[Invocation], Awaitable[Outcome]]


SHOWN = 500
"""Characters of a worker's result that its event tells; the whole is in the run."""


class Delegations:
    """What one agent delegates in one try of one task."""

    def __init__(self, invocation: Invocation, work: Work) -> None:
        self._invocation = invocation
        self._run = invocation.execution.run
        self._work = work
        self._away = 0
        self.has_begun = False
        """Whether this try has asked for one; a function asks for all of them again when it runs again."""

    async def delegate(
        self, worker: str, task: str, constraints: str = "", key: str = "", *, is_allowed: bool = False
    ) -> Outcome:
        """What the worker delivered, or how it failed.

        Raises:
            ToolRefused: it may not be delegated; the message says why.
            Parked: a human has to allow it first (`is_allowed`: was asked already), or the worker waits for one.
        """
        self.has_begun = True
        row = await self._row(key)
        if row is None:
            if why := await self._refusal(worker, task):
                raise ToolRefused(f"not delegated: {why}")
        elif row.outcome and self._stands(row, row.outcome):
            return row.outcome
        if not is_allowed:
            asked = worker
            worker, task, constraints = self._permitted(worker, task, constraints, key)
            if worker != asked and row is None and (why := await self._refusal(worker, task)):
                raise ToolRefused(f"not delegated: {why}")
        return await self._done(self._run.services.team.agent(worker), task, constraints, key, row)

    def transfer(self, to: str, note: str) -> NoReturn:
        """End here, for `to` to finish the task; there is no way back.

        Raises:
            ToolRefused: `to` is not among the agent's handoffs, or had the task before, or it is not the agent's own
                task: another one has delegated it and waits.
        """
        if self._invocation.chain:
            waits = self._invocation.chain[-1]
            raise ToolRefused(f"the task is not yours to hand over: {waits} waits for your result; finish it yourself")
        spec, tried = self._invocation.spec, self._invocation.tried
        roster = ", ".join(spec.handoffs) or "none"
        if to not in spec.handoffs:
            raise ToolRefused(f"{to!r} cannot take your task over; these can: {roster}")
        if to in tried or not may_transfer(tried, self._run.depth_limit):
            raise ToolRefused(
                f"{to} cannot take it over: the task was handed on {len(tried)} times; finish it yourself"
            )
        raise HandOver(to, note)

    async def used(self) -> Usage:
        """What the delegations of this try have used; it is on the ledger already."""
        rows = await read_all(self._run.store, space("delegations", self._run.thread_id))
        found = [Delegation.model_validate(item.value) for item in rows if item.key.startswith(f"{self._base}:")]
        return sum((row.outcome.usage for row in found if row.outcome and row.label == self._invocation.label), Usage())

    @property
    def _base(self) -> str:
        invocation = self._invocation
        return f"{invocation.brief.task.id}.{invocation.brief.iteration}.{invocation.spec.name}"

    async def _row(self, key: str) -> Delegation | None:
        item = await self._run.store.aget(space("delegations", self._run.thread_id), f"{self._base}:{key}")
        return Delegation.model_validate(item.value) if item else None

    def _put(self, key: str, row: Delegation) -> PutOp:
        place = space("delegations", self._run.thread_id)
        return PutOp(place, f"{self._base}:{key}", row.model_dump(mode="json"))

    def _stands(self, row: Delegation, outcome: Outcome) -> bool:
        """Whether it is not to be done again: it delivered, failed in this very try, or still waits (then: Parked)."""
        if outcome.status != "parked":
            return outcome.status == "done" or row.label == self._invocation.label
        known = self._invocation.execution.signals.decisions
        if outcome.approvals and not any(approval.id in known for approval in outcome.approvals):
            raise Parked(*outcome.approvals)
        return False

    async def _refusal(self, worker: str, task: str) -> str:
        invocation = self._invocation
        why = refusal(
            worker,
            task,
            spec=invocation.spec,
            chain=invocation.chain,
            depth_limit=self._run.depth_limit,
            policy=self._run.policy,
            retired=invocation.execution.signals.retired,
        )
        return why or await invocation.execution.budget.refusal(tokens_in(task))

    def _permitted(self, worker: str, task: str, constraints: str, key: str) -> tuple[str, str, str]:
        """Worker, task and constraints as a human allows them, where the policy wants one asked."""
        if self._run.policy.delegation != "needs_approval":
            return worker, task, constraints
        invocation = self._invocation
        asked = f"{self._base}:{key}"
        said = invocation.execution.signals.decisions.get(asked)
        if said is None:
            raise Parked(
                Approval(
                    id=asked,
                    task_id=invocation.brief.task.id,
                    agent=invocation.spec.name,
                    path=invocation.path,
                    action="delegate_to_agent",
                    args={"worker_agent": worker, "task": task, "constraints": constraints},
                    reason=NEEDS_APPROVAL,
                    needs_human=True,
                    description=f"{invocation.spec.name} wants {worker} to do: {task}",
                )
            )
        if said.type == "reject":
            raise ToolRefused(f"not delegated: {said.who} did not allow it {said.message}".strip())
        args = said.args or {}
        given = {"worker_agent": worker, "task": task, "constraints": constraints, **args}
        return str(given["worker_agent"]), str(given["task"]), str(given["constraints"])

    async def _done(self, worker: AgentSpec, task: str, constraints: str, key: str, row: Delegation | None) -> Outcome:
        """The worker's part, with its events; the delegating agent makes room for it meanwhile."""
        invocation, clock = self._invocation, self._run.services.clock
        before = row.outcome if row else None
        told = {"worker": worker.name, "task": task[:2000], "depth": len(invocation.chain) + 1}
        if row is None:
            row = Delegation(
                label=invocation.label,
                started_at=clock.now(),
                task_id=invocation.charged_task,
                agent=invocation.spec.name,
                worker=worker.name,
                task=task,
                constraints=constraints,
            )
            await self._emit("delegation_started", [self._put(key, row)], constraints=constraints or None, **told)
        made = await self._worked(worker, self._brief(worker, task, constraints, key), key, row)
        earlier = row.earlier + (before.usage if before else Usage())
        parked = made.status == "parked"
        made = made if parked else made.model_copy(update={"attempts": 1, "tried": [worker.name]})
        changes = {"outcome": made, "label": invocation.label, "legs": row.legs + parked, "earlier": earlier}
        row = row.model_copy(update=changes)
        if parked:
            await self._run.store.abatch([self._put(key, row)])
            raise Parked(*made.approvals)
        await self._emit(
            "delegation_completed",
            [self._put(key, row)],
            status=made.status,
            tokens=(earlier + made.usage).total_tokens,
            duration_s=round(clock.now() - row.started_at, 3),
            reason=made.failure.message if made.failure else None,
            result=made.text[:SHOWN] or None,
            **told,
        )
        return made

    async def _worked(self, worker: AgentSpec, brief: Brief, key: str, row: Delegation) -> Outcome:
        invocation, slots = self._invocation, self._invocation.execution.concurrency
        mine = Invocation(
            execution=invocation.execution,
            spec=worker,
            brief=brief,
            label=f"{invocation.label}>{key}.{row.legs}",
            conversation=row.outcome.conversation if row.outcome and row.outcome.status == "parked" else (),
            chain=(*invocation.chain, invocation.spec.name),
            charged_to=invocation.charged_task,
        )
        self._away += 1
        if self._away == 1:
            slots.release()
        try:
            async with slots:
                return await self._work(mine)
        finally:
            self._away -= 1
            if self._away == 0:
                await slots.acquire()

    def _brief(self, worker: AgentSpec, task: str, constraints: str, key: str) -> Brief:
        """What the worker gets to know: the request, its part, and what it has to respect; not the rest."""
        above = self._invocation.brief
        mark = sha256(f"{self._base}:{key}".encode()).hexdigest()[:6]
        task_id = f"{re.sub(r'[^A-Za-z0-9_.-]', '-', above.task.id)[:50]}.d{mark}"
        kinds = worker.skills.kinds
        kind = max(kinds, key=lambda name: kinds[name]) if kinds else "general"
        mine = Task(id=task_id, description=task[:20_000], role=worker.role, kind=kind)
        return Brief(
            query=above.query,
            task=mine,
            constraints=constraints,
            iteration=above.iteration,
            sources=above.sources,
            earlier=above.earlier,
        )

    async def _emit(self, kind: EventKind, rows: list[PutOp], **data: object) -> None:
        invocation = self._invocation
        await self._run.emit(
            kind, task_id=invocation.charged_task, agent=invocation.spec.name, path=invocation.path, also=rows, **data
        )


NEEDS_APPROVAL = "every delegation waits for a human (policy delegation: needs_approval)"
