"""The book of trust: what each agent did in each run, and its incidents, as rows of the Store under `trust`, AGENT.

A row is written once and never changed. That of a run has the run's name, so that it counts once also after a crash.
"""

from collections.abc import Mapping
from typing import Annotated
from uuid import uuid4

from langgraph.store.base import BaseStore, PutOp
from pydantic import Field, TypeAdapter

from nodes.policy.oversight import Closeness, closeness
from nodes.policy.trust import trust_of
from nodes.runtime.context import RunContext
from nodes.runtime.rows import MOST, read_all, space
from state.trust import Incident, Tally, Trust

_ENTRY: TypeAdapter[Tally | Incident] = TypeAdapter(Annotated[Tally | Incident, Field(discriminator="kind")])
_KIND = "trust"


def run_rows(tallies: Mapping[str, Tally], thread_id: str, started_at: float) -> list[PutOp]:
    """The rows for what agents did in one run; the same rows when they are made again."""
    key = f"run:{thread_id}:{started_at!r}"
    return [PutOp(space(_KIND, agent), key, tally.model_dump(mode="json")) for agent, tally in tallies.items()]


async def write_incident(store: BaseStore, agent: str, incident: Incident) -> None:
    """Put an incident into an agent's book."""
    key = f"incident:{incident.at!r}:{uuid4().hex[:12]}"
    await store.aput(space(_KIND, agent), key, incident.model_dump(mode="json"))


async def read_trust(store: BaseStore, now: float) -> dict[str, Trust]:
    """Where every agent stands that has a book, by name."""
    books: dict[str, list[Tally | Incident]] = {}
    for item in await store.asearch((_KIND,), limit=MOST):
        name = item.namespace[1].replace("%2E", ".").replace("%25", "%")
        books.setdefault(name, []).append(_ENTRY.validate_python(item.value))
    return {name: trust_of(name, book, now) for name, book in sorted(books.items())}


async def mode_of(run: RunContext, agent: str) -> Closeness:
    """How closely a human watches an agent now: by the policy, or with `auto` by its trust at this moment."""
    if run.policy.oversight != "auto":
        return closeness(run.policy.oversight, "novice")
    rows = await read_all(run.store, space(_KIND, agent))
    book = [_ENTRY.validate_python(row.value) for row in rows]
    return closeness(run.policy.oversight, trust_of(agent, book, run.services.clock.now()).level)
