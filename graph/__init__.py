"""How it is wired and run: the graph, its persistence, and the doors to it."""

from graph.app import build_supervisor
from graph.supervisor import Supervisor, open_supervisor
from state.agent import AgentSpec
from state.plan import Plan, Task
from state.policy import Policy

__all__ = ["AgentSpec", "Plan", "Policy", "Supervisor", "Task", "build_supervisor", "open_supervisor"]
