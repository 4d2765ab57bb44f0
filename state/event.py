"""Something that happened in a run, numbered."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

EventKind = Literal[
    "phase_entered",
    "task_started",
    "task_retried",
    "task_finished",
    "task_parked",
    "agent_recruited",
    "agent_retired",
    "agent_reported",
    "mail_delivered",
    "delegation_started",
    "delegation_completed",
    "approval_requested",
    "approval_answered",
    "control_changed",
    "budget_exceeded",
    "run_finished",
]


class Event(BaseModel):
    """One event, as it is streamed (custom stream mode), logged in the Store and printed by `baton run --json`."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["baton.event"] = "baton.event"
    v: Literal[1] = 1
    seq: int
    """From 1, without gaps, per thread."""
    thread_id: str
    kind: EventKind
    phase: str
    task_id: str | None = None
    agent: str | None = None
    ts: float
    """Seconds since the epoch."""
    path: list[str] = []
    """Agents from the outermost to the one it is about: who delegated to whom, nested supervisors included."""
    data: dict[str, JsonValue] = {}

    @property
    def is_nested(self) -> bool:
        """Whether it happened below an agent of the run, and not in the run's own plan."""
        return len(self.path) > (self.agent is not None)
