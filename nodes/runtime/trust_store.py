"""The book of trust: what each agent did in each run, and its incidents, as rows of the Store under `trust`, AGENT.

A row is written once and never changed. That of a run has the run's name, so that it counts once also after a crash.
Runs of nested supervisors count like any other, when they end; those that never do (their task ran out of time, or was
cancelled) at the end of the outermost run, which keeps a list of those that have begun.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Annotated
from uuid import uuid4

from langgraph.store.base import BaseStore, PutOp
from pydantic import Field, TypeAdapter, ValidationError

from nodes.policy.oversight import Closeness, effective_oversight
from nodes.policy.trust import results_by_agent, trust_of
from nodes.runtime.context import RunContext
from nodes.runtime.rows import MOST, read_all, space
from state.delegation import Delegation
from state.record import HUMAN, Outcome
from state.text import Json
from state.trust import Incident, RunResult, Trust

_ENTRY: TypeAdapter[RunResult | Incident] = TypeAdapter(Annotated[RunResult | Incident, Field(discriminator="kind")])
_KIND = "trust"
_BEGUN = "nested"


def begun_rows(run: RunContext, started_at: float) -> list[PutOp]:
    """The rows that say that a run has begun: of nested ones only, the list of all runs is not kept here."""
    return [run.journal.kept(_BEGUN, run.thread_id, {"started_at": started_at})] if run.outer else []


async def ended_rows(run: RunContext, outcomes: Iterable[Outcome], started_at: float, at: float) -> list[PutOp]:
    """The rows for a run that ends, with what its tasks came to; the same rows when they are made again."""
    team = {agent.name for agent in run.services.team}
    delegated, begun = await asyncio.gather(
        _delegated(run.store, run.thread_id), read_all(run.store, space(_BEGUN, run.thread_id))
    )
    rows = run_rows(results_by_agent([*outcomes, *delegated], team, started_at, at), run.thread_id, started_at)
    if run.outer:
        return [*rows, run.journal.kept(_BEGUN, run.thread_id, None)]
    for nested in begun:
        rows += await _cut_off(run.store, nested.key, float(nested.value["started_at"]), at)
    return rows


async def _cut_off(store: BaseStore, thread_id: str, started_at: float, at: float) -> list[PutOp]:
    """The rows for a nested run that was cut off: of each task, what it came to last."""
    outcomes = [Outcome.model_validate(item.value) for item in await read_all(store, space("outcomes", thread_id))]
    last = {outcome.task_id: outcome for outcome in sorted(outcomes, key=lambda outcome: outcome.iteration)}
    ended = [*last.values(), *await _delegated(store, thread_id)]
    agents = {name for outcome in ended for name in (outcome.agent, *outcome.tried)} - {"", HUMAN}
    return run_rows(results_by_agent(ended, agents, started_at, at), thread_id, started_at)


async def _delegated(store: BaseStore, thread_id: str) -> list[Outcome]:
    """What came of the parts that agents had others do: workers earn trust by them as by tasks of the plan."""
    rows = [Delegation.model_validate(item.value) for item in await read_all(store, space("delegations", thread_id))]
    return [row.outcome for row in rows if row.outcome and row.outcome.status != "parked"]


def run_rows(results_by_agent: Mapping[str, RunResult], thread_id: str, started_at: float) -> list[PutOp]:
    """The rows for what agents did in one run; the same rows when they are made again."""
    key = f"run:{thread_id}:{started_at!r}"
    return [PutOp(space(_KIND, agent), key, tally.model_dump(mode="json")) for agent, tally in results_by_agent.items()]


async def write_incident(store: BaseStore, agent: str, incident: Incident) -> None:
    """Put an incident into an agent's book."""
    key = f"incident:{incident.at!r}:{uuid4().hex[:12]}"
    await store.aput(space(_KIND, agent), key, incident.model_dump(mode="json"))


async def read_trust(store: BaseStore, now: float) -> dict[str, Trust]:
    """Where every agent stands that has a book, by name."""
    books: dict[str, list[RunResult | Incident]] = {}
    for item in await store.asearch((_KIND,), limit=MOST):
        name = item.namespace[1].replace("%2E", ".").replace("%25", "%")
        books.setdefault(name, []).append(_entry(item.value, now))
    return {name: trust_of(name, book, now) for name, book in sorted(books.items())}


async def mode_of(run: RunContext, agent: str) -> Closeness:
    """How closely a human watches an agent now: by the policy, or with `auto` by its trust at this moment."""
    if run.policy.oversight != "auto":
        return effective_oversight(run.policy.oversight, "novice")
    rows, now = await read_all(run.store, space(_KIND, agent)), run.services.clock.now()
    book = [_entry(row.value, now) for row in rows]
    return effective_oversight(run.policy.oversight, trust_of(agent, book, now).level)


def _entry(value: Json, now: float) -> RunResult | Incident:
    """An entry of a book; one that is damaged may have been an incident, so it stands as one, of this moment."""
    try:
        return _ENTRY.validate_python(value)
    except ValidationError:
        return Incident(at=now, severity="major", note="an entry of this book cannot be read", by="baton")
