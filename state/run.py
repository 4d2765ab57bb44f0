"""A run as it is shown to people and programs; its phase, and how much machinery it uses (chapter 15.1, 15.8)."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from state.approval import Approval
from state.record import Artifact, Score, Usage

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
    marks: list[str] = []
    """Why a human is asked before it is done, or before what it does takes effect."""


ModeName = Literal["simple", "dag", "supervisor"]


class Mode(BaseModel):
    """The choice, and why it was made."""

    model_config = ConfigDict(extra="forbid")

    name: ModeName
    reason: str
    complexity: float
    review_rounds: int
    """How often review may send work back in this mode."""


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
    handover: dict[str, JsonValue] | None = None
    """What a human needs who has the wheel, or may take it while the run is paused (chapter 15.12.4): `current_step`,
    `total_steps`, `completed_tasks`, `pending_tasks`, `intermediate_results`, `suggested_next_action`,
    `failure_reason`."""
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


class Phase(StrEnum):
    """Phases in their order, then the ends that are not `complete`."""

    decomposing = "decomposing"
    routing = "routing"
    executing = "executing"
    reviewing = "reviewing"
    assembling = "assembling"
    complete = "complete"
    failed = "failed"
    cancelled = "cancelled"
    handed_over = "handed_over"


ENDS = frozenset({Phase.complete, Phase.failed, Phase.cancelled})
"""A run in one of these is over; input on its thread starts a new run."""
