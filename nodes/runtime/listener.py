"""Applies signals to the run that is executing, in order, each exactly once; and the outbox of mail.

A signal from this process is seen at once, one from another at the next poll, which reads the Store only if somebody
has written to it. What an agent does through its desk
(mail, recruits) comes the same way, without the detour through the log. Mail goes to mailboxes at once, and is
stored a moment later, in one transaction with its event.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol, runtime_checkable

from langgraph.store.base import PutOp
from pydantic import ValidationError

from nodes.policy.answers import already_answered, checked
from nodes.policy.approvals import open_questions_of
from nodes.policy.mail import CAPACITY, addressees, nobody
from nodes.policy.recruiting import Grant, Refusal, recruit
from nodes.policy.recruiting import nobody as no_agent
from nodes.policy.takeover import control_by, hand_back_faults
from nodes.runtime.approvals import Approvals
from nodes.runtime.audit import steered
from nodes.runtime.background import stop
from nodes.runtime.budget import Budget
from nodes.runtime.context import RunContext
from nodes.runtime.journal import asked_on, read_board
from nodes.runtime.signals import SignalState, Waiting, handled, sent_at, waiting
from state.agent import Mail
from state.approval import Approval
from state.record import TaskRecord
from state.signal import (
    APPLIED,
    FOR_AGENTS,
    SIGNAL,
    Cancel,
    Control,
    Decide,
    HandBack,
    Pause,
    Recruit,
    Resume,
    Retire,
    SendMail,
    Signal,
    SignalOutcome,
    Takeover,
    refused,
)

TOO_LATE = "came too late"
POLL_S = 0.1
"""Seconds between two looks for anything new; a signal from another process is promised to be seen within 0.25."""


@runtime_checkable
class CountsChanges(Protocol):
    """A Store that tells whether anybody writes to it, for less than it costs to read it."""

    async def changes(self) -> tuple[int, int]:
        """What is not the same any more when anybody has written."""


class Listener:
    """Applies signals to one executing superstep."""

    def __init__(
        self,
        run: RunContext,
        signals: SignalState,
        budget: Budget,
        questions: Approvals,
        records: Mapping[str, TaskRecord],
    ) -> None:
        self.run = run
        self.signals = signals
        self.budget = budget
        self.approvals = questions
        self.records = records
        self.outbox = Outbox(run, signals, records)
        self.on_recruit: Callable[[TaskRecord], None] = lambda _: None
        self.plan: Approval | None = None
        """The question about the plan, while that waits."""
        self.gave_up = ""
        """Why the run has given up, once it has."""
        self._changes: tuple[int, int] | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen while inside; whoever begins has just looked (`catch_up`)."""
        bell = self.run.services.wake_ups.bell(self.run.thread_id)
        listening = asyncio.create_task(self._listen(bell))
        try:
            with self.approvals.visible_above(self.open_questions):
                yield
        finally:
            async with self._lock:  # a signal that is being applied is applied to its end
                listening.cancel()
            await stop(listening)
            await self.outbox.flush()

    async def look(self) -> None:
        """Apply every signal that waits, then the deadlines of questions that nobody has answered."""
        async with self._lock:
            for item in await waiting(self.run.store, self.run.thread_id):
                await self._handle(item)
            await self.approvals.expire(self.open_questions(), self.signals.decide)

    def open_questions(self) -> list[Approval]:
        """The questions that nobody has answered: of parked tasks, and of nested supervisors at work."""
        below = [asked for asked in self.approvals.waiting_below() if asked.id not in self.signals.decisions]
        return [*open_questions_of(self.records.values(), self.signals.decisions), *below]

    @property
    def ending(self) -> str:
        """Why nothing that is asked for takes effect any more; empty while it does."""
        if self.signals.control.driving == "cancelled":
            return "the run is cancelled"
        return f"the run has given up: {self.gave_up}" if self.gave_up else ""

    async def recruit(self, asked: Recruit) -> TaskRecord | Refusal:
        """Grant a recruit, with its row and event in one transaction, or refuse it."""
        async with self._lock:
            return await self._recruit(asked)

    async def _listen(self, bell: asyncio.Event) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await bell.wait()
            is_told = bell.is_set()
            bell.clear()
            await self.outbox.flush()
            if await self._has_news() or is_told:
                await self.look()
            else:
                async with self._lock:
                    await self.approvals.expire(self.open_questions(), self.signals.decide)

    async def _has_news(self) -> bool:
        """Whether anybody has written since this was last asked."""
        if not isinstance(self.run.store, CountsChanges):
            return True
        before, self._changes = self._changes, await self.run.store.changes()
        return before != self._changes

    async def _handle(self, item: Waiting) -> None:
        """Apply one signal; what is malformed or not allowed is refused, and logged."""
        raw = item[1]
        try:
            signal = SIGNAL.validate_python(raw)
        except ValidationError as error:
            await self._refuse(item, str(error.errors()[0]["msg"]))
            return
        if signal.by in self.run.services.team and signal.kind not in FOR_AGENTS:
            await self._refuse(item, f"an agent may not send {signal.kind}")
        elif isinstance(signal, Recruit):
            await self._recruit(signal, item)
        elif self.ending and (self.gave_up == "" or not isinstance(signal, Cancel)):
            await self._refuse(item, f"{TOO_LATE}: {self.ending}")
        elif isinstance(signal, Retire):
            await self._retire(signal, item)
        elif isinstance(signal, SendMail):
            await self._mail(signal, item)
        elif isinstance(signal, Decide):
            await self._decide(signal, item)
        elif isinstance(signal, HandBack):
            await self._hand_back(signal, item)
        else:
            await self._drive(signal, item)

    async def _drive(self, signal: Pause | Resume | Takeover | Cancel, item: Waiting) -> None:
        is_late = isinstance(signal, Resume) and signal.of == "paused"  # meant for what was there before
        if self.signals.control.driving == "handed_over" and (is_late or isinstance(signal, Pause)):
            await self._refuse(item, "the run is in a human's hands")
            return
        control = control_by(signal)
        async with self._on_record(signal, item) as rows:
            await self.run.emit(
                "control_changed", also=[self.signals.set_control(control), *rows], **control.model_dump()
            )

    async def _retire(self, signal: Retire, item: Waiting) -> None:
        if signal.agent not in self.run.services.team:
            await self._refuse(item, no_agent(signal.agent, self.run.services.team))
            return
        async with self._on_record(signal, item) as rows:
            retired = self.signals.retire(signal.agent)
            await self.run.emit("agent_retired", agent=signal.agent, also=[retired, *rows], by=signal.by)

    async def _mail(self, signal: SendMail, item: Waiting) -> None:
        mail = Mail(id=item[0], sender=signal.by, to=signal.to, text=signal.text, at=self.run.services.clock.now())
        if nobody := self.outbox.deliver(mail):
            await self._refuse(item, nobody)
        else:
            async with self._on_record(signal, item) as rows:
                await self.outbox.flush(rows)

    async def _decide(self, signal: Decide, item: Waiting) -> None:
        on_board = asked_on(await read_board(self.run.store, self.run.thread_id))  # also by a process that died since
        by_plan = [self.plan] if self.plan else []
        asked = {approval.id: approval for approval in [*on_board, *self.open_questions(), *by_plan]}
        if sent_at(item[0]) >= self.approvals.deadline(signal.approval):  # the deadline was first
            late = [question for question in asked.values() if question.id not in self.signals.decisions]
            await self.approvals.expire(late, self.signals.decide)
        if known := self.signals.decisions.get(signal.approval):
            await self._refuse(item, already_answered(signal.approval, known))
        elif signal.approval in asked:
            await self._answer(asked[signal.approval], signal, item)
        else:
            await self._refuse(item, f"no open question is called {signal.approval!r}")

    async def _answer(self, question: Approval, signal: Decide, item: Waiting) -> None:
        said = signal.decision.model_copy(update={"door": signal.decision.door or "signal"})
        decision, problem = checked(said, question)
        if decision is None:
            await self._refuse(item, f"{signal.approval}: {problem}")
            return
        await self.approvals.answer(question, decision, self.signals.decide, self._moved(item))

    async def _hand_back(self, signal: HandBack, item: Waiting) -> None:
        faults = hand_back_faults(list(self.records.values()), signal.results, signal.plan)
        if self.signals.control.driving != "handed_over":
            await self._refuse(item, "the run is not in a human's hands")
        elif faults:
            await self._refuse(item, "; ".join(faults))
        else:
            control = Control(by=signal.by, reason="handed back")
            async with self._on_record(signal, item) as rows:
                also = [self.signals.hand_back(signal), self.signals.set_control(control), *rows]
                await self.run.emit("control_changed", also=also, **control.model_dump())

    async def _recruit(self, asked: Recruit, item: Waiting | None = None) -> TaskRecord | Refusal:
        made: Grant | Refusal = Refusal(f"{TOO_LATE}: {self.ending}")
        if not self.ending:
            made = recruit(
                asked,
                list(self.records.values()),
                self.run.services.team.specs,
                self.signals.retired,
                self.run.policy,
                budget_left=self.budget.exhausted is None,
            )
        if isinstance(made, Refusal):
            rows = self._moved(item, refused(made.reason)) if item else []
            await self.run.emit(
                "agent_recruited", also=rows, granted=False, role=asked.role, by=asked.by, reason=made.reason
            )
            return made
        record = made.record
        async with self._on_record(asked, item) as rows:
            if record.id in self.records:  # asked again, by a try made again or a step after a crash
                await self.run.store.abatch(rows)
                return record
            row = self.signals.add_recruit(record)
            self.on_recruit(record)
            await self.run.emit(
                "agent_recruited",
                task_id=record.id,
                agent=record.agent,
                also=[row, *rows],
                granted=True,
                role=asked.role,
                by=asked.by,
                reason=made.reason,
                description=record.task.description,
            )
        return record

    @asynccontextmanager
    async def _on_record(self, signal: Signal, item: Waiting | None) -> AsyncIterator[list[PutOp]]:
        """The rows to write inside, with what a signal does: it is moved, and of a human's there is a sealed record."""
        moved = self._moved(item) if item else []
        if signal.by in self.run.services.team:
            yield moved
            return
        async with self.run.audit.sealing(steered(signal, self.run.services.clock.now())) as rows:
            yield [*rows, *moved]

    def _moved(self, item: Waiting, outcome: SignalOutcome = APPLIED) -> list[PutOp]:
        return handled(self.run.thread_id, item[0], item[1], outcome, self.run.services.clock.now())

    async def _refuse(self, item: Waiting, reason: str) -> None:
        await _refuse(self.run, item, reason)


