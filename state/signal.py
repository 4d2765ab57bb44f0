"""What somebody wants to happen to a run, and who drives it now.

Signals are rows in a durable log, consumed in order, each exactly once.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, model_validator

from state.approval import Decision
from state.plan import Plan

EVERYBODY = "all"
"""The address of a broadcast."""


Held = Literal["paused", "handed_over"]
"""How a run stands that somebody has stopped."""


class _Signal(BaseModel):
    model_config = ConfigDict(extra="forbid")

    by: str = Field(default="human", min_length=1, max_length=200)
    """Who sends it. Agents of the team may send mail and recruit; control is for people and programs."""
    door: str = Field(default="", max_length=200)
    """The way it came: `command line`, `python`, `resume` …; empty in rows of versions that did not say."""


class Pause(_Signal):
    """Let nothing new start, and stop what runs at its next safe point."""

    kind: Literal["pause"] = "pause"
    reason: str = ""


class Resume(_Signal):
    """Go on after a pause, or take a run that is in a human's hands from them as it is."""

    kind: Literal["resume"] = "resume"
    of: Held | None = None
    """How the run stood when it was asked for: it does not let go what somebody has taken over since. None: any."""


class Takeover(_Signal):
    """Stop as for a pause, and put the work into a human's hands."""

    kind: Literal["takeover"] = "takeover"
    reason: str = ""


class HandBack(_Signal):
    """Give a run that is in a human's hands back, with what the human did."""

    kind: Literal["hand_back"] = "hand_back"
    results: dict[str, JsonValue] = {}
    """By task id: these tasks are done."""
    plan: Plan | None = None
    """What is to be done from now on; None: what it was."""


class Cancel(_Signal):
    """End the run: calls in flight are ended, nothing new starts."""

    kind: Literal["cancel"] = "cancel"
    reason: str = ""
    rollback: bool = False
    """Whether what was done to the outside world is undone, newest first, as far as tools have an undo."""


class Recruit(_Signal):
    """Add a task, and somebody of that role to do it."""

    kind: Literal["recruit"] = "recruit"
    role: str = Field(min_length=1, max_length=64)
    task: str = Field(min_length=1, max_length=20_000)
    recruiter: str | None = None
    """The task that asks, where an agent does: what depends on it waits for the recruit too."""
    needed_by: list[str] = []
    """Ids of tasks that have not begun, and that wait for what comes of it."""


class Retire(_Signal):
    """Take an agent out of further assignment."""

    kind: Literal["retire"] = "retire"
    agent: str = Field(min_length=1)


class SendMail(_Signal):
    """A message to an agent, to a role, to the agent of a task, or to all."""

    kind: Literal["mail"] = "mail"
    to: str = Field(min_length=1)
    text: str = Field(min_length=1, max_length=50_000)


class Decide(_Signal):
    """The answer to an open question."""

    kind: Literal["decide"] = "decide"
    approval: str = Field(min_length=1)
    decision: Decision


Signal = Annotated[
    Pause | Resume | Takeover | HandBack | Cancel | Recruit | Retire | SendMail | Decide, Field(discriminator="kind")
]

SIGNAL: TypeAdapter[Signal] = TypeAdapter(Signal)

FOR_AGENTS = frozenset({"recruit", "mail"})
"""Kinds that an agent may send."""


class SignalOutcome(BaseModel):
    """What came of a signal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["applied", "refused"] = "applied"
    reason: str = ""
    """Why it was refused."""

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, value: object) -> object:
        """Rows of versions that had no fields for it say `done`, or `refused: ` and why."""
        if not isinstance(value, str):
            return value
        refused = value.startswith("refused: ")
        return {"status": "refused", "reason": value.removeprefix("refused: ")} if refused else {}


APPLIED = SignalOutcome()


def refused(reason: str) -> SignalOutcome:
    """The outcome of a signal that was not applied."""
    return SignalOutcome(status="refused", reason=reason)


Driving = Literal["running", "paused", "handed_over", "cancelled"]


class Control(BaseModel):
    """The last word of those who may steer a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    driving: Driving = "running"
    reason: str = ""
    by: str = ""
    rollback: bool = False
