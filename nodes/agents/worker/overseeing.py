"""Whether a tool call needs a human first: its triggers, and what the agent's oversight mode makes of them.

The same for tools that Baton's own worker calls and for those inside agents that bring their own loop.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, get_args

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import JsonValue

from nodes.policy.oversight import closeness, is_sensitive, response
from nodes.policy.triggers import fired, highest
from nodes.runtime.floor import Floor
from nodes.runtime.trust import mode_of
from state.agent import AgentSpec
from state.approval import Answer, Approval
from state.brief import Brief
from state.policy import Policy
from state.trigger import Risk, Signs

CHOICES: tuple[Answer, ...] = ("approve", "edit", "reject")


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


@dataclass(frozen=True)
class Action:
    """A tool call, as far as oversight looks at it."""

    name: str
    args: dict[str, JsonValue]
    marks: Mapping[str, Any]
    """The tool's `metadata`."""
    schema: dict[str, JsonValue] | None = None
    """JSON Schema of the arguments, where it is known."""
    choices: tuple[Answer, ...] = CHOICES
    """What it can be answered with."""


async def action_question(call: ToolCall, name: str, place: Place) -> Approval | None:
    """What a human has to answer before the call is made, if anything; `name` tells the action apart."""
    tool = place.tool(call["name"])
    if tool is None:
        return None
    return await question_about(Action(tool.name, call["args"], tool.metadata or {}, schema_of(tool)), name, place)


async def question_about(action: Action, name: str, place: Place) -> Approval | None:
    """The same for an action.

    What the mode only wants to know of is put on record here, before it is done.
    """
    run, task = place.floor.run, place.brief.task
    signs = signs_of(action.name, action.marks, run.policy)
    what, found = response(fired(signs, run.policy), await mode_of(run, place.spec.name))
    must_ask = str(action.marks.get("ask") or "")
    if what == "pass" and not must_ask:
        return None
    question = Approval(
        id=name,
        task_id=task.id,
        agent=place.spec.name,
        path=list(place.path),
        action=action.name,
        args=action.args,
        args_schema=action.schema,
        choices=list(action.choices),
        risk=signs.risk,
        priority=highest(found),
        triggers=found,
        reason="; ".join([*([must_ask] if must_ask else []), *(one.reason for one in found)]),
        description=f"**{place.spec.name}** wants to call `{action.name}` for task `{task.id}`: {task.description}",
    )
    if what == "note" and not must_ask:
        await place.floor.questions.note(question)
        return None
    return question


def is_overseen(name: str, marks: Mapping[str, Any], policy: Policy) -> bool:
    """Whether a tool is asked about or put on record before it is called, whoever calls it."""
    found = fired(signs_of(name, marks, policy), policy)
    return response(found, closeness(policy.oversight, "novice"))[0] != "pass" or bool(marks.get("ask"))


def signs_of(name: str, marks: Mapping[str, Any], policy: Policy) -> Signs:
    """What triggers look at, from a tool's name and its marks (`metadata`)."""
    is_marked = bool(marks.get("sensitive"))
    usual = "high" if is_marked or is_sensitive(name, policy) else "low"
    risk = marks.get("risk", usual)
    return Signs(
        action=name,
        is_marked=is_marked,
        risk=cast(Risk, risk) if risk in get_args(Risk) else "high",
        cost=float(marks.get("cost", 0.0)),
    )


def schema_of(tool: BaseTool) -> dict[str, JsonValue]:
    """JSON Schema of what a caller gives the tool."""
    schema: dict[str, JsonValue] = convert_to_openai_tool(tool)["function"]["parameters"]
    return schema
