"""How it is wired and run: the graph, its persistence, and the doors to it.

What is exported is loaded when it is first asked for, so that a part of this package does not load the whole.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.app import build_supervisor
    from graph.supervisor import Supervisor, open_supervisor
    from state.agent import AgentSpec
    from state.plan import Plan, Task
    from state.policy import Policy

__all__ = ["AgentSpec", "Plan", "Policy", "Supervisor", "Task", "build_supervisor", "open_supervisor"]

_HOMES = {
    "AgentSpec": "state.agent",
    "Plan": "state.plan",
    "Policy": "state.policy",
    "Supervisor": "graph.supervisor",
    "Task": "state.plan",
    "build_supervisor": "graph.app",
    "open_supervisor": "graph.supervisor",
}

if not TYPE_CHECKING:  # a type checker reads the imports above, and still finds a name that is not there

    def __getattr__(name: str) -> object:
        """An exported name, on its first use."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
