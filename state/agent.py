"""Who can do tasks: an agent's spec, a team, its directory, and what an agent gets to know about its task."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from state.conversation import Turn
from state.drawn import Drawn, Sight
from state.errors import TeamInvalid
from state.plan import Kind, Task
from state.record import HUMAN
from state.text import Json


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


class Limits(BaseModel):
    """What one agent may use for one task."""

    model_config = ConfigDict(extra="forbid")

    iterations: int = Field(default=30, ge=1, le=1000)
    """Model calls."""
    tokens: int | None = Field(default=None, ge=1)
    """Input and output together; None: only the run's budget counts."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens of one reply; None: that of its model, or the policy's for workers."""
    timeout_s: float = Field(default=600, gt=0)
    """Seconds for one try. What runs out of them is not tried again by the same agent, nor by another model of the same
    server; a graph goes on where it stood."""


class ModelAt(BaseModel):
    """A model of an OpenAI-compatible server other than the run's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    base_url: str = Field(pattern=r"^https?://[^\s/]+")
    key_from: str = ""
    """The environment variable that has its key, where it wants one."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens of one reply; None: the policy's."""


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
            return {"kinds": {w: 0.9 for w in map(str, value) if w in kinds}, "keywords": [*map(str, value)]}
        return value


class Team(Drawn):
    """Agents by name, in their order, and the policy fields that they come with.

    Raises:
        TeamInvalid: no agents, a name twice, an unknown worker, or a limit that cannot be enforced.
    """

    def __init__(self, specs: Iterable[AgentSpec], policy: Json | None = None) -> None:
        self.specs = tuple(specs)
        self.policy: Json = policy or {}
        problems = [fault for _, fault in faults(self.specs)]
        if problems:
            raise TeamInvalid("the team cannot be used: " + "; ".join(problems))
        self._by_name = {spec.name: spec for spec in self.specs}

    def _sight(self) -> Sight:
        return Sight(
            title="team",
            facts=[f"{name}: {value}" for name, value in self.policy.items()],
            columns=["agent", "role", "specialty", "tools"],
            rows=[
                [one.name, one.role, one.specialty, ", ".join(str(getattr(tool, "name", tool)) for tool in one.tools)]
                for one in self.specs
            ],
        )

    def __iter__(self) -> Iterator[AgentSpec]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> list[str]:
        """The agents' names, in their order."""
        return list(self._by_name)

    def agent(self, name: str) -> AgentSpec:
        """The agent of that name; TeamInvalid if there is none."""
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(self._by_name)
            raise TeamInvalid(f"there is no agent {name!r} in the team; there are: {known}") from None


def _named(spec: AgentSpec) -> Iterator[tuple[str, str]]:
    """The agents that an agent names, and as what."""
    yield from (("worker", name) for name in spec.workers)
    yield from (("handoff", name) for name in spec.handoffs)
    if spec.escalate_to and spec.escalate_to != HUMAN:
        yield "escalation target", spec.escalate_to


def faults(specs: Sequence[AgentSpec], also: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """All that keeps `specs` from being a team: the agent (empty for the team as a whole), and what is wrong.

    `also`: names of agents that are there, but cannot be looked at.
    """
    if not specs and not also:
        yield "", "it has no agents"
    names = [spec.name for spec in specs]
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        yield name, f"agent {name!r} is there {names.count(name)} times"
    for spec in specs:
        yield from ((spec.name, f"{spec.name}: {fault}") for fault in _own_faults(spec, {*names, *also}))


def _own_faults(spec: AgentSpec, names: Collection[str]) -> Iterator[str]:
    if spec.name == HUMAN:
        yield f"no agent can be called {HUMAN!r}, that is whoever answers; give it another name"
    for what, name in _named(spec):
        if name not in names:
            yield f"{what} {name!r} is not in the team"
        elif name == spec.name:
            yield f"{what} {name!r} is the agent itself"
    if spec.run is None:
        return
    if not callable(spec.run) and not hasattr(spec.run, "ainvoke"):
        yield "`run` is neither a function nor something with `ainvoke`"
    if spec.limits.max_tokens:
        yield "limits.max_tokens cannot be enforced, `run` makes its own model calls; give its model a max_tokens"
    if not _is_metered(spec.run):
        for limit in spec.limits.model_fields_set & {"iterations", "tokens"}:
            yield f"limits.{limit} cannot be enforced, `run` does its own thinking; use limits.timeout_s"


def _is_metered(run: Any) -> bool:
    """Whether its model calls are seen: what LangChain runs here, and is no supervisor with agents of its own."""
    is_supervisor = getattr(getattr(run, "builder", None), "is_supervisor", False)
    is_elsewhere = hasattr(run, "assistant_id")  # a RemoteGraph
    return hasattr(run, "ainvoke") and not is_elsewhere and not is_supervisor


MemberStatus = Literal["idle", "running", "completed", "failed", "retired"]


class Member(Drawn, BaseModel):
    """One agent on a run."""

    model_config = ConfigDict(extra="forbid")

    agent: str
    role: str
    status: MemberStatus
    """`idle`: nothing to do yet; `completed` and `failed`: by its last task."""
    tasks: list[str] = []
    recruited: bool = False
    """Whether it is there because somebody asked for it on the way."""
    unread: int = 0
    """Messages in its mailbox that it was not given: it has ended, or does not look for mail while it works."""

    def _sight(self) -> Sight:
        tasks = f"tasks: {', '.join(self.tasks)}" if self.tasks else "no task yet"
        return Sight(title=f"{self.agent}, {self.role}", status=self.status, facts=[tasks])


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
    earlier: list[Turn] = []
    """What was asked and answered on the thread before, oldest first: material, never orders."""
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
    reviews: dict[str, str] = {}
    """What the inputs were to be, by task id, where its agent is to say what they lack (`review`): nobody else looks at
    them before the answer counts."""
    then: dict[str, str] = {}
    """Tasks that build on this one alone, by id: whoever answers one of them too says so (`also_answers`)."""

    @property
    def requests(self) -> list[str]:
        """What the user asked for on the thread, oldest first."""
        return [*(turn.query for turn in self.earlier), self.query]
