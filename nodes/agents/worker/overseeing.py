"""Whether a tool call needs a human first: its triggers, and what the agent's oversight mode makes of them."""

from typing import cast, get_args

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import JsonValue

from nodes.agents.worker.bench import Bench
from nodes.policy.oversight import is_sensitive, response
from nodes.policy.triggers import fired, highest
from nodes.runtime.trust import mode_of
from state.approval import Approval
from state.policy import Policy
from state.trigger import Risk, Signs


async def action_question(call: ToolCall, name: str, bench: Bench) -> Approval | None:
    """What a human has to answer before the call is made, if anything; `name` tells the action apart.

    What the mode only wants to know of is put on record here, before it is done.
    """
    tool = bench.tool(call["name"])
    if tool is None:
        return None
    signs = signs_of(tool, bench.floor.run.policy)
    what, found = response(fired(signs, bench.floor.run.policy), await mode_of(bench.floor.run, bench.spec.name))
    must_ask = str((tool.metadata or {}).get("ask") or "")
    if what == "pass" and not must_ask:
        return None
    task = bench.brief.task
    question = Approval(
        id=name,
        task_id=task.id,
        agent=bench.spec.name,
        path=list(bench.path),
        action=tool.name,
        args=call["args"],
        args_schema=schema_of(tool),
        risk=signs.risk,
        priority=highest(found),
        triggers=found,
        reason="; ".join([*([must_ask] if must_ask else []), *(one.reason for one in found)]),
        description=f"**{bench.spec.name}** wants to call `{tool.name}` for task `{task.id}`: {task.description}",
    )
    if what == "note" and not must_ask:
        await bench.floor.questions.note(question)
        return None
    return question


def signs_of(tool: BaseTool, policy: Policy) -> Signs:
    """What triggers look at, from a tool's name and its marks (`metadata`)."""
    marks = tool.metadata or {}
    is_marked = bool(marks.get("sensitive"))
    usual = "high" if is_marked or is_sensitive(tool.name, policy) else "low"
    risk = marks.get("risk", usual)
    return Signs(
        action=tool.name,
        is_marked=is_marked,
        risk=cast(Risk, risk) if risk in get_args(Risk) else "high",
        cost=float(marks.get("cost", 0.0)),
    )


def schema_of(tool: BaseTool) -> dict[str, JsonValue]:
    """JSON Schema of what a caller gives the tool."""
    schema: dict[str, JsonValue] = convert_to_openai_tool(tool)["function"]["parameters"]
    return schema
