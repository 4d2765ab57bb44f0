"""What is kept of a run in the channels of its graph, messages apart: plain JSON, and how it is read.

Apart from `state.supervisor`, which merges messages by LangGraph's way: whoever only looks at a run loads no graph.
`typing_extensions.TypedDict`: the one in `typing` makes LangGraph's input schema null on Python 3.11.
"""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import TypedDict

from state.policy import Policy
from state.record import TaskRecord
from state.run import ENDS, WAITING, Phase
from state.signal import Control
from state.text import Json


class Terms(BaseModel):
    """What a run works under from start to end, whatever changes around it."""

    model_config = ConfigDict(extra="forbid")

    policy: Policy = Policy()
    sources: list[str] = []
    model: str = ""
    answer: Json | None = None
    """The JSON Schema that the run's data is to fit, references written out; None where no data was asked for."""
    team: list[str] = []
    """Names of the agents it was started with; empty in runs that did not keep them."""
    chosen_model: str = ""
    """The model that an assistant has chosen of those that a server offers; empty: the server's own."""
    chosen_team: str = ""
    """The team, likewise."""
    audited: dict[str, int] = {}
    """By thread, records that its audit log had when the run started: they decide nothing of it. A copy of a thread has
    a log of its own."""


class Given(TypedDict, total=False):
    """What a run starts from, besides messages."""

    query: str
    sources: list[str]
    """Files and folders the agents may read."""
    plan: Json | None
    """A plan to use instead of making one."""
    policy: Json | None
    """Policy fields for this run; the others as the graph was built."""
    schema: Json | None
    """A JSON Schema: the answer comes as `data` that fits it, too."""


class Result(TypedDict, total=False):
    """What a run ends with, besides messages."""

    report: str
    tasks: list[Json]
    artifacts: list[Json]
    data: JsonValue
    """The answer as data that fits the schema, with null for what is not known; None where none was asked for."""
    fields: list[Json]
    """Of each field of the data, the places that it rests on, or the reason why it is null (`DataField`)."""
    phase: str
    usage: Json


class RunState(Given, Result, total=False):
    """All that is true of a run, besides its messages (supervisor guide, "state management")."""

    then: str
    """The phase that goes on once a human has answered, while `phase` is `waiting`; it means nothing otherwise."""
    earlier: list[Json]
    """What was asked and answered on the thread before, oldest first (`Turn`); absent in runs of versions before."""
    turned_away: str
    """Why what came last cannot be worked on; empty or absent where it can."""
    story: str
    """How the ids of the run's messages begin (`nodes.runtime.story`); absent in runs of versions before."""
    goal: str
    """The request being worked on: from `query` or from `messages`."""
    terms: Json
    """Frozen at intake: the run's policy, sources, model and team (see `Terms`)."""
    draft: Json | None
    """The validated plan that `tasks` were made from."""
    advice: Json | None
    """What earlier runs say of the request (`Advice`); absent or None where they say nothing."""
    mode: Json | None
    iteration: int
    """Review rounds made."""
    accepted: str
    """Fingerprint of the tasks that review has let pass (`nodes.policy.quality`); empty before it has."""
    control: Json | None
    """Who drives it (`Control`), as last seen; absent or None while it drives itself, and in older runs."""
    decisions: dict[str, Json]
    """Answers by approval id."""
    asked: Json | None
    """The question about the plan, with its deadline, while it waits."""
    handed_back: int
    """How many hand-backs were merged into the tasks."""
    replanned: list[str]
    """Ids of the tasks whose rejection has led to another plan."""
    unread: str
    """Why the last answer could not be read; empty otherwise."""
    notes: list[str]
    """What the user said while the work was in flight."""
    objections: list[str]
    """What humans said when they rejected a plan or a task: for whoever plans again."""
    spent: Json
    """What the supervisor's own calls had used, in runs of a version that did not put them on the ledger."""
    worked_s: float
    """Seconds that executing has taken so far, over all rounds."""
    refused: dict[str, str]
    """What the reviewing model said to what it did not accept when it was asked last, by task id; it may be nothing."""
    unreviewed: str
    """Why the last review could not be had; empty otherwise."""
    failing: dict[str, str]
    """What the last look of review found without a model, by task id."""
    gaps: list[str]
    """What the last look of review found that the request asks for and nobody was given."""
    doubts: list[Json]
    """Why what was delivered is not a plain success (`Doubt`), as of the report."""
    warnings: list[str]
    error: str | None
    at_limit: bool
    """Whether the run gave up because a limit of its own was reached; then what was delivered makes it `partial`."""
    started_at: float
    finished_at: float | None


class Dumped(list[Json]):
    """Tasks as the channel `tasks` keeps them, and the records they were made of: no step of one process reads them."""

    def __init__(self, records: Sequence[TaskRecord]) -> None:
        super().__init__(record.model_dump(mode="json") for record in records)
        self.records = tuple(records)


class KeptTerms(Json):
    """Terms as their channel keeps them, and what they were made of: no step of one process reads them again."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms.model_dump(mode="json"))
        self.terms = terms


def terms_of(state: RunState) -> Terms:
    """What the run works under; the usual terms before anything was taken in."""
    kept = state.get("terms") or {}
    return kept.terms if isinstance(kept, KeptTerms) else Terms.model_validate(kept)


def records_of(state: RunState) -> list[TaskRecord]:
    """The tasks, in plan order; none before there is a plan."""
    tasks = state.get("tasks") or []
    return list(tasks.records) if isinstance(tasks, Dumped) else [TaskRecord.model_validate(task) for task in tasks]


def dumped(records: Iterable[TaskRecord]) -> list[Json]:
    """Tasks as the channel `tasks` keeps them; nobody changes them in place."""
    return Dumped(list(records))


def phase_of(state: RunState) -> Phase | None:
    """The phase the run is in, also where it waits for a human; None before anything was taken in.

    Raises:
        ValueError: somebody has edited it to what is none.
    """
    said = state.get("phase")
    if said == WAITING:
        said = state.get("then") or Phase.executing.value
    return checked_phase(said) if said else None


def checked_phase(said: str | None) -> Phase:
    """The phase that an edit of the state names.

    Raises:
        ValueError: there is none of that name.
    """
    try:
        return Phase(said or "")
    except ValueError:
        raise ValueError(f"there is no phase {said!r}; a state can be edited to {', '.join(Phase)}") from None


def is_over(state: RunState) -> bool:
    """Whether the run has come to its end: input starts a new one."""
    return state.get("phase") in ENDS and state.get("finished_at") is not None


ITSELF = Control()
"""It drives itself."""


def control_of(state: RunState) -> Control:
    """Who drives the run, as last seen."""
    given = state.get("control")
    return Control.model_validate(given) if given else ITSELF
