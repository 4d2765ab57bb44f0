"""What people set of an assistant, and it brings to every run: LangGraph's `context`, or `configurable` in its config.

Pages make a form of it. It is below what a run's own input says, and on a server within the server's policy.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from state.errors import BadInput
from state.policy import Oversight
from state.text import Json


class Preferences(TypedDict, total=False):
    """What an assistant brings."""

    oversight: Annotated[Oversight, Field(description="How closely a human watches.")]
    token_budget: Annotated[int, Field(ge=1, description="Tokens, input and output together, that a run may use.")]
    max_parallel: Annotated[int, Field(ge=1, le=1000, description="Agents that work at the same time.")]
    approval_timeout_s: Annotated[float, Field(gt=0, description="Seconds that a human has to answer.")]
    call_timeout_s: Annotated[float, Field(gt=0, description="Seconds that one call of a model may take.")]
    max_seconds: Annotated[float, Field(gt=0, description="Seconds that executing may take in all.")]
    sources: Annotated[list[str], Field(description="Files and folders the agents may read.")]
    model: Annotated[str, Field(description="Which of the server's models thinks (BATON_MODELS).")]
    team: Annotated[str, Field(description="Which of the server's teams works (BATON_TEAMS).")]


ADDRESS = frozenset({"thread_id", "checkpoint_id", "checkpoint_ns"})
"""What of `configurable` says which run it is; programs that put all of it into `context` (AG-UI) set nothing by it."""
_PREFERENCES = TypeAdapter(Preferences)


class Wanted(NamedTuple):
    """What an assistant brings, checked."""

    policy: Json
    sources: list[str]
    model: str
    team: str


def checked_preferences(given: Mapping[str, object]) -> Wanted:
    """The policy fields of an assistant, its sources, and which model and team of the server's it has chosen.

    Raises:
        BadInput: names what is unknown or out of range.
    """
    given = {name: value for name, value in given.items() if name not in ADDRESS}
    if unknown := sorted(given.keys() - Preferences.__annotations__.keys()):
        known = ", ".join(Preferences.__annotations__)
        raise BadInput(f"an assistant cannot set {', '.join(map(repr, unknown))}; it can set {known}")
    if counted := [f"{name}: {str(one).lower()}" for name, one in given.items() if isinstance(one, bool)]:
        raise BadInput(f"what the assistant sets cannot be used: {'; '.join(counted)} is no value for it")
    try:
        made = _PREFERENCES.validate_python(given)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise BadInput(f"what the assistant sets cannot be used: {wrong}") from None
    apart = ("sources", "model", "team")
    policy: Json = {name: value for name, value in made.items() if name not in apart}  # type: ignore[misc]
    return Wanted(policy, made.get("sources", []), made.get("model", ""), made.get("team", ""))
