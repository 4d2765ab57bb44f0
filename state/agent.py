"""An agent as data: who it is, what it is good at, what it may use."""

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from state.plan import Kind


class Skills(BaseModel):
    """What an agent is good at."""

    model_config = ConfigDict(extra="forbid")

    kinds: dict[str, float] = {}
    """Its own estimate, 0 to 1, by kind of task (`research`, `analysis` …)."""
    keywords: list[str] = []
    """Words that, in a task's description, speak for this agent."""

    @field_validator("kinds")
    @classmethod
    def _estimates(cls, value: dict[str, float]) -> dict[str, float]:
        for kind, estimate in value.items():
            if not 0 <= estimate <= 1:
                raise ValueError(f"kinds[{kind!r}] is {estimate}; give an estimate from 0 to 1")
        return value


HUMAN = "human"
"""The escalation target that is no agent."""


class Limits(BaseModel):
    """What one agent may use for one task."""

    model_config = ConfigDict(extra="forbid")

    iterations: int = Field(default=30, ge=1, le=1000)
    """Model calls."""
    tokens: int | None = Field(default=None, ge=1)
    """Input and output together; None: only the run's budget counts."""
    timeout_s: float = Field(default=600, gt=0)
    """Seconds for one try."""


class ModelAt(BaseModel):
    """A model of an OpenAI-compatible server other than the run's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    base_url: str = Field(pattern=r"^https?://[^\s/]+")
    key_from: str = ""
    """The environment variable that has its key, where it wants one."""


class McpServer(BaseModel):
    """Where an MCP server is: a command of this machine, or a URL."""

    model_config = ConfigDict(extra="forbid")

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "McpServer":
        if bool(self.command) == bool(self.url):
            raise ValueError("give a `command` (with `args`), or a `url`")
        return self


class AgentSpec(BaseModel):
    """Somebody who can do tasks: by `run`, or else by the worker graph and a chat model."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.'-]{0,63}$")
    role: str = Field(min_length=1, max_length=64)
    specialty: str = ""
    """What it knows best, in a few words: part of its prompt and of keyword matching."""
    tendency: str = ""
    """How it works: `comprehensive, detailed`; part of its prompt (chapter 15.6)."""
    instructions: str = ""
    """Anything else it should always know."""
    skills: Skills = Skills()
    """Kinds and keywords; a plain list of words is taken as keywords, those that name a kind as kinds too."""
    tools: list[Any] = []
    """Names of built-in tools, or LangChain tools."""
    model: Any = None
    """A model's name (`gpt-4o`, `anthropic:…`), `{name, base_url}` of a compatible server, or a LangChain chat model.

    None: the run's.
    """
    limits: Limits = Limits()
    workers: list[str] = []
    """Names of agents it may delegate to."""
    handoffs: list[str] = []
    """Names of agents it may hand its task over to for good."""
    escalate_to: str | None = None
    """Who takes over when it fails, or reaches a limit: another agent's name, or `human`."""
    mcp: dict[str, McpServer] = {}
    """MCP servers whose tools it gets besides `tools`, by name."""
    run: Any = None
    """An async function `(brief, desk) -> str | dict`, a LangChain Runnable, a compiled graph (one that
    `create_agent` or `build_supervisor` made, too) or a RemoteGraph; None: the worker graph."""

    @field_validator("model", mode="before")
    @classmethod
    def _at(cls, value: object) -> object:
        return ModelAt.model_validate(value) if isinstance(value, dict) else value

    @field_validator("skills", mode="before")
    @classmethod
    def _from_words(cls, value: object) -> object:
        if isinstance(value, list | tuple | set):
            kinds = set(get_args(Kind))
            return {"kinds": {w: 0.9 for w in value if w in kinds}, "keywords": [str(w) for w in value]}
        return value
