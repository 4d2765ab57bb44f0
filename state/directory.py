"""The team directory: who is on a run, and what they are doing (chapter 15.4)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

MemberStatus = Literal["idle", "running", "completed", "failed", "retired"]


class Member(BaseModel):
    """One agent on a run."""

    model_config = ConfigDict(extra="forbid")

    agent: str
    role: str
    status: MemberStatus
    """`idle`: nothing to do yet; `completed` and `failed`: by its last task."""
    tasks: list[str] = []
    recruited: bool = False
    """Whether it is there because somebody asked for it on the way."""
