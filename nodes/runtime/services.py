"""What a graph is built from: team, models, clock, notifier, wake-ups. Made once, in the composition root.

A compiled graph keeps what it was compiled from as its `builder` (`SupervisorGraph`). So whoever has a nested
supervisor as an agent can find that one's team: to undo what was done in it, in a process where it has not run.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, cast
from weakref import WeakValueDictionary

from langgraph.graph import StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from nodes.llm.choose import Models
from nodes.runtime.audit import Seals
from nodes.runtime.clock import Clock, Nobody, Notifier, SystemClock
from nodes.runtime.observing import NoObserver, Observer
from nodes.runtime.servers import Servers
from nodes.tools.mcp import McpShelf
from nodes.tools.search_service import SearchService
from nodes.tools.storage import Location
from state.agent import Team
from state.errors import BadInput
from state.policy import Policy
from state.preferences import Preferences
from state.supervisor import SupervisorInput, SupervisorOutput, SupervisorState

MAX_SOURCE_BYTES = 50 * 1024 * 1024


class WakeUps:
    """One bell a thread: rung by a sender in this process, so that the run looks at once and not at its next poll."""

    def __init__(self) -> None:
        self._bells: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    def bell(self, thread_id: str) -> asyncio.Event:
        """The thread's bell; it exists as long as somebody holds it."""
        bell = self._bells.get(thread_id)
        if bell is None:
            bell = self._bells[thread_id] = asyncio.Event()
        return bell

    def wake(self, thread_id: str) -> None:
        """Wake whoever listens in this process, if anybody does."""
        if bell := self._bells.get(thread_id):
            bell.set()


class Choice(NamedTuple):
    """What an assistant has chosen of what a server offers, by name; empty: the server's own."""

    model: str = ""
    team: str = ""


OWN = Choice()
"""The server's own model and team."""


@dataclass(frozen=True)
class Services:
    """Everything from outside that nodes need."""

    team: Team
    models: Models
    policy: Policy = field(default_factory=Policy)
    clock: Clock = field(default_factory=SystemClock)
    artifacts: Location = Path("artifacts")
    """Folder below which each thread gets its own."""
    max_source_bytes: int = MAX_SOURCE_BYTES
    """Bytes over which a source file is left out."""
    keep_history: bool = False
    """Whether the checkpoints of a run stay when it has ended; else only the last one does."""
    door: str = ""
    """The way runs come in, where it matters later: the server sets it."""
    source_roots: tuple[Location, ...] | None = None
    """Folders that sources have to lie in; None: whatever the process may read, as for the user of a command line."""
    sources: tuple[str, ...] = ()
    """What agents may read where nobody says so."""
    fetches_inside: bool = False
    """Whether pages inside this network may be fetched too."""
    search: SearchService | None = None
    """The search service of the tool `web_search`."""
    wake_ups: WakeUps = field(default_factory=WakeUps)
    """Wake a run in this process when a signal is sent from it."""
    notifier: Notifier = field(default_factory=Nobody)
    """Tells people that they are asked."""
    servers: Servers = field(default_factory=Servers)
    """Servers of models, with what they ask for."""
    seals: Seals = field(default_factory=Seals)
    """How the audit log is sealed."""
    offers: Mapping[Choice, "Services"] = field(default_factory=dict)
    """The same with another model or team, which assistants may choose."""
    observer: Observer = field(default_factory=NoObserver)
    """Looks on, for traces."""
    mcp: McpShelf = field(default_factory=McpShelf)
    """Tools of MCP servers."""
    fallback_store: BaseStore = field(default_factory=InMemoryStore)
    """Used where the graph runs without a store: then nothing outside this process can watch or steer."""

    def chosen(self, choice: Choice) -> "Services":
        """The same with the model and the team that an assistant has chosen.

        Raises:
            BadInput: there is no such offer; names those there are.
        """
        if choice == OWN:
            return self
        if found := self.offers.get(choice):
            return found
        for what, name, names in (
            ("model", choice.model, {one.model for one in self.offers}),
            ("team", choice.team, {one.team for one in self.offers}),
        ):
            if name and name not in names:
                known = ", ".join(sorted(filter(None, names))) or "none to choose from"
                raise BadInput(f"there is no {what} {name!r} here; there is {known} (BATON_{what.upper()}S)")
        raise BadInput(f"the model {choice.model!r} does not go with the team {choice.team!r}")

    def names(self) -> list[str]:
        """The agents of its team, and of those that can be chosen."""
        teams = [self.team, *(one.team for one in self.offers.values())]
        return list(dict.fromkeys(agent.name for team in teams for agent in team))

    def below(self, clock: Clock, servers: Servers) -> "Services":
        """The same for a supervisor that works for another: with that one's clock, and people hear from it alone."""
        return replace(self, clock=clock, servers=servers, notifier=Nobody())


class SupervisorGraph(StateGraph[SupervisorState, None, SupervisorInput, SupervisorOutput]):
    """A supervisor graph before it is compiled."""

    is_supervisor = True
    """For who sees it as the `builder` of a compiled graph, and does not import this class."""

    def __init__(self, services: Services) -> None:
        super().__init__(
            SupervisorState,
            context_schema=cast(type[None], Preferences),
            input_schema=SupervisorInput,
            output_schema=SupervisorOutput,
        )
        self.services = services
