"""An episode: what is remembered of a run after its end, so that later ones can learn from it (chapter 15.7).

It has the request and the plan, who did what and how that ended; nothing of what the sources say, or the results.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from state.errors import FailureClass
from state.plan import Task
from state.record import Score

Correction = Literal["plan_edited", "plan_rejected", "result_rejected", "result_given", "took_over"]
"""What a human changed: the plan, or a result that an agent had to do again, or that a human gave instead."""


class EpisodeTask(BaseModel):
    """A task of the plan, and what came of it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task: Task
    agent: str = ""
    scores: list[Score] = Field(default_factory=list)
    """Who could have done it, with the parts of each score, best first."""
    status: str = ""
    tried: list[str] = Field(default_factory=list)
    """Agents that tried, in order."""
    attempts: int = 0
    failure: FailureClass | None = None
    iteration: int = 0
    """The review round of its last result: more than 0 where it was sent back, or built on one that was."""
    is_sent_back: bool | None = None
    """Whether its own result was sent back last, and not only what it builds on; None where that was not kept."""
    is_spared: bool = False
    """Whether nobody had to do it: a result that it builds on had answered it."""
    is_refused: bool = False
    """Whether the reviewer was not content to the end."""
    confidence: float | None = None
    tokens: int = 0
    seconds: float = 0.0
    is_recruited: bool = False
    """Whether it was not in the plan; then its description is left out, an agent may have quoted sources in it."""


class Advice(BaseModel):
    """What earlier runs say of how a request is to be done, with the evidence."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    threads: list[str]
    """The runs that it rests on, those that went well first."""
    runs: int
    """Runs of that plan shape for similar requests."""
    successes: int
    success_rate: float
    """With its prior, 0 to 1."""
    similarity: float
    """Of the requests, 0 to 1."""
    confidence: float
    """Success rate x similarity."""
    plan: str = ""
    """Fingerprint of the plan shape."""
    is_applied: bool = False
    """Whether the plan was taken from it; else it was only shown, to people and to whoever plans."""

    is_rejected: bool = False
    """Whether a human has rejected the plan that was taken from it."""

    @property
    def said(self) -> str:
        """One line for people."""
        how = "a plan was suggested by"
        if self.is_applied:
            how = "the plan was taken from"
        if self.is_rejected:
            how = "a human has rejected the plan of"
        shown = ", ".join(self.threads[:5]) + (" …" if len(self.threads) > 5 else "")
        return (
            f"{how} earlier runs ({shown}): {self.successes} of {self.runs} went well, "
            f"confidence {self.confidence:.2f} (success rate {self.success_rate:.2f}, similarity {self.similarity:.2f})"
        )


class Episode(BaseModel):
    """One run, as it is remembered."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    thread_id: str
    started_at: float
    finished_at: float
    """Seconds since the epoch."""
    request: str
    """Its beginning, where it is long."""
    asks: str = ""
    """What is to be done, by which alike requests are found; empty where that was not kept."""
    is_whole: bool = True
    """Whether that is all of the request, and the tasks all of the plan, each with its whole description."""
    is_follow_up: bool = False
    """Whether it went on with an earlier run of its thread: its request means little alone."""
    status: str
    mode: str = ""
    iterations: int = Field(default=0, ge=0)
    """Review rounds made."""
    tasks: list[EpisodeTask] = Field(default_factory=list)
    complexity: float | None = None
    dynamic: bool = False
    communicates: bool = False
    """As the plan said."""
    corrections: list[Correction] = Field(default_factory=list)
    advice: Advice | None = None
    """What it was advised."""
    tokens: int = 0
    calls: int = 0
    cost: float = 0.0

    @property
    def went_well(self) -> bool:
        """Whether the run was complete, and the reviewer content."""
        return self.status == "complete" and not any(done.is_refused for done in self.tasks)