async def refuse_waiting(run: RunContext, reason: str) -> None:
    """Answer every signal that nobody has looked at, and that nobody will: the run has come to its end."""
    await refuse(run, await waiting(run.store, run.thread_id), reason)


async def refuse(run: RunContext, late: Iterable[Waiting], reason: str) -> None:
    """Answer signals that nobody will look at."""
    for item in late:
        await _refuse(run, item, reason)


async def _refuse(run: RunContext, item: Waiting, reason: str) -> None:
    key, raw = item
    rows = handled(run.thread_id, key, raw, refused(reason), run.services.clock.now())
    what = {name: str(raw.get(field, "")) for name, field in (("signal", "kind"), ("by", "by"))}
    await run.emit("signal_refused", also=rows, reason=reason, **what)


class Outbox:
    """Delivers mail within one executing superstep."""

    def __init__(self, run: RunContext, signals: SignalState, records: Mapping[str, TaskRecord]) -> None:
        self._run = run
        self._signals = signals
        self._records = records
        self._sent: Counter[tuple[str, str]] = Counter()
        """Mail that no event tells of yet: how many, by sender and address."""
        self._flushing = asyncio.Lock()

    def deliver(self, mail: Mail) -> str:
        """Put mail into the mailboxes it is for; returns why not, or an empty string. Never waits."""
        names = self._addressees(mail.to, mail.sender)
        if sum(self._signals.deliver(name, [mail]) for name in names):
            self._sent[mail.sender, mail.to] += 1
        self._run.services.wake_ups.wake(self._run.thread_id)
        return "" if names else nobody(mail.to, self._run.services.team)

    async def flush(self, also: Sequence[PutOp] = ()) -> None:
        """Store what was delivered, and tell of it and of what the mailboxes have lost, together with `also`."""
        async with self._flushing:  # a mailbox that was read since is not stored before the event of what is in it
            rows, sent = [*self._signals.unsaved(), *also], self._sent
            self._sent = Counter()
            for (sender, to), messages in sent.items():
                lost = {name: self._signals.mail(name).lost for name in self._addressees(to, sender)}
                told = {"sender": sender, "to": list(lost), "messages": messages, "lost": lost, "capacity": CAPACITY}
                await self._run.emit("mail_delivered", also=rows, **told)  # type: ignore[arg-type]
                rows = []
            if rows:
                await self._run.store.abatch(rows)

    def _addressees(self, to: str, sender: str) -> list[str]:
        return addressees(to, sender, self._run.services.team, self._records)
