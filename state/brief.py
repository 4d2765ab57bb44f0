"""What an agent gets to know about its task, and no more (supervisor guide, "context assembly")."""

from pydantic import BaseModel, ConfigDict, JsonValue

from state.plan import Task


class Mail(BaseModel):
    """A message to an agent."""

    model_config = ConfigDict(extra="forbid")

    id: str = ""
    """Tells a message that was sent again, after a crash, from a new one."""
    sender: str
    to: str
    text: str
    at: float = 0.0


class Brief(BaseModel):
    """The scoped context of one task."""

    model_config = ConfigDict(extra="forbid")

    query: str
    """The user's request."""
    task: Task
    constraints: str = ""
    """What it has to respect, where another agent delegated the task."""
    inputs: dict[str, JsonValue] = {}
    """Results of the tasks it depends on, by task id."""
    missing: list[str] = []
    """Ids of inputs that failed or were skipped: it works without them and should say so."""
    mail: list[Mail] = []
    feedback: str = ""
    """What a reviewer or a human said to the last version; empty the first time."""
    previous: JsonValue = ""
    """The last version of its own result, where it is asked to do it again."""
    iteration: int = 0
    """Review round, from 0."""
    artifacts: int = 0
    """How many artifacts the run has so far."""
    sources: list[str] = []
    """Names of the files the user gave."""
