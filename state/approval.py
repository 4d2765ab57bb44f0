"""A question to a human, and the answer."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Risk = Literal["low", "medium", "high", "critical"]
Answer = Literal["approve", "reject", "edit"]


class Approval(BaseModel):
    """A question that waits for a human: may this agent do this?"""

    model_config = ConfigDict(extra="forbid")

    id: str
    """Stable across restarts: made of the task, the round and a number."""
    task_id: str
    agent: str
    action: str
    """The tool or action asked about."""
    args: dict[str, JsonValue] = {}
    risk: Risk = "medium"
    reason: str
    """Why a human is asked."""
    description: str = ""
    """Markdown for the person who decides."""
    args_schema: dict[str, JsonValue] | None = None
    """JSON Schema of `args`, where it is known: what a form is made from, and what an edit is checked against."""


class Decision(BaseModel):
    """What a human (or, after a deadline, the policy) said to an approval."""

    model_config = ConfigDict(extra="forbid")

    type: Answer
    args: dict[str, JsonValue] | None = None
    """The arguments to use instead, for `edit`."""
    message: str = ""
    by: str = Field(default="human", min_length=1)
