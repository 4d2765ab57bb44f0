"""Running the built-in worker: its tools, where its conversation starts from, its outcome."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from langchain_core.messages import messages_from_dict
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from pydantic import JsonValue

from nodes.agents.delegation import Delegations
from nodes.agents.invocation import Invocation
from nodes.agents.worker.context import WorkerContext
from nodes.agents.worker.desk_tools import coordination_tools, delegation_tools
from nodes.runtime.desk import Desk
from nodes.runtime.durable import open_graph_thread
from nodes.tools.sources import Sources
from nodes.tools.thread import in_thread
from nodes.tools.toolbox import build_tools
from state.record import Outcome

WorkerGraph = CompiledStateGraph[Any, Any, Any, Any]


async def run_worker(
    invocation: Invocation, graph: WorkerGraph, desk: Desk, delegations: Delegations, *, coordinates: bool
) -> Outcome:
    """One try: below the run's own thread, or for what was delegated on a thread of its own.

    `coordinates`: as long as there is depth left, it gets the tools to recruit and to write to others.
    """
    execution, sources = invocation.execution, await invocation.execution.run.sources()
    models, name = execution.run.services.models, invocation.spec.model
    # One of its own is made in a thread: the first of a provider's imports that one's client.
    model = models.default if name is None else await in_thread(partial(models.for_agent, name))
    has_depth = not invocation.chain or len(invocation.chain) < execution.run.depth_limit
    shared = coordination_tools(desk) if coordinates and has_depth else []
    context = WorkerContext(
        invocation,
        model=model,
        tools=[*await _own_tools(invocation, sources), *shared, *delegation_tools(invocation, delegations)],
        sources=sources,
    )
    opening = _opening(invocation.conversation)
    if invocation.chain:
        thread = open_graph_thread(execution, graph, invocation.thread, context=context)
        ended = dict((await thread.run(opening, {})).values)
    else:
        ended = await graph.ainvoke(opening, context=context)
    return Outcome.model_validate(ended["outcome"])


async def _own_tools(invocation: Invocation, sources: Sources | None) -> list[BaseTool]:
    run, spec = invocation.execution.run, invocation.spec
    names = [tool for tool in spec.tools if isinstance(tool, str)]
    own = [tool for tool in spec.tools if not isinstance(tool, str)]
    built = await in_thread(partial(build_tools, names, sources, run.folder, invocation.brief.task.id, run.outside))
    return [*own, *built, *(await run.services.mcp.tools(spec.mcp) if spec.mcp else [])]


def _opening(conversation: Sequence[JsonValue]) -> dict[str, object]:
    """The worker's input: nothing, or the conversation it goes on from."""
    if not conversation:
        return {"thoughts": 0}
    messages = messages_from_dict(cast(list[dict[str, Any]], list(conversation)))
    return {"messages": messages, "thoughts": sum(message.type == "ai" for message in messages)}
