"""Doing one job, whatever the agent is: the one place where the kinds of agents are told apart."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.messages import messages_from_dict
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from pydantic import JsonValue

from nodes.agents.containment import contained
from nodes.agents.coordination import coordination_tools
from nodes.agents.delegation import Delegations
from nodes.agents.delegation_tools import delegation_tools
from nodes.agents.functions import run_function
from nodes.agents.graphs import run_graph
from nodes.agents.job import Job
from nodes.agents.kinds import kind_of
from nodes.agents.nested import leave_board, run_nested
from nodes.agents.remote import run_remote
from nodes.agents.results import kept
from nodes.agents.runnables import run_runnable
from nodes.agents.worker.bench import Bench
from nodes.runtime.desk import Desk
from nodes.runtime.subthread import open_subthread
from nodes.tools.sources import Sources
from nodes.tools.toolbox import build_tools
from state.mode import ModeName
from state.outcome import Outcome

Worker = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class Working:
    """Runs agents; a worker that an agent delegates to is run the same way."""

    worker: Worker
    mode: ModeName = "dag"
    """Only in `supervisor` do agents get the tools to recruit and to write to each other."""

    async def do(self, job: Job) -> Outcome:
        """The outcome of one try: done, failed with its reason, or parked. Only cancelling gets past this."""
        delegations = Delegations(job, self.do)
        outcome = await contained(job, partial(self._do, delegations))
        if kind_of(job.spec.run) == "supervisor":
            await leave_board(job, outcome)
        if not job.spec.workers and not delegations.has_begun:
            return outcome
        return outcome.model_copy(update={"usage": outcome.usage + await delegations.used()})

    async def _do(self, delegations: Delegations, job: Job) -> Outcome:
        sources = await job.floor.run.sources()

        def make_desk() -> Desk:
            return Desk(job.floor, job.spec.name, job.brief, job.label, delegations, job.ledger_task)

        match kind_of(job.spec.run):
            case "model":
                outcome = await self._think(job, make_desk(), delegations, sources)
            case "function":
                outcome = await run_function(job, make_desk)
                await job.floor.meter.settle(job.ledger_task, job.spec.name, outcome.usage)
            case "runnable":
                outcome = await run_runnable(job)
            case "graph":
                outcome = await run_graph(job)
            case "supervisor":
                outcome = await run_nested(job)
            case "remote":
                outcome = await run_remote(job)
        return await asyncio.to_thread(kept, outcome, job.floor.run.folder, sources)

    async def _think(self, job: Job, desk: Desk, delegations: Delegations, sources: Sources | None) -> Outcome:
        """By the worker graph: below the run's own, or for what was delegated on a thread of its own."""
        floor, spec = job.floor, job.spec
        bench = Bench(
            spec=spec,
            brief=job.brief,
            model=floor.run.services.models.for_agent(spec.model),
            tools=await self._tools(job, desk, delegations, sources),
            sources=sources,
            floor=floor,
            path=tuple(job.path),
            account=job.ledger_task,
        )
        opening = _opening(job.conversation)
        if job.chain:
            thread = open_subthread(floor, self.worker, job.thread, context=bench)
            ended = dict((await thread.run(opening, {})).values)
        else:
            ended = await self.worker.ainvoke(opening, context=bench)
        return Outcome.model_validate(ended["outcome"])

    async def _tools(self, job: Job, desk: Desk, delegations: Delegations, sources: Sources | None) -> list[BaseTool]:
        """The agent's own tools; those to coordinate with others as long as there is depth left."""
        run, spec = job.floor.run, job.spec
        names = [tool for tool in spec.tools if isinstance(tool, str)]
        own = [tool for tool in spec.tools if not isinstance(tool, str)]
        built = await asyncio.to_thread(build_tools, names, sources, run.folder, job.brief.task.id)
        served = await run.services.mcp.tools(spec.mcp) if spec.mcp else []
        coordinates = self.mode == "supervisor" and (not job.chain or len(job.chain) < run.ceiling)
        shared = coordination_tools(desk) if coordinates else []
        return [*own, *built, *served, *shared, *delegation_tools(job, delegations)]


def _opening(conversation: Sequence[JsonValue]) -> dict[str, object]:
    """The worker's input: nothing, or the conversation it goes on from."""
    if not conversation:
        return {"thoughts": 0}
    messages = messages_from_dict(cast(list[dict[str, Any]], list(conversation)))
    return {"messages": messages, "thoughts": sum(message.type == "ai" for message in messages)}
