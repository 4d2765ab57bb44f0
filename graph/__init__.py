"""How it is wired and run: the graph, its persistence, and the doors to it.

What is exported is loaded when it is first asked for, so that a part of this package does not load the whole.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.app import build_supervisor
    from graph.supervisor import Supervisor, open_supervisor
    from nodes.agents.tool_guard import governed
    from state.agent import AgentSpec
    from state.plan import Plan, Task
    from state.policy import Policy
    from state.signal import Cancel, Decide, HandBack, Pause, Recruit, Resume, Retire, SendMail, Takeover

__all__ = [
    "AgentSpec",
    "Cancel",
    "Decide",
    "HandBack",
    "Pause",
    "Plan",
    "Policy",
    "Recruit",
    "Resume",
    "Retire",
    "SendMail",
    "Supervisor",
    "Takeover",
    "Task",
    "build_supervisor",
    "governed",
    "open_supervisor",
]

_HOMES = {
    "AgentSpec": "state.agent",
    **dict.fromkeys(
        ("Cancel", "Decide", "HandBack", "Pause", "Recruit", "Resume", "Retire", "SendMail", "Takeover"), "state.signal"
    ),
    "Plan": "state.plan",
    "Policy": "state.policy",
    "Supervisor": "graph.supervisor",
    "Task": "state.plan",
    "build_supervisor": "graph.app",
    "governed": "nodes.agents.tool_guard",
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
