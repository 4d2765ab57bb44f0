"""What speaks, before a task begins, for asking a human: it is sensitive (15.12.8), or nobody and no tool fits."""

import re
from collections.abc import Sequence

from nodes.policy.oversight import is_sensitive
from nodes.policy.routing import FALLBACK_FROM
from nodes.policy.triggers import fired
from state.agent import AgentSpec
from state.plan import Task
from state.policy import Policy
from state.record import Route
from state.trigger import Fired, Risk, Signs

OUT_OF_SCOPE_BELOW = FALLBACK_FROM
"""A task that its agent fits less well than this is nobody's."""

ANYBODY = "generalist"
"""The role of a task that asks for nobody in particular (15.6): whoever there is may do it."""

_WORD = re.compile(r"[a-z0-9]+")


def marks_of(task: Task, route: Route | None, agent: AgentSpec | None, policy: Policy) -> list[Fired]:
    """The triggers that a task fires before it runs; `agent` is who would do it."""
    signs = Signs(action=task.action or "", risk=risk_of(task, policy), misfit=misfit(task, route, agent))
    return fired(signs, policy)


def risk_of(task: Task, policy: Policy) -> Risk:
    """High for what is sensitive (15.12.8), low for the rest."""
    return "high" if task.action and is_sensitive(task.action, policy) else "low"


def misfit(task: Task, route: Route | None, agent: AgentSpec | None) -> str:
    """Why the task is out of scope, in words; empty if it is not."""
    if agent is None:
        return "there is no agent for it"
    score = next((score.total for score in route.scores if score.agent == agent.name), None) if route else None
    if task.role != ANYBODY and score is not None and score < OUT_OF_SCOPE_BELOW:
        return f"nobody fits, {agent.name} scores {score:.2f} (at least {OUT_OF_SCOPE_BELOW:.2f})"
    if task.action and agent.run is None and not tools_for(task.action, agent):
        return f"no tool of {agent.name} can do {task.action!r}"
    return ""


def tools_for(action: str, agent: AgentSpec) -> list[str]:
    """The agent's tools whose name shares a word with the action."""
    words = set(_WORD.findall(action.lower()))
    return [name for name in tool_names(agent.tools) if words & set(_WORD.findall(name.lower()))]


def tool_names(tools: Sequence[object]) -> list[str]:
    """The names of tools, given by name or as LangChain tools."""
    return [tool if isinstance(tool, str) else str(getattr(tool, "name", "")) for tool in tools]
