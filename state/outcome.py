"""What came of one task."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from state.approval import Approval
from state.artifact import Artifact
from state.citation import Claim
from state.errors import FailureClass
from state.usage import Usage

OutcomeStatus = Literal["done", "failed", "skipped", "parked", "blocked", "cancelled"]


class Failure(BaseModel):
    """Why a task did not get done."""

    model_config = ConfigDict(extra="forbid")

    kind: FailureClass
    message: str


class Outcome(BaseModel):
    """What came of one task. Plain JSON when dumped: that is what is checkpointed."""

    model_config = ConfigDict(extra="forbid")

    task_id: str
    agent: str
    status: OutcomeStatus
    """`blocked`: an input waits for a human; not an end, the task is taken up again."""
    result: JsonValue = ""
    """What the agent delivered: text, or any JSON a function returned."""
    claims: list[Claim] = []
    confidence: float | None = Field(default=None, ge=0, le=1)
    """The agent's own estimate; None where it gave none."""
    artifacts: list[Artifact] = []
    usage: Usage = Usage()
    failure: Failure | None = None
    limited: str = ""
    """Which limit cut the work short, where one did: what was delivered is not a plain success."""
    handed_to: str = ""
    """The agent that finishes the task in this one's place, where it was handed over."""
    attempts: int = 0
    """Tries made, over all agents."""
    tried: list[str] = []
    """Agents that tried, in order."""
    approvals: list[Approval] = []
    """The open questions, where parked."""
    decided_by: str = ""
    """Who accepted or replaced the result, where a human (or, after a deadline, the policy) was asked about it."""
    returned: int = 0
    """How often a human has sent the result back in this round."""
    conversation: list[JsonValue] = []
    """What the agent said and saw so far, where parked: it goes on from here."""
    iteration: int = 0
    """The review round in which it was made, from 0."""
    started_at: float = 0.0
    finished_at: float = 0.0
    """Seconds since the epoch."""

    @property
    def text(self) -> str:
        """The result as text."""
        return as_text(self.result)


def as_text(result: JsonValue) -> str:
    """Any result as text: mappings and lists become bullets."""
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        return "\n".join(f"- {key}: {_inline(value)}" for key, value in result.items())
    if isinstance(result, list):
        return "\n".join(f"- {_inline(value)}" for value in result)
    return "" if result is None else str(result)


def _inline(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_inline(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_inline(item) for item in value)
    return "" if value is None else str(value)
