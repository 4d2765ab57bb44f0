"""One task, tried until it is done: the agent that was chosen, again after a pause, then the next best one.

Each try is a LangGraph @task of its own, so that after a crash tries that ended are not made again, and inside a try
the worker graph goes on at the step that was in flight.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import messages_from_dict
from langgraph.graph.state import CompiledStateGraph
from pydantic import JsonValue

from nodes.agents.coordination import coordination_tools
from nodes.agents.functions import run_function
from nodes.agents.results import kept
from nodes.agents.worker.bench import Bench
from nodes.policy.failures import RETRIED, retry_delay
from nodes.policy.routing import fallbacks
from nodes.runtime.context import RunContext
from nodes.runtime.desk import Desk, Parked
from nodes.runtime.floor import Floor
from nodes.runtime.journal import Json
from nodes.runtime.recorded import once
from nodes.tools.toolbox import build_tools
from state.agent import AgentSpec
from state.brief import Brief
from state.errors import AgentFailed, FailureClass, ToolRefused
from state.mode import ModeName
from state.outcome import Failure, Outcome
from state.record import Route, TaskRecord
from state.usage import Usage

Worker = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class Attempts:
    """What every try needs."""

    floor: Floor
    worker: Worker
    mode: ModeName = "dag"
    """Only in `supervisor` do agents get the tools to recruit and to write to each other."""

    @property
    def run(self) -> RunContext:
        """The run it is for."""
        return self.floor.run

    async def make(self, record: TaskRecord, brief: Brief, leg: str = "0") -> Outcome:
        """Try until done, parked, or nobody is left to try. `leg` tells stretches of work on one task apart."""
        start = record.outcome if record.outcome and record.outcome.status == "parked" else None
        used, tries, tried = start.usage if start else Usage(), 0, list[str]()
        outcome = _unassigned(record)
        for agent in self._candidates(record, start):
            if self._is_hopeless(outcome, agent):
                continue
            conversation = start.conversation if start else []
            for number in range(1, self.run.policy.max_attempts + 1):
                outcome = await self._try(agent, f"{leg}:{agent}:{number}", brief, conversation)
                tries, used = tries + 1, used + outcome.usage
                tried += [agent] if agent not in tried else []
                if outcome.status != "failed" or not self._again(outcome, number):
                    break
                conversation = outcome.conversation
                await self._pause(outcome, number)
            if outcome.status != "failed" or _is_denied(outcome):
                break
        return outcome.model_copy(update={"usage": used, "attempts": tries, "tried": tried})

    def _candidates(self, record: TaskRecord, start: Outcome | None) -> list[str]:
        """Who tries, in order: the one who is at it, or the chosen one; then one substitute."""
        route = cast(Route, record.route)
        first = start.agent if start else route.agent
        others = [name for name in fallbacks(route, {first}) if name in self.run.services.team]
        return [name for name in [first, *others[:1]] if name not in self.floor.steering.retired] or [
            name for name in others if name not in self.floor.steering.retired
        ][:1]

    def _again(self, outcome: Outcome, number: int) -> bool:
        kind = outcome.failure.kind if outcome.failure else "permanent"
        return kind in RETRIED and number < self.run.policy.max_attempts

    def _is_hopeless(self, outcome: Outcome, substitute: str) -> bool:
        """Whether `substitute` would fail the same way: a model that rejects one agent rejects all that use it."""
        if not outcome.failure or outcome.failure.kind != "rejected" or outcome.agent not in self.run.services.team:
            return False
        team = self.run.services.team
        return team.agent(substitute).run is None and team.agent(substitute).model == team.agent(outcome.agent).model

    async def _pause(self, outcome: Outcome, number: int) -> None:
        """Say that it will be tried again, and wait; a wait that a crash cut short is not made again in full."""
        clock = self.run.services.clock
        delay = retry_delay(number, clock.jitter())
        left = max(0.0, outcome.finished_at + delay - clock.now())
        why = outcome.failure.message if outcome.failure else ""
        await self.run.emit(
            "task_retried", task_id=outcome.task_id, agent=outcome.agent, attempt=number + 1, reason=why, delay_s=left
        )
        await clock.sleep(left)

    async def _try(self, agent: str, name: str, brief: Brief, conversation: Sequence[JsonValue]) -> Outcome:
        """One recorded try. Failing is an outcome like any other; only what LangGraph itself needs is raised."""
        spec = self.run.services.team.agent(agent)
        label = f"{brief.task.id}.{brief.iteration}.{name}"

        limits = (spec.limits.timeout_s, self.run.policy.decision_timeout_s)
        seconds = min(limit for limit in limits if limit is not None)

        async def attempt() -> Json:
            started = self.run.services.clock.now()
            try:
                async with asyncio.timeout(seconds):
                    outcome = await self._work(spec, brief, label, list(conversation))
            except TimeoutError:
                outcome = _failed(brief, agent, "timeout", f"no result within {seconds:g} seconds")
            except AgentFailed as error:
                outcome = _failed(brief, agent, error.failure, str(error))
            except ToolRefused as error:
                outcome = _failed(brief, agent, "permanent", str(error))
            except Parked as parked:
                outcome = _parked(brief, agent, parked)
            times = {"started_at": started, "finished_at": self.run.services.clock.now()}
            return outcome.model_copy(update=times).model_dump(mode="json")

        return Outcome.model_validate(await once(f"try:{label}", attempt))

    async def _work(self, spec: AgentSpec, brief: Brief, label: str, conversation: list[JsonValue]) -> Outcome:
        sources = await self.run.sources()
        desk = Desk(self.floor, spec.name, brief, label)
        if spec.run is not None:
            outcome = await run_function(spec, brief, desk)
            await self.floor.meter.settle(brief.task.id, spec.name, outcome.usage)
            return await asyncio.to_thread(kept, outcome, self.run.folder, sources)
        names = [tool for tool in spec.tools if isinstance(tool, str)]
        own = [tool for tool in spec.tools if not isinstance(tool, str)]
        built = await asyncio.to_thread(build_tools, names, sources, self.run.folder, brief.task.id)
        tools = [*own, *built, *(coordination_tools(desk) if self.mode == "supervisor" else [])]
        bench = Bench(spec, brief, self.run.services.models.for_agent(spec.model), tools, sources, self.floor)
        ended = await self.worker.ainvoke(_opening(conversation), context=bench)
        return await asyncio.to_thread(kept, Outcome.model_validate(ended["outcome"]), self.run.folder, sources)


def _is_denied(outcome: Outcome) -> bool:
    """Whether a human said no: it is not for somebody else to try."""
    return outcome.failure is not None and outcome.failure.kind == "denied"


def _parked(brief: Brief, agent: str, parked: Parked) -> Outcome:
    approvals = [parked.approval] if parked.approval else []
    return Outcome(task_id=brief.task.id, agent=agent, status="parked", approvals=approvals, iteration=brief.iteration)


def _opening(conversation: list[JsonValue]) -> dict[str, object]:
    """The worker's input: nothing, or the conversation it goes on from."""
    if not conversation:
        return {"thoughts": 0}
    messages = messages_from_dict(cast(list[dict[str, Any]], conversation))
    return {"messages": messages, "thoughts": sum(message.type == "ai" for message in messages)}


def _failed(brief: Brief, agent: str, kind: FailureClass, message: str) -> Outcome:
    failure = Failure(kind=kind, message=message)
    return Outcome(task_id=brief.task.id, agent=agent, status="failed", failure=failure, iteration=brief.iteration)


def _unassigned(record: TaskRecord) -> Outcome:
    failure = Failure(kind="permanent", message="nobody was assigned")
    return Outcome(task_id=record.id, agent="", status="failed", failure=failure)
