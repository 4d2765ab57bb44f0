"""What a nested supervisor uses of the run around it: whatever people see or decide is the outer one's.

Journal and board, questions and their answers, side effects, budget, control, room for agents at work, and clock. It is
handed to the inner graph as LangGraph's runtime context: never checkpointed, made anew after a crash. Everything else
(tasks, mail, recruits) stays in the inner supervisor's own scope. What is passed on goes from one to the next, so it
works at any depth; ids get a prefix at each step, by which answers find their way back.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, cast
from uuid import UUID

from langgraph.store.base import PutOp

from nodes.runtime.journal import Journal
from nodes.runtime.servers import Servers
from nodes.runtime.signals import SignalState
from nodes.tools.storage import Location
from state.approval import Approval, Decision
from state.event import Event, EventKind
from state.record import Usage
from state.side_effect import Effect, EffectStatus
from state.text import Json

Decide = Callable[[str, Decision], PutOp]
"""Keeps a decision, and returns the row to write: `SignalState.decide`."""
Waiting = Callable[[], list[Approval]]
"""The questions that nobody has answered yet."""


class OuterReservation(Protocol):
    """Room for one model call; what it really took is set when it is known."""

    cap: int
    """Tokens that its reply may have at most."""
    used: Usage | None


class OuterBudget(Protocol):
    """The outer meter."""

    @property
    def exhausted(self) -> str | None:
        """Which limit stopped the run, once one has."""

    def call(
        self, task_id: str, agent: str, prompt: int, cap: int | None = None, *, model: str = "", is_fixed: bool = False
    ) -> AbstractAsyncContextManager[OuterReservation]:
        """Room for one model call, settled when it ends; AgentFailed when there is none."""

    def refusal_now(self, agent: str, prompt: int, cap: int | None, model: str) -> str:
        """Why there is no room at this moment for a call that cannot wait, or an empty string."""

    def hold(self, call_id: UUID, used: Usage) -> None:
        """Count such a call until it is released."""

    def release(self, call_id: UUID) -> None:
        """It is settled."""

    async def settle(self, task_id: str, agent: str, used: Usage) -> None:
        """Put something on the ledger."""

    async def charge(self, task_id: str, agent: str, cost: float) -> None:
        """Put money on the ledger; AgentFailed when there is no room for it."""


class OuterApprovals(Protocol):
    """The outer questions."""

    below: dict[str, Waiting]
    """What nested supervisors at work wait for, by what stands before the ids of their questions."""

    def deadline(self, approval_id: str) -> float:
        """When the policy decides a question, seconds since the epoch."""

    async def ask(self, approval: Approval) -> Approval:
        """Ask, unless it was asked before; returns the question with its deadline."""

    async def record_only(self, approval: Approval) -> None:
        """Put on record that something is done which needs no answer."""

    async def answer(self, approval: Approval, decision: Decision, decide: Decide, also: Sequence[PutOp] = ()) -> None:
        """Keep a decision."""


class Ledger(Protocol):
    """The ledger of side effects."""

    async def find(self, effect_id: str) -> Effect | None:
        """What is known of an action; None if it was never begun."""

    async def begin(self, effect: Effect) -> Effect:
        """Write down that an action begins."""

    async def settle(self, effect: Effect, status: EffectStatus, **changes: object) -> Effect:
        """Write down what came of it."""


class ConcurrencyLimit:
    """A counted lock: at most `count` at once here, and no more than `outer` has room for."""

    def __init__(self, count: int, outer: "ConcurrencyLimit | None" = None) -> None:
        self._room = asyncio.Semaphore(count)
        self._outer = outer

    async def acquire(self) -> None:
        """Wait for room. Always from the inside out, so that two who wait cannot hold each other up."""
        await self._room.acquire()
        if self._outer:
            try:
                await self._outer.acquire()
            except BaseException:
                self._room.release()
                raise

    def release(self) -> None:
        """Make room for somebody else."""
        if self._outer:
            self._outer.release()
        self._room.release()

    def locked(self) -> bool:
        """Whether whoever comes now has to wait here."""
        return self._room.locked()

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()


@dataclass(frozen=True)
class OuterRun:
    """The place of a nested supervisor: one task of one agent of the outer one."""

    journal: Journal
    approvals: OuterApprovals
    effects: Ledger
    budget: OuterBudget
    signals: SignalState
    concurrency: ConcurrencyLimit
    servers: Servers
    folder: Location
    """Where its files go: below the outer run's."""
    task_id: str
    """The outer task, which everything is settled on."""
    agent: str
    path: tuple[str, ...]
    """Agents from the outermost to the nested supervisor."""
    question_prefix: str
    """What stands before the ids of its questions."""
    effect_prefix: str
    """What stands before the ids of its side effects: the same in every review round."""
    as_asked_outside: Callable[[Approval], Approval]
    """A question of its own as the outer supervisor asks it."""
    depth_limit: int
    """How deep its agents may still delegate or nest."""

    @property
    def place(self) -> str:
        """Where it stands on the outer board."""
        return f"{self.task_id}/{self.question_prefix}"


class NestedJournal(Journal):
    """Events and board of a nested supervisor, in the outer journal: one numbering and one board, with paths."""

    def __init__(self, nesting: OuterRun, thread_id: str) -> None:
        super().__init__(nesting.journal.store, thread_id, nesting.journal.clock)
        self._outer = nesting

    async def emit(
        self,
        kind: EventKind,
        *,
        phase: str,
        task_id: str | None = None,
        agent: str | None = None,
        path: Sequence[str] | None = None,
        data: Json | None = None,
        also: Sequence[PutOp] = (),
    ) -> Event:
        """Tell it outside: the task below the outer task, the agents below the one that has it."""
        outer = self._outer
        below = path if path is not None else [agent] if agent else []
        return await outer.journal.emit(
            kind,
            phase=phase,
            task_id=f"{outer.task_id}/{task_id}" if task_id else outer.task_id,
            agent=agent,
            path=[*outer.path, *below],
            data=data,
            also=also,
        )

    async def load(self) -> None:
        """Nothing: the outer one knows."""

    async def flush(self) -> None:
        """Write what could wait, outside."""
        await self._outer.journal.flush()

    def row(self, name: str, value: Json) -> PutOp:
        """A row of the outer board: what it asks stands there by the ids by which it is answered outside."""
        outer = self._outer
        asked = (Approval.model_validate(question) for question in cast(list[Json], value.get("approvals") or []))
        shown = {**value, "approvals": [outer.as_asked_outside(question).model_dump(mode="json") for question in asked]}
        return outer.journal.row(f"task:{outer.place}{name.partition(':')[2]}", cast(Json, shown))

    def kept(self, kind: str, key: str, value: Json | None) -> PutOp:
        """A row of any kind, among those of the outermost run."""
        return self._outer.journal.kept(kind, key, value)

    async def wipe(self, *below: str) -> None:
        """Take off the outer board what stands below these places."""
        await self._outer.journal.wipe(*(f"{self._outer.place}{place}" for place in below))
