"""One agent at one task, once: what every kind of agent is run with."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from nodes.runtime.floor import Floor
from state.agent import AgentSpec
from state.brief import Brief


@dataclass(frozen=True)
class Job:
    """A try of a task, or of what another agent delegated."""

    floor: Floor
    spec: AgentSpec
    brief: Brief
    label: str
    """Unique in the run, and the same after a crash."""
    conversation: Sequence[JsonValue] = ()
    """Where it goes on from, if it parked or was cut off."""
    chain: tuple[str, ...] = ()
    """Who delegated it, outermost first; the agent itself is not in it."""
    account: str = ""
    """The plan's task that its model calls are settled on; its own unless it was delegated."""
    tried: tuple[str, ...] = field(default=())
    """Who had the task before, and handed it over or failed."""

    @property
    def path(self) -> list[str]:
        """Agents from the one that has the plan's task to the one at work."""
        return [*self.chain, self.spec.name]

    @property
    def ledger_task(self) -> str:
        """The task on the ledger."""
        return self.account or self.brief.task.id

    @property
    def kept(self) -> dict[str, JsonValue]:
        """What an agent that no model of ours drives has kept while it waited."""
        first = self.conversation[0] if self.conversation else None
        return dict(first) if isinstance(first, dict) else {}

    def keeping(self, **more: JsonValue) -> list[JsonValue]:
        """The same for the next time, with `more`."""
        return [{**self.kept, **more}]

    @property
    def thread(self) -> str:
        """Name of the thread that a graph runs on, below the run's: kept while it waits, found again after a crash."""
        kept = self.kept.get("thread")
        return kept if isinstance(kept, str) else f"{self.floor.run.scope}/{self.label}"

    @property
    def place(self) -> list[JsonValue]:
        """What is kept of a graph that waits: the name of its thread, above all."""
        return self.keeping(thread=self.thread)

    @property
    def asks(self) -> str:
        """What stands before the ids of questions that come out of a graph."""
        return f"{self.brief.task.id}.{self.brief.iteration}.{self.spec.name}/"

    @property
    def acts(self) -> str:
        """What stands before the ids of side effects of a nested supervisor: without the round, as for any other."""
        return f"{self.brief.task.id}.{self.spec.name}/"
