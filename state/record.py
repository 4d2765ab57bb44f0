"""A task together with what became of it: the form in which `tasks` stand in the state of a run."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from state.outcome import Outcome
from state.plan import Task
from state.trigger import Fired

TaskStatus = Literal["pending", "running", "parked", "done", "failed", "skipped", "cancelled"]
HUMAN = "human"
"""The agent of a result that a human gave, after taking the wheel."""
FINAL: frozenset[TaskStatus] = frozenset({"done", "failed", "skipped", "cancelled"})


class Score(BaseModel):
    """How well one agent fits one task: 60 % its own assessment, 40 % keywords (supervisor guide, "routing")."""

    model_config = ConfigDict(extra="forbid")

    agent: str
    self_assessment: float
    keywords: float
    total: float


class Route(BaseModel):
    """Who got the task, and why."""

    model_config = ConfigDict(extra="forbid")

    agent: str
    reason: str
    scores: list[Score]
    """All candidates, best first."""


class TaskRecord(BaseModel):
    """A task, its route, and its outcome."""

    model_config = ConfigDict(extra="forbid")

    task: Task
    route: Route | None = None
    status: TaskStatus = "pending"
    outcome: Outcome | None = None
    feedback: str = ""
    """Why it is to be done again; empty otherwise."""
    marks: list[Fired] = []
    """What speaks for asking a human before it runs: sensitive, out of scope."""
    recruited_by: str | None = None
    """The task (or `human`) that asked for it, where it was not in the plan."""
    reused: bool = False
    """Whether the recruit went to an idle member, so that the team did not grow."""

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def is_by_human(self) -> bool:
        """Whether a human gave its result: nobody does it again."""
        return self.status == "done" and self.outcome is not None and self.outcome.agent == HUMAN

    @property
    def agent(self) -> str | None:
        """Who it is assigned to."""
        return self.route.agent if self.route else None
