"""A run as it is shown to people and programs; its phase, and how much machinery it uses (chapter 15.1, 15.8)."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue, PrivateAttr, computed_field

from state.answer import DataField
from state.approval import Approval
from state.drawn import Box, Drawn, Sight, spent_time
from state.episode import Advice
from state.record import Artifact, Doubt, Score, Usage

RunStatus = Literal[
    "queued", "running", "waiting", "paused", "handed_over", "complete", "partial", "failed", "cancelled"
]
WaitsFor = Literal["", "worker", "answers", "release", "resume", "process", "model", "team"]
Verb = Literal["answer", "resume", "hand-back", "pause", "takeover", "cancel"]


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
    cost: float | None = 0.0
    """US dollars, declared by agents and tools and for tokens at the policy's `prices`; None where one is missing."""
    model: str = ""
    """The chat model that its agent worked with; empty where no call of one was seen."""
    provider: str = ""
    """The address of that model's server, or the kind of model where it has none."""
    recruited_by: str | None = None
    route_reason: str = ""
    scores: list[Score] = []
    """How well each agent fits it, with the parts of each score, best first."""
    marks: list[str] = []
    """Why a human is asked before it is done, or before what it does takes effect."""


class DelegationView(BaseModel):
    """A part of a task that one agent has another do."""

    model_config = ConfigDict(extra="forbid")

    task_id: str
    """The task of the plan that it is a part of."""
    agent: str
    """Who delegated it."""
    worker: str
    task: str
    """What the worker was asked to do."""
    constraints: str = ""
    status: str
    result: JsonValue = None
    """All that the worker answered."""
    confidence: float | None = None
    error: str | None = None
    tokens: int = 0


ModeName = Literal["simple", "dag", "supervisor"]


class Mode(BaseModel):
    """The choice, and why it was made."""

    model_config = ConfigDict(extra="forbid")

    name: ModeName
    reason: str
    complexity: float
    review_rounds: int
    """How often review may send work back in this mode."""


class Run(Drawn, BaseModel):
    """A run as it is now. What a later version says of a run besides is left out when it is read."""

    model_config = ConfigDict(extra="ignore")

    thread_id: str
    status: RunStatus
    waits_for: WaitsFor = ""
    """What has to happen before it moves again: a `worker` has to begin it or to go on with it, or its open questions
    want `answers`, or it wants `release` by whoever paused it or holds it, or to be taken up: `resume` since what it
    waited for is there, `process` since the process that ran it is gone, `model` since a model failed. `team`: the
    same, by a team that has `missing_agents`. Empty: nothing, it runs or has ended."""
    phase: str
    query: str
    report: str | None = None
    data: JsonValue = None
    """The answer as data, where a schema was given: valid against it, but for fields that are null with a reason."""
    fields: list[DataField] = []
    """Of each field of the data, the places that it rests on, or why it is null."""
    tasks: list[TaskView] = []
    delegations: list[DelegationView] = []
    """Parts of tasks that agents had others do, by task and in the order in which they began."""
    approvals: list[Approval] = []
    """Open questions, most urgent first."""
    handover: dict[str, JsonValue] | None = None
    """What a human needs who has the wheel, or may take it while the run is paused (chapter 15.12.4): `by` and `reason`
    (who stopped it, and why), `current_step`, `total_steps`, `completed_tasks`, `failed_tasks`, `pending_tasks`,
    `intermediate_results`, `conversations` (what parked agents said and saw so far, by task), `suggested_next_action`,
    `failure_reason`."""
    artifacts: list[Artifact] = []
    usage: Usage = Usage()
    used_by: dict[str, Usage] = {}
    """The same by agent, and by `supervisor` for its own calls (plan, review, editor)."""
    mode: Mode | None = None
    advice: Advice | None = None
    """What earlier runs say of the request, where they do, and whether the plan was taken from them."""
    model: str = ""
    """The model that thinks for this run."""
    iteration: int = 0
    error: str | None = None
    """One line: why it failed, or what was not done."""
    missing_agents: list[str] = []
    """Agents that it needs to go on, and that are not in the team of whoever looks; known only while it lies still."""
    doubts: list[Doubt] = []
    """Why what was delivered is not a plain success; a run that is `complete` without any is one."""
    warnings: list[str] = []
    """What could not be used, and was left out; and what is in doubt."""
    started_at: float | None = None
    finished_at: float | None = None

    _pictures: Callable[["Run"], Mapping[str, str]] | None = PrivateAttr(default=None)

    def drawn_with(self, pictures: Callable[["Run"], Mapping[str, str]]) -> Self:
        """Itself; where it is drawn, `pictures` gives those of its report, by their names, as `data:` addresses."""
        self._pictures = pictures
        return self

    def _sight(self) -> Sight:
        done = sum(task.status == "done" for task in self.tasks)
        took = spent_time(self.started_at, self.finished_at)
        stands = [f"{done} of {len(self.tasks)} tasks done", took, self.error or ""]
        facts = [self.query, " · ".join(filter(None, stands))]
        facts += [f"asks: {one.title} ({one.agent}, {one.risk} risk), {one.id}" for one in self.approvals]
        return Sight(
            title=self.thread_id,
            status=self.status,
            facts=facts,
            boxes=[Box(task.id, task.status, task.agent or "", task.depends_on) for task in self.tasks],
            columns=["task", "status", "agent", "time", "what"],
            rows=[
                [
                    one.id,
                    one.status,
                    one.agent or "",
                    spent_time(one.started_at, one.finished_at),
                    one.error or one.description,
                ]
                for one in self.tasks
            ],
            text=self.report or "",
            pictures=self._pictures(self) if self._pictures else {},
        )

    @property
    def has_ended(self) -> bool:
        """Whether nothing can follow."""
        return not self.waits_for and self.status != "running"

    @computed_field  # type: ignore[prop-decorator] # as Pydantic documents it
    @property
    def can_go_on(self) -> bool:
        """Whether `resume` moves it, by whoever looks."""
        return self.waits_for in ("resume", "process", "model")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def hint(self) -> list[Verb]:
        """What can be done with it now, by whoever looks, most helpful first; nothing in it would be refused."""
        has_team = not self.missing_agents
        is_held_by_human = self.waits_for == "release" and has_team
        works: dict[Verb, bool] = {
            "answer": bool(self.approvals),
            "resume": self.can_go_on or (is_held_by_human and self.status == "paused"),
            "hand-back": is_held_by_human and self.status == "handed_over",
            "pause": self.status == "running",
            "takeover": self.status == "running"
            or (self.waits_for == "answers" and has_team)
            or (is_held_by_human and self.status == "paused"),
            "cancel": self.status in ("queued", "running") or (self.waits_for in ("answers", "release") and has_team),
        }
        return [verb for verb, does in works.items() if does]


class Phase(StrEnum):
    """Phases in their order, then the ends that are not `complete`."""

    decomposing = "decomposing"
    routing = "routing"
    executing = "executing"
    reviewing = "reviewing"
    assembling = "assembling"
    complete = "complete"
    partial = "partial"
    failed = "failed"
    cancelled = "cancelled"
    handed_over = "handed_over"


WAITING = "waiting"
"""What the channel `phase` says while a human is asked; the phase that goes on then is kept beside it (`then`)."""
ENDS = frozenset({Phase.complete, Phase.partial, Phase.failed, Phase.cancelled})
"""A run in one of these is over; input on its thread starts a new run."""
