"""A tool call as a deed: what triggers look at, from a tool's name and its marks (`metadata`)."""

from typing import cast, get_args

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import JsonValue

from nodes.agents.worker.bench import Bench
from nodes.runtime.deeds import Deed, signs_of
from state.policy import Policy
from state.trigger import Risk, Signs


def deed_of(call: ToolCall, mark: str, bench: Bench) -> Deed:
    """The call, as what it does; `mark` tells it from the others of the task."""
    tool, task = bench.tool(call["name"]), bench.brief.task
    marks = (tool.metadata or {}) if tool else {}
    return Deed(
        # Without the round: a task that review sends back does not publish the same thing twice, nor ask twice.
        id=f"{task.id}.{mark}",
        task=task,
        agent=bench.spec.name,
        name=call["name"],
        args=call["args"],
        signs=_signs_of(tool, bench.floor.run.policy) if tool else None,
        args_schema=_schema_of(tool) if tool else None,
        path=bench.path,
        undo=str(marks.get("undo") or ""),
        must_ask=str(marks.get("ask") or ""),
    )


def _signs_of(tool: BaseTool, policy: Policy) -> Signs:
    marks = tool.metadata or {}
    risk = marks.get("risk")
    known = cast(Risk, risk if risk in get_args(Risk) else "high") if risk is not None else None
    cost = float(marks.get("cost", 0.0))
    return signs_of(tool.name, policy, risk=known, is_marked=bool(marks.get("sensitive")), cost=cost)


def _schema_of(tool: BaseTool) -> dict[str, JsonValue]:
    """JSON Schema of what a caller gives the tool."""
    schema: dict[str, JsonValue] = convert_to_openai_tool(tool)["function"]["parameters"]
    return schema
