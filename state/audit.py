"""One line of the record of what was asked of humans and what was decided: append-only, each sealed to the last."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

EntryKind = Literal["requested", "answered", "escalated", "noted"]
"""`noted`: done without asking, because the oversight mode only wants to know."""


class Entry(BaseModel):
    """A request or a decision: who, when, through which door, with which arguments before and after."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int = 0
    """From 1, without gaps, per thread."""
    at: float
    kind: EntryKind
    approval: str
    task_id: str = ""
    agent: str = ""
    path: list[str] = []
    """Agents from the outermost to the one that asked, where that is not `agent` itself."""
    action: str = ""
    risk: str = ""
    reason: str = ""
    """Why it was asked."""
    args: dict[str, JsonValue] = {}
    """The arguments as asked about."""
    args_after: dict[str, JsonValue] | None = None
    """The arguments as decided, where they were edited."""
    decision: str = ""
    by: str = ""
    door: str = ""
    message: str = ""
    expires_at: float | None = None
    before: str = ""
    """The seal of the line before; empty for the first."""
    seal: str = ""
    """SHA-256 of all of the above, in hex."""
