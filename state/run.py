"""A run as it is shown to people and programs."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from state.approval import Approval
from state.artifact import Artifact
from state.mode import Mode
from state.record import Score
from state.usage import Usage

RunStatus = Literal["running", "waiting", "paused", "handed_over", "complete", "failed", "cancelled"]


class TaskView(BaseModel):
    """One task as it is now."""

    model_config = ConfigDict(extra="forbid")

    id: str
    description: str
    role: str
    kind: str
    depends_on: list[str]
    required: bool
    action: str | None = None
    agent: str | None = None
    status: str
    result: JsonValue = None
    confidence: float | None = None
    attempts: int = 0
    error: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    tokens: int = 0
    recruited_by: str | None = None
    route_reason: str = ""
    scores: list[Score] = []
    """How well each agent fits it, with the parts of each score, best first."""


class Run(BaseModel):
    """A run as it is now."""

    model_config = ConfigDict(extra="forbid")

    thread_id: str
    status: RunStatus
    phase: str
    query: str
    report: str | None = None
    tasks: list[TaskView] = []
    approvals: list[Approval] = []
    """Open questions, most urgent first."""
    artifacts: list[Artifact] = []
    usage: Usage = Usage()
    mode: Mode | None = None
    model: str = ""
    """The model that thinks for this run."""
    iteration: int = 0
    error: str | None = None
    """One line: why it failed."""
    warnings: list[str] = []
    """What could not be used, and was left out."""
    started_at: float | None = None
    finished_at: float | None = None
