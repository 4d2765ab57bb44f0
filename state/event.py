"""Events: what happened in a run, numbered, and what each kind of them tells."""

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, JsonValue

from state.approval import Approval
from state.signal import Control

EventKind = Literal[
    "phase_entered",
    "plan_advised",
    "task_started",
    "task_retried",
    "task_finished",
    "task_parked",
    "task_added",
    "agent_recruited",
    "agent_retired",
    "agent_reported",
    "mail_delivered",
    "delegation_started",
    "delegation_completed",
    "approval_requested",
    "approval_answered",
    "control_changed",
    "signal_refused",
    "budget_exceeded",
    "server_paused",
    "result_doubted",
    "run_finished",
]

OPTIONAL = "?"
"""After the name of a field that an event has only where there is something to tell."""

FIELDS: Mapping[EventKind, tuple[str, ...]] = {
    "phase_entered": (),
    "plan_advised": ("threads", "confidence", "success_rate", "similarity", "applied"),
    "task_started": ("iteration",),
    "task_retried": ("attempt", "reason", "delay_s"),
    "task_finished": ("status", "attempts", "tokens", "reason?", "limited?", "answered_by?"),
    "task_parked": (),
    "task_added": ("description",),
    "agent_recruited": ("granted", "role", "by", "reason", "description?"),
    "agent_retired": ("by",),
    "agent_reported": ("said?",),
    "mail_delivered": ("sender", "to", "messages", "lost", "capacity"),
    "delegation_started": ("worker", "task", "depth", "constraints?"),
    "delegation_completed": ("worker", "task", "depth", "status", "tokens", "duration_s", "reason?", "result?"),
    # The whole question, but for what the event itself says and for its schema.
    "approval_requested": tuple(
        f"{name}{OPTIONAL * (field.default is None)}"
        for name, field in Approval.model_fields.items()
        if name not in ("task_id", "agent", "path", "args_schema")
    ),
    "approval_answered": ("id", "decision", "by", "message"),
    "control_changed": tuple(Control.model_fields),
    "signal_refused": ("signal", "by", "reason"),
    "budget_exceeded": ("reason",),
    "server_paused": ("server", "delay_s"),
    "result_doubted": ("doubt", "said"),
    "run_finished": ("status", "tokens", "calls", "error?"),
}
"""What `data` holds, by kind. To add an event, name it in `EventKind`, list its fields here, and its meaning below."""

MEANINGS: Mapping[EventKind, str] = {
    "phase_entered": "The run goes on with what `phase` says.",
    "plan_advised": "Earlier `threads` say how a request like this one is planned; `applied`: their plan is used.",
    "task_started": "The agent begins, in this round (`iteration`; 0 is the first).",
    "task_retried": "A try failed for that `reason`; the next, number `attempt`, begins after `delay_s` seconds.",
    "task_finished": "The task has ended: done, failed, skipped or cancelled. `answered_by`: another task had done it.",
    "task_parked": "The task waits for a human; everything else goes on.",
    "task_added": "Review or somebody at work has added a task to the plan.",
    "agent_recruited": "Somebody asked for help in a `role`; where it was not `granted`, `reason` says why.",
    "agent_retired": "The agent gets no new tasks.",
    "agent_reported": "An agent says how far it is.",
    "mail_delivered": "An agent got what another (`sender`) wrote to it; `lost`: what its mailbox had no room for.",
    "delegation_started": "An agent gives a part of its task to a worker of its own.",
    "delegation_completed": "That worker has ended.",
    "approval_requested": "A human is asked. `expires_at`: when the policy decides in their place.",
    "approval_answered": "A question was answered, `by` a human or the policy.",
    "control_changed": "The run was paused, taken over, let go on or cancelled; `driving` says which.",
    "signal_refused": "What somebody wanted to happen does not: `reason` says why.",
    "budget_exceeded": "A limit of the policy is reached; nothing new starts.",
    "server_paused": "A model's server asks to be left alone; all calls to it wait `delay_s` seconds.",
    "result_doubted": "What was delivered is no plain success; `said` tells why.",
    "run_finished": "The run has ended, with this status.",
}
"""What each says to whoever hears it."""


def check_data(kind: EventKind, data: Mapping[str, JsonValue]) -> None:
    """Refuse an event that does not tell what its kind tells.

    Raises:
        ValueError: names what `FIELDS` does not have, or what is missing.
    """
    told = FIELDS.get(kind)
    if told is None:
        raise ValueError(f"there is no event called {kind!r}; known are {', '.join(get_args(EventKind))}")
    known = {name.removesuffix(OPTIONAL) for name in told}
    if unlisted := sorted(data.keys() - known):
        raise ValueError(f"{kind} tells {', '.join(unlisted)}, which is not listed in FIELDS")
    if missing := sorted({name for name in told if not name.endswith(OPTIONAL)} - data.keys()):
        raise ValueError(f"{kind} does not tell {', '.join(missing)}, which is listed in FIELDS")


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
    """What `FIELDS` lists for its kind."""

    @property
    def is_nested(self) -> bool:
        """Whether it happened below an agent of the run, and not in the run's own plan."""
        return len(self.path) > (self.agent is not None)
