"""Who is driving: the run itself, nobody (paused), a human, or it is cancelled."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from state.phase import Phase

Driving = Literal["running", "paused", "handed_over", "cancelled"]


class Control(BaseModel):
    """The last word of those who may steer a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    driving: Driving = "running"
    reason: str = ""
    by: str = ""
    rollback: bool = False


def phase_of(driving: Driving) -> Phase:
    """The phase in which a run waits that does not drive itself."""
    return Phase.handed_over if driving == "handed_over" else Phase.executing
