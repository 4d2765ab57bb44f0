"""Who is driving: the run itself, nobody (paused), a human, or it is cancelled."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Driving = Literal["running", "paused", "handed_over", "cancelled"]


class Control(BaseModel):
    """The last word of those who may steer a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    driving: Driving = "running"
    reason: str = ""
    by: str = ""
    rollback: bool = False
