"""Asking humans: each question once, with a deadline, an audit line and a notification, whatever crashes in between.

What is true of a question (its deadline above all) stands in the Store under `approvals`; that somebody was
notified, under `told`. A process that dies between the two leaves it to the next one to notify. A message that
cannot be delivered is tried again and then given up: it never fails a run.

Questions of a nested supervisor are asked, notified, decided and recorded by the outermost one. Inside stands only
what was asked, by the ids that are used there, so that work goes on in place when the answer comes
(`SignalState.attach_to`). A process that dies after a question was asked outside, and before anybody inside knows,
has it asked again under the same id: outside it is known, and nothing is doubled.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf

from langgraph.store.base import PutOp

from nodes.policy.approvals import (
    decision_on_expiry,
    escalated,
    is_expired,
    is_unanswerable,
    with_deadline,
)
from nodes.policy.failures import retry_delay
from nodes.policy.shown import args_of
from nodes.runtime.audit import entry_of
from nodes.runtime.clock import Clock, Notifier
from nodes.runtime.context import RunContext
from nodes.runtime.nesting import Decide, OuterRun, Waiting
from nodes.runtime.rows import read_all, space
from state.approval import POLICY, Approval, Decision

ON_THE_LOOP = "on_the_loop"


class Approvals:
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
        """Ask, unless it was asked before; returns the question with its deadline. Messages go out on the side.

        In a run that cannot wait the deadline is now, and nobody is told: the policy decides.
        """
        asked = await self._on_record(approval)
        self._announce(asked)
        return asked

    async def record_only(self, approval: Approval) -> None:
        """Put on record, once, that something is done which needs no answer, and tell people."""
        if approval.id in self._known:
            return
        now = self._run.services.clock.now()
        noted = approval.model_copy(update={"asked_at": now})
        decision = Decision(type="approve", by=POLICY, door=ON_THE_LOOP, message="done without asking (on_the_loop)")
        async with self._run.audit.sealing(entry_of("noted", noted, now, decision)) as rows:
            await self._answered(noted, decision, [*rows, self._row(noted)])
        self._announce(noted, "Baton goes on without asking")

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
            if decision := decision_on_expiry(asked, self._run.policy):
                await self.answer(asked, decision, decide)
                made[asked.id] = decision
            else:
                await self._escalate(asked)
        return made

    async def wait_notified(self, waiting: Sequence[Approval] = ()) -> None:
        """Wait until everybody was told, or could not be; also of those that a crash kept from being announced."""
        for approval in waiting:
            self._announce(self._known.get(approval.id, approval))
        while self._telling:
            await asyncio.gather(*self._telling)

    def waiting_below(self) -> list[Approval]:
        """What nested supervisors at work wait for."""
        return [question for waiting in list(self.below.values()) for question in waiting()]

    @contextmanager
    def visible_above(self, waiting: Waiting) -> Iterator[None]:  # noqa: ARG002 - nobody is above the outermost
        """While inside, whoever is above knows what is waited for."""
        yield

    def cancel_notifications(self) -> None:
        """Tell nobody any more: the run stops here, and the next process tells whoever was not reached."""
        for task in self._telling:
            task.cancel()

    async def _on_record(self, approval: Approval) -> Approval:
        async with self._asking:
            asked = self._known.get(approval.id)
            if asked is None:
                now = self._run.services.clock.now()
                asked = with_deadline(approval, self._run.policy, now, can_wait=self._run.can_wait)
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
        if key in self._announced or is_unanswerable(approval):
            return
        self._announced.add(key)
        task = asyncio.create_task(self._tell(approval, key, opening))
        self._telling.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[None]) -> None:
        self._telling.discard(task)
        if not task.cancelled():
            task.exception()  # read, also where nobody waits: the next process tells whoever was not reached

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


class NestedApprovals(Approvals):
    """The questions of one nested run."""

    def __init__(self, run: RunContext, outer: OuterRun) -> None:
        super().__init__(run)
        self._outer = outer

    def deadline(self, approval_id: str) -> float:
        """When the outermost policy decides a question."""
        return self._outer.approvals.deadline(f"{self._outer.question_prefix}{approval_id}")

    async def ask(self, approval: Approval) -> Approval:
        """Ask outside, unless it was asked before; returns the question with its deadline."""
        outside = await self._outer.approvals.ask(self._outer.as_asked_outside(approval))
        times = {"asked_at": outside.asked_at, "expires_at": outside.expires_at, "escalated": outside.escalated}
        return await self._keep(approval.model_copy(update=times))

    async def record_only(self, approval: Approval) -> None:
        """Put on record outside, once, that something is done which needs no answer."""
        await self._outer.approvals.record_only(self._outer.as_asked_outside(approval))
        await self._keep(approval)

    async def answer(self, approval: Approval, decision: Decision, decide: Decide, also: Sequence[PutOp] = ()) -> None:
        """Keep a decision that was made inside, outside."""
        outside = self._outer.as_asked_outside(approval)
        await self._outer.approvals.answer(outside, decision, lambda _, said: decide(approval.id, said), also)

    async def expire(self, waiting: Sequence[Approval], decide: Decide) -> dict[str, Decision]:  # noqa: ARG002 - above
        """Nothing: the outermost run decides what is late, after the answers that came in time."""
        return {}

    async def wait_notified(self, waiting: Sequence[Approval] = ()) -> None:
        """Nothing to wait for: the outermost run tells people."""

    @contextmanager
    def visible_above(self, waiting: Waiting) -> Iterator[None]:
        """While inside, the outer run knows what is waited for, and decides it when its time is up."""
        above, outer = self._outer.approvals.below, self._outer
        above[outer.question_prefix] = lambda: [outer.as_asked_outside(question) for question in waiting()]
        try:
            yield
        finally:
            above.pop(outer.question_prefix, None)

    async def _keep(self, approval: Approval) -> Approval:
        if self._known.get(approval.id) != approval:
            self._known[approval.id] = approval
            await self._run.store.abatch([self._row(approval)])
        return approval


def questions_for(run: RunContext) -> Approvals:
    """The questions of a run: its own, or those of a nested one."""
    return NestedApprovals(run, run.outer) if run.outer else Approvals(run)


TRIES = 3
"""How often a message is tried to be delivered."""
TELLING_S = 60.0
"""Seconds that one try may take."""

LOG = logging.getLogger("baton.approvals")


async def tell(notifier: Notifier, clock: Clock, title: str, body: str, *, escalated: bool = False) -> bool:
    """Deliver a message, again after a pause where that fails; whether it was delivered."""
    LOG.info("%s: %s", title, body)
    return await _patiently(lambda: notifier.tell(title, body, escalated=escalated), clock, title)


async def _patiently(send: Callable[[], Awaitable[bool]], clock: Clock, title: str) -> bool:
    for number in range(1, TRIES + 1):
        try:
            async with asyncio.timeout(TELLING_S):
                if await send():
                    return True
            why = "somebody could not be reached"
        except Exception as error:  # noqa: BLE001 - the notifier's boundary: no message is worth a run
            why = f"{type(error).__name__}: {error}"
        if number < TRIES:
            await clock.sleep(retry_delay(number, clock.jitter()))
    LOG.warning("nobody was notified of %r after %s tries: %s", title, TRIES, why)
    return False


def title_of(thread_id: str, approval: Approval, opening: str = "") -> str:
    """The first line of a message about a question."""
    return f"{opening or 'Baton asks'}: {approval.title} ({approval.risk} risk, thread {thread_id})"


def body_of(thread_id: str, approval: Approval) -> str:
    """The message about a question: what, why, how to answer."""
    lines = [approval.description, f"Why: {approval.reason}."]
    if args := args_of(approval):
        lines.append("With: " + ", ".join(f"{key}={str(value)[:200]!r}" for key, value in args.items()))
    lines.append(f"Answer: baton answer {thread_id} {approval.id} approve|reject|edit")
    return "\n".join(line for line in lines if line)
