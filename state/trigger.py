"""Why a human is called: what was about to happen or has happened, and which triggers it fired (chapter 15.12.2)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Risk = Literal["low", "medium", "high", "critical"]
Priority = Literal["highest", "high", "medium", "low"]
TriggerName = Literal["critical", "sensitive", "cost", "confidence", "failures", "timeout", "scope", "oversight"]

PRIORITIES: tuple[Priority, ...] = ("highest", "high", "medium", "low")
"""Most urgent first."""

OF_RISK: dict[Risk, Priority] = {"critical": "highest", "high": "high", "medium": "medium", "low": "low"}
"""The priority of a question that an agent asks by itself."""


class Fired(BaseModel):
    """One reason to call a human."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trigger: TriggerName
    priority: Priority
    reason: str
    """In words, with the figures."""


class Signs(BaseModel):
    """What triggers look at. What is not known does not fire."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: str = ""
    """The tool, or what the task does to the outside world."""
    is_marked: bool = False
    """Whether the tool itself says that it is sensitive."""
    risk: Risk = "low"
    cost: float = 0.0
    """US dollars of this one action."""
    confidence: float | None = None
    failures_in_a_row: int = 0
    """Tasks that the agent has failed without delivering one in between."""
    overdue_s: float | None = None
    """Seconds the agent was given to come to a decision, and did not."""
    misfit: str = ""
    """Why nobody and no tool fits, in words; empty if somebody does."""
