"""Something that an agent does to the outside world, by a tool or by itself, and what is known of it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

EffectStatus = Literal["intended", "done", "refused", "failed", "presumed", "undoing", "undone", "stuck"]
"""`intended`: begun, and nobody has recorded an end: it may have happened. `refused`: it did not happen. `failed`: it
broke off, perhaps half-way. `presumed`: a human says that it is not to be done again. `stuck`: undoing it failed."""


class Effect(BaseModel):
    """One action. Its row is written before it is done and again after it."""

    model_config = ConfigDict(extra="forbid")

    id: str
    """The same for the same action, also after a crash and in another try: task, name, arguments, a count.
    With `#TRIES` behind it: an earlier begin of it that has no end either."""
    number: int = 0
    """Its place in the order in which actions were begun, from 1."""
    task_id: str
    """Below a nested supervisor with the tasks around it, outermost first: `outer/inner`."""
    agent: str
    within: list[str] = []
    """The nested supervisors that the agent works for, outermost first."""
    tool: str
    """The tool, or what a function calls the action that it does by itself."""
    args: dict[str, JsonValue] = {}
    """What it was really done with: what a human has edited, where one has."""
    status: EffectStatus = "intended"
    tries: int = 1
    """How often it was begun."""
    reply: JsonValue = ""
    """What the tool said, or the function that did it returned."""
    artifact: dict[str, JsonValue] | None = None
    undo: str = ""
    """The tool that takes it back; empty where none does."""
    at: float = 0.0
    """Seconds since the epoch of the last change."""
