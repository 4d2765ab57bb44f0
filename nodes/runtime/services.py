"""What a graph is built from. Made once, in the composition root, and handed to the nodes."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from nodes.llm.choose import Models
from nodes.runtime.clock import Clock, SystemClock
from nodes.runtime.notify import Nobody, Notifier
from nodes.runtime.signals import Bells
from nodes.tools.mcp import McpShelf
from state.policy import Policy
from state.team import Team

MAX_SOURCE_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True)
class Services:
    """Everything from outside that nodes need."""

    team: Team
    models: Models
    policy: Policy = field(default_factory=Policy)
    clock: Clock = field(default_factory=SystemClock)
    artifacts: Path = Path("artifacts")
    """Folder below which each thread gets its own."""
    max_source_bytes: int = MAX_SOURCE_BYTES
    """Bytes over which a source file is left out."""
    door: str = ""
    """The way runs come in, where it matters later: the server sets it."""
    bells: Bells = field(default_factory=Bells)
    """Wake a run in this process when a signal is sent from it."""
    notifier: Notifier = field(default_factory=Nobody)
    """Tells people that they are asked."""
    mcp: McpShelf = field(default_factory=McpShelf)
    """Tools of MCP servers."""
    fallback_store: BaseStore = field(default_factory=InMemoryStore)
    """Used where the graph runs without a store: then nothing outside this process can watch or steer."""

    def below(self, clock: Clock) -> "Services":
        """The same for a supervisor that works for another: with that one's clock, and people hear from it alone."""
        return replace(self, clock=clock, notifier=Nobody())
