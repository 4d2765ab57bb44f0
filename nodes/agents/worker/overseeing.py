"""A tool call as a deed: what triggers look at, from a tool's name and its marks (`metadata`).

The same for tools that Baton's own worker calls, and for those of agents that bring their own loop.
"""

from collections.abc import Mapping
from typing import Any, Protocol, cast, get_args

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import JsonValue

from nodes.policy.oversight import closeness, response
from nodes.policy.triggers import fired
from nodes.runtime.deeds import Deed, signs_of
from nodes.runtime.floor import Floor
from state.agent import AgentSpec
from state.brief import Brief
from state.policy import Policy
from state.trigger import Risk, Signs


class Place(Protocol):
    """Where tools are called: by whom, and for what."""

    @property
    def spec(self) -> AgentSpec:
        """The agent."""

    @property
    def brief(self) -> Brief:
        """What it works on."""

    @property
    def floor(self) -> Floor:
        """Where."""

    @property
    def path(self) -> tuple[str, ...]:
        """Agents from the one that has the plan's task to this one."""

    @property
    def account(self) -> str:
        """The plan's task that money is settled on."""

    def tool(self, name: str) -> BaseTool | None:
        """The tool of that name, if it is known here."""


def deed_of(call: ToolCall, mark: str, place: Place) -> Deed:
    """The call, as what it does; `mark` tells it from the others of the task."""
    tool = place.tool(call["name"])
    if tool is None:
        return marked_deed(call["name"], call["args"], None, mark, place)
    return marked_deed(call["name"], call["args"], tool.metadata or {}, mark, place, _schema_of(tool))


def marked_deed(
    name: str,
    args: dict[str, JsonValue],
    marks: Mapping[str, Any] | None,
    mark: str,
    place: Place,
    schema: dict[str, JsonValue] | None = None,
) -> Deed:
    """The same for a tool of which only the marks are known; None where there is no such tool."""
    task = place.brief.task
    return Deed(
        # Without the round: a task that review sends back does not publish the same thing twice, nor ask twice.
        id=f"{task.id}.{mark}",
        task=task,
        agent=place.spec.name,
        name=name,
        args=args,
        signs=_signs_of(name, marks, place.floor.run.policy) if marks is not None else None,
        args_schema=schema,
        path=place.path,
        undo=str((marks or {}).get("undo") or ""),
        must_ask=str((marks or {}).get("ask") or ""),
    )


def is_overseen(deed: Deed, policy: Policy) -> bool:
    """Whether it is asked about, or put on record before it is done, also where the agent is not trusted yet."""
    found = fired(deed.signs, policy) if deed.signs else []
    return bool(deed.must_ask) or response(found, closeness(policy.oversight, "novice"))[0] != "pass"


def _signs_of(name: str, marks: Mapping[str, Any], policy: Policy) -> Signs:
    """A risk that nobody knows counts as critical: a slip in it never lets more through."""
    risk = str(marks["risk"]).strip().lower() if marks.get("risk") is not None else None
    known = cast(Risk, risk if risk in get_args(Risk) else "critical") if risk is not None else None
    cost = float(marks.get("cost", 0.0))
    return signs_of(name, policy, risk=known, is_marked=bool(marks.get("sensitive")), cost=cost)


def _schema_of(tool: BaseTool) -> dict[str, JsonValue]:
    """JSON Schema of what a caller gives the tool."""
    schema: dict[str, JsonValue] = convert_to_openai_tool(tool)["function"]["parameters"]
    return schema
