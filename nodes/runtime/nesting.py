"""What a supervisor gets from the one it is an agent of: journal, budget, control and room are the outer one's.

It is handed to the inner graph as LangGraph's runtime context: never checkpointed, made anew after a crash. Everything
else (tasks, mail, recruits, decisions) stays in the inner supervisor's own scope.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from langgraph.store.base import PutOp

from nodes.runtime.journal import Journal, Json
from nodes.runtime.slots import Slots
from nodes.runtime.steering import Steering
from state.event import Event, EventKind
from state.usage import Usage


class Room(Protocol):
    """Room for one model call; what it really took is set when it is known."""

    used: Usage | None


class Budget(Protocol):
    """The outer meter."""

    @property
    def exhausted(self) -> str | None:
        """Which limit stopped the run, once one has."""

    def call(self, task_id: str, agent: str, prompt_characters: int) -> AbstractAsyncContextManager[Room]:
        """Room for one model call, settled when it ends; AgentFailed when there is none."""

    async def settle(self, task_id: str, agent: str, used: Usage) -> None:
        """Put something on the ledger."""

    async def spend(self, task_id: str, agent: str, cost: float) -> None:
        """Put money on the ledger; AgentFailed when there is no room for it."""


@dataclass(frozen=True)
class Nesting:
    """The place of a nested supervisor: one task of one agent of the outer one."""

    journal: Journal
    budget: Budget
    steering: Steering
    slots: Slots
    folder: Path
    """Where its files go: below the outer run's."""
    task_id: str
    """The outer task, which everything is settled on."""
    agent: str
    path: tuple[str, ...]
    """Agents from the outermost to the nested supervisor."""
    asks: str
    """What stands before the ids of its questions."""
    ceiling: int
    """How deep its agents may still delegate or nest."""


class InnerJournal(Journal):
    """Events of a nested supervisor, told in the outer journal: one numbering, with the path on every event."""

    def __init__(self, nesting: Nesting, thread_id: str) -> None:
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
        """Tell it outside: the task below the outer task, questions by the ids by which they are answered there."""
        outer, told = self._outer, dict(data or {})
        if kind == "approval_requested":
            self.announced.add(str(told.get("id")))
            told["id"] = f"{outer.asks}{told.get('id', '')}"
        below = path if path is not None else [agent] if agent else []
        return await outer.journal.emit(
            kind,
            phase=phase,
            task_id=f"{outer.task_id}/{task_id}" if task_id else outer.task_id,
            agent=agent,
            path=[*outer.path, *below],
            data=told,
            also=also,
        )
