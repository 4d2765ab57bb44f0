"""A question to a human, and the answer."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from state.trigger import Fired, Priority, Risk

Answer = Literal["approve", "reject", "edit"]
Subject = Literal["action", "task", "result", "plan"]

POLICY = "policy"
"""Who decides where no human did: after a deadline, or where the oversight mode only wants to know."""


class Approval(BaseModel):
    """A question that waits for a human: may this agent do this?"""

    model_config = ConfigDict(extra="forbid")

    id: str
    """Stable across restarts: made of the task, the round and a number."""
    task_id: str
    agent: str
    path: list[str] = []
    """Agents from the outermost to the one that asks, where that is not `agent` itself."""
    subject: Subject = "action"
    """What is asked about: one action, whether a task may begin, what came of it, or the whole plan."""
    action: str
    """The tool or action asked about."""
    args: dict[str, JsonValue] = {}
    args_schema: dict[str, JsonValue] | None = None
    """JSON Schema of `args`, where the tool has one: what an edit has to fit."""
    choices: list[Answer] = ["approve", "edit", "reject"]
    """What it can be answered with."""
    risk: Risk = "medium"
    priority: Priority = "medium"
    """Of the highest trigger that fired."""
    triggers: list[Fired] = []
    """Why, one by one, highest priority first."""
    reason: str
    """Why a human is asked: every trigger that fired, in words."""
    description: str = ""
    """Markdown for the person who decides."""
    asked_at: float = 0.0
    expires_at: float | None = None
    """Seconds since the epoch; then the policy decides. None: not yet asked."""
    escalated: bool = False
    """Whether the first deadline has passed and somebody else was told."""


class Decision(BaseModel):
    """What a human (or, after a deadline, the policy) said to an approval."""

    model_config = ConfigDict(extra="forbid")

    type: Answer
    args: dict[str, JsonValue] | None = None
    """The arguments to use instead, for `edit`."""
    message: str = ""
    by: str = Field(default="human", min_length=1)
    door: str = ""
    """The way it came: `command line`, `python`, `resume` (a page, or LangGraph's own resume), `deadline` …"""
