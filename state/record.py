"""A task with its route and what came of it: outcome, failure, artifacts, usage. So `tasks` stand in a run's state."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from state.approval import Approval, FiredTrigger
from state.citation import Claim
from state.errors import FailureClass
from state.plan import Task
from state.replies import Review
from state.text import as_text

TaskStatus = Literal["pending", "running", "parked", "done", "failed", "skipped", "cancelled"]
HUMAN = "human"
"""Who is no agent: whoever gives a result after taking the wheel, and whoever a task is escalated to."""
FINAL: frozenset[TaskStatus] = frozenset({"done", "failed", "skipped", "cancelled"})


class Score(BaseModel):
    """How well one agent fits one task: 60 % its own assessment, 40 % keywords (supervisor guide, "routing")."""

    model_config = ConfigDict(extra="forbid")

    agent: str
    self_assessment: float
    keywords: float
    total: float
    learned: float = 0.0
    """What its record with this kind of task has added to its self-assessment, at most 0.15 up or down."""


class Route(BaseModel):
    """Who got the task, and why."""

    model_config = ConfigDict(extra="forbid")

    agent: str
    reason: str
    scores: list[Score]
    """All candidates, best first."""


PICTURES: Mapping[str, str] = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
"""Files that a report shows, by suffix, with their types."""


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


class Failure(BaseModel):
    """Why a task did not get done."""

    model_config = ConfigDict(extra="forbid")

    kind: FailureClass
    message: str


OutcomeStatus = Literal["done", "failed", "skipped", "parked", "blocked", "cancelled"]


class ModelUsed(BaseModel):
    """A chat model, and whose it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    provider: str
    """The address of its server, or the kind of model where it has none."""


class Usage(BaseModel):
    """Tokens and money used by something: a call, an agent, a task or a run. Adds up with `+`; false where nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    """Model calls made, those of agents that failed included."""
    cost: float = 0.0
    """US dollars, as far as known: declared by agents and tools, and for tokens at the policy's `prices`."""
    tokens_cost: float = 0.0
    """The part of it that is for tokens."""
    unpriced: int = 0
    """Calls of models that have no price: with any, the cost is not known but for the part that is."""
    models: list[ModelUsed] = []
    """Whose calls were counted."""

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    @property
    def in_words(self) -> str:
        """`3 calls, 1,234 tokens, $0.40, by gpt-4o (https://api.openai.com)`."""
        told = [f"{self.calls} call{'s' * (self.calls != 1)}", f"{self.total_tokens:,} tokens", *self.cost_in_words]
        by = [f"by {' and '.join(f'{one.name} ({one.provider})' for one in self.models)}"] if self.models else []
        return ", ".join([*told, *by])

    @property
    def cost_in_words(self) -> list[str]:
        """`$0.40`, `at least $0.40`, `cost unknown`, or nothing."""
        if not self.cost:
            return ["cost unknown"] if self.unpriced else []
        dollars = f"{self.cost:.2f}" if self.cost >= SMALL_COST else f"{self.cost:.6f}".rstrip("0")
        return [f"{'at least ' * bool(self.unpriced)}${dollars}"]

    @property
    def model_names(self) -> str:
        """The models, as people call them."""
        return ", ".join(dict.fromkeys(one.name for one in self.models))

    @property
    def providers(self) -> str:
        """Whose they are."""
        return ", ".join(dict.fromkeys(one.provider for one in self.models))

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def __add__(self, other: "Usage") -> "Usage":
        if not (self and other):  # most work of functions uses nothing
            return self or other
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            calls=self.calls + other.calls,
            cost=self.cost + other.cost,
            tokens_cost=self.tokens_cost + other.tokens_cost,
            unpriced=self.unpriced + other.unpriced,
            models=list(dict.fromkeys([*self.models, *other.models])),
        )


NOTHING = Usage()
"""No tokens, no calls and no money."""

SMALL_COST = 0.1
"""US dollars below which cents do not tell enough."""

DoubtKind = Literal["unreviewed", "refused", "unseen", "failing", "gap", "limited", "silence", "confidence", "unedited"]


