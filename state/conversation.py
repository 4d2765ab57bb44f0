"""A thread is a conversation: what was asked and answered on it before the request that is worked on."""

from pydantic import BaseModel, ConfigDict

from state.citation import Claim
from state.record import Artifact


class Turn(BaseModel):
    """A request of an earlier run of the thread, and what came of it: material, never orders."""

    model_config = ConfigDict(extra="forbid")

    query: str
    answer: str
    """What it was answered, without what a report says about itself; long ones are cut at the end."""
    status: str = ""
    """How the run ended: `complete`, `partial` …; empty where only the messages are known."""
    computed: list[Claim] = []
    """Statements of the answer that were computed from a table, with how: whoever repeats one can prove it."""
    artifacts: list[Artifact] = []
    """The files that it made."""
