"""An execution context without a graph: for tests of what works on it."""

from typing import Any

from langgraph.store.memory import InMemoryStore

from graph.testing import HeldClock
from nodes.llm.choose import Models
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.context import RunContext
from nodes.runtime.desk import Desk
from nodes.runtime.execution import ExecutionContext, open_execution
from nodes.runtime.journal import Journal, read_events
from nodes.runtime.services import Services
from state.agent import Team
from state.policy import Policy
from state.record import TaskRecord
from state.run import Phase
from tests.builders import make_agent, make_brief, make_record

THREAD = "t"


def make_run(store: InMemoryStore | None = None, **policy: Any) -> RunContext:
    """A run of a team of three: ada, bob and a helper called hal."""
    model, clock, kept = ScriptedModel([]), HeldClock(), store or InMemoryStore()
    team = Team([make_agent("ada"), make_agent("bob", "writer"), make_agent("hal", "helper")])
    return RunContext(
        services=Services(team, Models(model, lambda _: model), clock=clock),
        store=kept,
        thread_id=THREAD,
        scope="s",
        policy=Policy.model_validate(policy),
        phase=Phase.executing,
        paths=[],
        journal=Journal(kept, THREAD, clock),
    )


def make_floor(*records: TaskRecord, store: InMemoryStore | None = None, **policy: Any) -> ExecutionContext:
    """Its execution context, with these tasks; by default one that ada is at."""
    execution = open_execution(make_run(store, **policy))
    for record in records or (make_record("t1", "running"),):
        execution.records[record.id] = record
    return execution


def desk_of(execution: ExecutionContext, agent: str = "ada", task: str = "t1") -> Desk:
    """An agent's desk for a task."""
    return Desk(execution, agent, make_brief(task), f"{task}.0.0:{agent}:1")


async def events(execution: ExecutionContext) -> list[str]:
    """The kinds of what happened."""
    return [event.kind for event in await read_events(execution.run.store, THREAD)]
