"""A part of a task that one agent has another do: what was asked, and what came of it."""

from pydantic import BaseModel, ConfigDict

from state.record import Outcome, Usage


class Delegation(BaseModel):
    """A delegation as it stands in the Store; rows of versions before do not say who did what for whom."""

    model_config = ConfigDict(extra="forbid")

    label: str
    """The try that it belongs to: what it used is added to that try once."""
    started_at: float
    task_id: str = ""
    """The task of the plan that it is a part of."""
    agent: str = ""
    """Who delegated it."""
    worker: str = ""
    task: str = ""
    """What the worker was asked to do."""
    constraints: str = ""
    outcome: Outcome | None = None
    """None as long as nothing has come of it."""
    legs: int = 0
    """How often the worker has parked."""
    earlier: Usage = Usage()
    """What it used in earlier stretches."""