class Doubt(BaseModel):
    """Why something that was delivered is not a plain success.

    `unreviewed`: the review could not be had. `refused`: the reviewer was not content to the end. `unseen`: it was done
    again, and nobody has looked at it since (in runs of a version before). `failing`: it does not pass a check that
    needs no model. `gap`: the request asks for something that nobody was given in time. `limited`: a limit cut the work
    or the answer short. `silence`: nobody answered, and the policy accepted the result. `confidence`: the agent is less
    sure than the policy asks for. `unedited`: the report could not be written by the model, and the results stand there
    one after the other.
    """

    model_config = ConfigDict(extra="forbid")

    kind: DoubtKind
    task_id: str = ""
    """The task it is about; empty where it is about the whole."""
    said: str
    """One line for people."""


class Outcome(BaseModel):
    """What came of one task. Plain JSON when dumped: that is what is checkpointed."""

    model_config = ConfigDict(extra="forbid")

    task_id: str
    agent: str
    status: OutcomeStatus
    """`blocked`: an input waits for a human; not an end, the task is taken up again."""
    result: JsonValue = ""
    """What the agent delivered: text, or any JSON a function returned."""
    claims: list[Claim] = []
    confidence: float | None = Field(default=None, ge=0, le=1)
    """The agent's own estimate; None where it gave none."""
    artifacts: list[Artifact] = []
    usage: Usage = Field(default_factory=Usage)
    model: str = ""
    """The chat model that the agent worked with, as people call it; empty where no call of one was seen."""
    failure: Failure | None = None
    limited: str = ""
    """Which limit cut the work short, where one did: what was delivered is not a plain success."""
    doubts: list[Doubt] = []
    """What is known to be in doubt of it: an answer without an end, what a nested supervisor doubts."""
    also_answers: list[str] = []
    """Ids of tasks building on it that its agent says it answers too."""
    not_improved: str = ""
    """Why the result is still the one that was sent back: what doing it again has failed of."""
    review: Review | None = None
    """What its agent thinks of the results that it built on, where it was asked to say so."""
    answered_by: str = ""
    """The task whose result this is, where nobody had to do this one: its result had answered it."""
    handed_to: str = ""
    """The agent that finishes the task in this one's place, where it was handed over."""
    attempts: int = 0
    """Tries made, over all agents."""
    tried: list[str] = []
    """Agents that tried, in order."""
    approvals: list[Approval] = []
    """The open questions, where parked."""
    decided_by: str = ""
    """Who accepted or replaced the result, where a human (or, after a deadline, the policy) was asked about it."""
    returned: int = 0
    """How often a human has sent the result back in this round."""
    conversation: list[JsonValue] = []
    """What the agent said and saw so far, where parked: it goes on from here."""
    former: "Outcome | None" = None
    """What review has sent back, where doing it again has parked: it stands where that fails."""
    iteration: int = 0
    """The review round in which it was made, from 0."""
    started_at: float = 0.0
    finished_at: float = 0.0
    """Seconds since the epoch."""

    @property
    def text(self) -> str:
        """The result as text."""
        return as_text(self.result)


class TaskRecord(BaseModel):
    """A task, its route, and its outcome."""

    model_config = ConfigDict(extra="forbid")

    task: Task
    route: Route | None = None
    status: TaskStatus = "pending"
    outcome: Outcome | None = None
    feedback: str = ""
    """Why it is to be done again; empty otherwise."""
    marks: list[FiredTrigger] = []
    """What speaks for asking a human before it runs: sensitive, out of scope."""
    recruited_by: str | None = None
    """The task or the person that asked for it, where it was not in the plan."""
    by_person: bool = False
    """Whether that is a person, who may be called like a task."""
    needed_by: list[str] = []
    """Tasks that wait for it, where a person said so."""
    reused: bool = False
    """Whether the recruit went to an idle member, so that the team did not grow."""

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def is_by_human(self) -> bool:
        """Whether a human gave its result: nobody does it again."""
        return self.status == "done" and self.outcome is not None and self.outcome.agent == HUMAN

    @property
    def recruiter(self) -> str | None:
        """The task that asked for it; what depends on that one waits for this one too."""
        return None if self.by_person else self.recruited_by

    @property
    def agent(self) -> str | None:
        """Who it is assigned to."""
        return self.route.agent if self.route else None
