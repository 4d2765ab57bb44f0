"""How far an agent is trusted, and what that rests on (chapter 15.12.6)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from state.drawn import Drawn, Sight

Level = Literal["novice", "proficient", "expert"]
Severity = Literal["minor", "major"]

LEVELS: tuple[Level, ...] = ("novice", "proficient", "expert")
"""Lowest first."""


class RunResult(BaseModel):
    """What one agent did in one run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["tally"] = "tally"
    at: float
    """When the run ended, seconds since the epoch."""
    since: float
    """When the run began."""
    completed: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)


class Incident(BaseModel):
    """Something that went wrong through an agent, as a person reports it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["incident"] = "incident"
    at: float
    severity: Severity
    note: str = Field(default="", max_length=2000)
    by: str = Field(default="human", min_length=1, max_length=200)


class Trust(Drawn, BaseModel):
    """Where an agent stands now: derived from its tallies and incidents, never stored."""

    model_config = ConfigDict(extra="forbid")

    agent: str
    level: Level = "novice"
    tasks_completed: int = 0
    tasks_failed: int = 0
    since: float | None = None
    """When its first run began."""
    incidents: list[Incident] = []
    """Oldest first."""
    missing: list[str] = []
    """What the next level still needs, such as `42 of 50 tasks`; empty at the highest."""

    def _sight(self) -> Sight:
        ended = self.tasks_completed + self.tasks_failed
        needs = [f"missing for the next level: {one}" for one in self.missing]
        facts = [f"{self.tasks_completed} of {ended} tasks completed", *needs]
        return Sight(
            title=self.agent,
            status=self.level,
            facts=facts,
            columns=["incident", "by", "what"],
            rows=[[one.severity, one.by, one.note] for one in self.incidents],
        )

    @property
    def success_rate(self) -> float:
        """Completed tasks among those that ended, 0 to 1; 0 where none has."""
        ended = self.tasks_completed + self.tasks_failed
        return self.tasks_completed / ended if ended else 0.0
