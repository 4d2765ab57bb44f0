"""Questions to humans: each asked once, with a deadline, on record and announced, whatever crashes in between.

What is true of a question (its deadline above all) stands in the Store under `approvals`; that somebody was told, under
`told`. A process that dies between the two leaves it to the next one to tell. Those of nested supervisors are among
them (`nodes.runtime.asking`).
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf

from langgraph.store.base import PutOp

from nodes.policy.deadlines import decided, escalated, is_expired, stamped
from nodes.runtime.audit import entry_of
from nodes.runtime.context import RunContext
from nodes.runtime.nesting import Decide, Waiting
from nodes.runtime.notify import body_of, tell, title_of
from nodes.runtime.rows import read_all, space
from state.approval import POLICY, Approval, Decision

ON_THE_LOOP = "on_the_loop"


class Questions:
    """The questions of one run."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self.below: dict[str, Waiting] = {}
        """What nested supervisors at work wait for, by what stands before the ids of their questions."""
        self._known: dict[str, Approval] = {}
        self._asking = asyncio.Lock()
        self._telling: set[asyncio.Task[None]] = set()
        self._announced: set[str] = set()

    async def load(self) -> None:
        """Read what was asked before."""
        rows = await read_all(self._run.store, space("approvals", self._run.thread_id))
        self._known = {row.key: Approval.model_validate(row.value) for row in rows}

    def known(self, approval_id: str) -> Approval | None:
        """A question as it was asked; None if it was not."""
        return self._known.get(approval_id)

    def deadline(self, approval_id: str) -> float:
        """When the policy decides a question, seconds since the epoch; never, if it has no deadline."""
        known = self._known.get(approval_id)
        return known.expires_at if known and known.expires_at is not None else inf

    async def ask(self, approval: Approval) -> Approval:
        """Ask, unless it was asked before; returns the question with its deadline. Messages go out on the side."""
        asked = await self._on_record(approval)
        self._announce(asked)
        return asked

    async def note(self, approval: Approval) -> None:
        """Put on record, once, that something is done which needs no answer, and tell people."""
        if approval.id in self._known:
            return
        now = self._run.services.clock.now()
        noted = approval.model_copy(update={"asked_at": now})
        decision = Decision(type="approve", by=POLICY, door=ON_THE_LOOP, message="done without asking (on_the_loop)")
        async with self._run.audit.sealing(entry_of("noted", noted, now, decision)) as rows:
            await self._answered(noted, decision, [*rows, self._row(noted)])
        self._announce(noted, "Baton goes on")

    async def answer(self, approval: Approval, decision: Decision, decide: Decide, also: Sequence[PutOp] = ()) -> None:
        """Keep a decision, with its event and its line in the audit log in one transaction.

        One to a question that was seen on the board a moment before it was on record puts it there first.
        """
        asked = await self._on_record(approval)
        async with self._run.audit.sealing(
            entry_of("answered", asked, self._run.services.clock.now(), decision)
        ) as rows:
            await self._answered(asked, decision, [*rows, decide(approval.id, decision), *also])

    async def expire(self, waiting: Sequence[Approval], decide: Decide) -> dict[str, Decision]:
        """What the policy decides of those whose time is up; some may go to somebody else first."""
        made: dict[str, Decision] = {}
        for approval in waiting:
            asked = self._known.get(approval.id, approval)
            if not is_expired(asked, self._run.services.clock.now()):
                continue
            if decision := decided(asked, self._run.policy):
                await self.answer(asked, decision, decide)
                made[asked.id] = decision
            else:
                await self._escalate(asked)
        return made

    async def announced(self, waiting: Sequence[Approval] = ()) -> None:
        """Wait until everybody was told, or could not be; also of those that a crash kept from being announced."""
        for approval in waiting:
            self._announce(self._known.get(approval.id, approval))
        while self._telling:
            await asyncio.gather(*self._telling)

    def waiting_below(self) -> list[Approval]:
        """What nested supervisors at work wait for."""
        return [question for waiting in list(self.below.values()) for question in waiting()]

    @contextmanager
    def heard(self, waiting: Waiting) -> Iterator[None]:  # noqa: ARG002 - nobody is above the outermost
        """While inside, whoever is above knows what is waited for."""
        yield

    def hang_up(self) -> None:
        """Tell nobody any more: the run stops here, and the next process tells whoever was not reached."""
        for task in self._telling:
            task.cancel()

    async def _on_record(self, approval: Approval) -> Approval:
        async with self._asking:
            asked = self._known.get(approval.id)
            if asked is None:
                asked = stamped(approval, self._run.policy, self._run.services.clock.now())
                async with self._run.audit.sealing(entry_of("requested", asked, asked.asked_at)) as rows:
                    await self._requested(asked, rows)
        return asked

    async def _requested(self, asked: Approval, rows: Sequence[PutOp]) -> None:
        self._known[asked.id] = asked
        fields = asked.model_dump(mode="json", exclude={"task_id", "agent", "path", "args_schema"})
        await self._run.emit(
            "approval_requested",
            task_id=asked.task_id or None,
            agent=asked.agent,
            path=asked.path or None,
            also=[*rows, self._row(asked)],
            **fields,
        )

    async def _answered(self, asked: Approval, decision: Decision, rows: Sequence[PutOp]) -> None:
        await self._run.emit(
            "approval_answered",
            task_id=asked.task_id or None,
            agent=asked.agent,
            path=asked.path or None,
            also=rows,
            id=asked.id,
            decision=decision.type,
            by=decision.by,
            message=decision.message,
        )
        self._known[asked.id] = asked

    async def _escalate(self, asked: Approval) -> None:
        now = self._run.services.clock.now()
        passed_on = escalated(asked, self._run.policy, now)
        async with self._run.audit.sealing(entry_of("escalated", passed_on, now)) as rows:
            await self._requested(passed_on, rows)
        self._announce(passed_on)

    def _row(self, approval: Approval) -> PutOp:
        place = space("approvals", self._run.thread_id)
        return PutOp(place, approval.id, approval.model_dump(mode="json"))

    def _announce(self, approval: Approval, opening: str = "") -> None:
        key = f"{approval.id}{'.escalated' if approval.escalated else ''}"
        if key in self._announced:
            return
        self._announced.add(key)
        task = asyncio.create_task(self._tell(approval, key, opening))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, approval: Approval, key: str, opening: str) -> None:
        place = space("told", self._run.thread_id)
        if await self._run.store.aget(place, key):
            return
        services, thread_id = self._run.services, self._run.thread_id
        title = title_of(thread_id, approval, opening)
        delivered = await tell(
            services.notifier, services.clock, title, body_of(thread_id, approval), escalated=approval.escalated
        )
        await self._run.store.aput(place, key, {"at": services.clock.now(), "delivered": delivered})
