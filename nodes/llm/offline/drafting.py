"""A plan in the making: tasks are numbered as they come, and get roles that the team has."""

import re
from dataclasses import dataclass, field

from nodes.llm.offline.conversation import Arguments

PREFERRED = {
    "research": "researcher",
    "analysis": "analyst",
    "strategy": "strategist",
    "implementation": "coder",
    "writing": "writer",
    "action": "publisher",
}
"""Who does a kind of work, where the team has such a role."""

_TEAM = re.compile(r"^\s*[-*]?\s*(?P<name>[^()\n:]+?)\s*\((?P<role>[^()\n]+)\)(?P<rest>.*)$")
_KINDS = re.compile(r"kinds:\s*(?P<kinds>[^;\n]+)")
_TOOLS = re.compile(r"tools:\s*(?P<tools>[^;\n]+)")


@dataclass
class Drafting:
    """A plan in the making."""

    team: str
    tasks: list[Arguments] = field(default_factory=list)

    def add(
        self,
        kind: str,
        description: str,
        after: list[str] | None = None,
        *,
        role: str = "",
        action: str = "",
        tools: bool = True,
    ) -> str:
        """Another task; its id."""
        task_id = f"t{len(self.tasks) + 1}"
        self.tasks.append(
            {
                "id": task_id,
                "description": description[:4000],
                "role": self.role(kind, role),
                "kind": kind,
                "depends_on": list(after or []),
                "required": True,
                "action": action,
                "needs_tools": tools,
            }
        )
        return task_id

    def role(self, kind: str, wanted: str = "") -> str:
        """A role of this team for that kind of work: the one wanted, the usual one, one that says so."""
        roles = [(m["role"].strip(), m["rest"]) for line in self.team.splitlines() if (m := _TEAM.match(line))]
        known = [role for role, _ in roles]
        for role in (wanted, PREFERRED.get(kind, "")):
            if role in known:
                return role
        return next((role for role, rest in roles if kind in _listed(_KINDS, rest)), "generalist")

    def with_tool(self, tool: str) -> str:
        """A role that has that tool."""
        roles = [(m["role"].strip(), m["rest"]) for line in self.team.splitlines() if (m := _TEAM.match(line))]
        return next((role for role, rest in roles if tool in _listed(_TOOLS, rest)), "generalist")

    @property
    def ids(self) -> list[str]:
        """The tasks so far."""
        return [str(task["id"]) for task in self.tasks]


def _listed(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.search(text)
    return [word.strip() for word in found.group(1).split(",")] if found else []
