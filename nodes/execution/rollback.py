"""Undo what agents have done, newest first, each action at most once: each undo goes through the ledger as well.

What was done in nested supervisors is on the ledger of the outermost run, and undone in that order, with their tools.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool

from nodes.agents.invocation import kind_of
from nodes.policy.takeover import RollbackResult, is_left_behind, undo_args
from nodes.runtime.context import RunContext, nested_folder
from nodes.runtime.ledger import SideEffectLedger
from nodes.runtime.services import Services
from nodes.tools.toolbox import TOOL_NAMES, build_tools
from state.side_effect import Effect
from state.text import as_text

BROKE_OFF = "the work broke off while it was done"

Tools = Mapping[str, BaseTool]


async def roll_back(run: RunContext) -> list[RollbackResult]:
    """What became of every action of the run that has left something in the world, in the order of undoing."""
    effects = SideEffectLedger(run.store, run.thread_id, run.services.clock)
    found = [one for one in await effects.newest_first() if is_left_behind(one) or one.status == "undone"]
    return [await _undo(effect, await _tools(run, effect), effects) for effect in found]


async def _tools(run: RunContext, effect: Effect) -> Tools:
    """Every tool of the team that acted, and the built-in ones: an agent need not have the undo itself."""
    folder = run.folder
    for task_id in effect.task_id.split("/")[: len(effect.within)]:
        folder = nested_folder(folder, task_id)
    services = _services(run.services, effect.within)
    built = await asyncio.to_thread(build_tools, TOOL_NAMES, None, folder, "rollback", run.outside)
    agents = list(services.team) if services else []
    own = [tool for agent in agents for tool in agent.tools if isinstance(tool, BaseTool)]
    return {tool.name: tool for tool in [*built, *own]}


def _services(services: Services, within: Sequence[str]) -> Services | None:
    """What the innermost of these nested supervisors was built from; None where the team has no such agent any more."""
    for name in within:
        graph: Any = services.team.agent(name).run if name in services.team else None
        if kind_of(graph) != "supervisor":
            return None
        services = graph.builder.services
    return services


async def _undo(effect: Effect, tools: Tools, effects: SideEffectLedger) -> RollbackResult:
    told = RollbackResult(tool=effect.tool, args=effect.args, how="unclear", why=as_text(effect.reply) or BROKE_OFF)
    if effect.status in ("undone", "stuck"):
        return told.model_copy(update={"how": effect.status})
    if effect.status == "undoing":
        return told.model_copy(update={"how": "stuck", "why": "the work broke off while it was undone"})
    if effect.status != "done":
        return told
    undo = tools.get(effect.undo)
    if undo is None:
        missing = f"there is no tool {effect.undo!r}" if effect.undo else ""
        return told.model_copy(update={"how": "no undo", "why": missing})
    return await _undo_now(effect, undo, effects, told)


async def _undo_now(effect: Effect, undo: BaseTool, effects: SideEffectLedger, told: RollbackResult) -> RollbackResult:
    """Call the undo once: intent before, outcome after. What goes wrong is left for a human."""
    begun = await effects.settle(effect, "undoing")
    try:
        said = str(await undo.ainvoke(undo_args(effect, undo.args)))
    except Exception as error:  # noqa: BLE001 - the tool boundary: whatever an undo raises is for a human to read
        why = str(error) or type(error).__name__
        await effects.settle(begun, "stuck", reply=why)
        return told.model_copy(update={"how": "stuck", "why": why})
    await effects.settle(begun, "undone", reply=said)
    return told.model_copy(update={"how": "undone", "why": said})
