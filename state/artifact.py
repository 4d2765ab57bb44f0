"""A file that an agent wrote."""

from pydantic import BaseModel, ConfigDict


class Artifact(BaseModel):
    """A reference to a file below the run's artifacts folder; the content is on disk, not in state."""

    model_config = ConfigDict(extra="forbid")

    name: str
    """Path below the run's artifacts folder."""
    path: str
    """Where it is on this machine."""
    bytes: int
    sha256: str
    task_id: str
