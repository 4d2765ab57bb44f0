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
    data: dict[str, JsonValue] = {}
