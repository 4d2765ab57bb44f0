"""How much machinery a run uses (chapter 15.1 and 15.8)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

ModeName = Literal["simple", "dag", "supervisor"]


class Mode(BaseModel):
    """The choice, and why it was made."""

    model_config = ConfigDict(extra="forbid")

    name: ModeName
    reason: str
    complexity: float
    review_rounds: int
    """How often review may send work back in this mode."""
