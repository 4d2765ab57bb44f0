"""One task, tried until it is done: the agent that was chosen, again after a pause, then the next best one.

Each try is a LangGraph @task of its own, so that after a crash tries that ended are not made again, and inside a try
the worker graph goes on at the step that was in flight.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import messages_from_dict
from langgraph.graph.state import CompiledStateGraph
from pydantic import JsonValue

from nodes.agents.functions import run_function
from nodes.agents.worker.bench import Bench
from nodes.policy.failures import RETRIED, retry_delay
from nodes.policy.routing import fallbacks
from nodes.runtime.context import RunContext
from nodes.runtime.desk import Desk, Parked
from nodes.runtime.journal import Json
from nodes.runtime.recorded import once
from nodes.tools.toolbox import build_tools
from state.agent import AgentSpec
from state.approval import Decision
from state.brief import Brief
from state.errors import AgentFailed, FailureClass
from state.outcome import Failure, Outcome
from state.record import Route, TaskRecord
from state.usage import Usage

Worker = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class Attempts:
    """What every try needs."""

    run: RunContext
    worker: Worker

    async def make(self, record: TaskRecord, brief: Brief, decisions: Mapping[str, Decision]) -> Outcome:
        """Try until done, parked, or nobody is left to try."""
        used, tries, tried = Usage(), 0, list[str]()
        outcome = _unassigned(record)
        start = record.outcome if record.outcome and record.outcome.status == "parked" else None
        for agent in self._candidates(record, start):
            if self._is_hopeless(outcome, agent):
                continue
            conversation = start.conversation if start else []
            for number in range(1, self.run.policy.max_attempts + 1):
                outcome = await self._try(agent, number, brief, decisions, conversation)
                tries, used = tries + 1, used + outcome.usage
                tried += [agent] if agent not in tried else []
                if outcome.status != "failed" or not self._again(outcome, number):
                    break
                conversation = outcome.conversation
                await self._pause(outcome, number)
            if outcome.status != "failed":
                break
        return outcome.model_copy(update={"usage": used, "attempts": tries, "tried": tried})

    def _candidates(self, record: TaskRecord, start: Outcome | None) -> list[str]:
        """Who tries, in order: the one who is at it, or the chosen one; then one substitute."""
        route = cast(Route, record.route)
        first = start.agent if start else route.agent
        return [first, *[name for name in fallbacks(route, {first})[:1] if name in self.run.services.team]]

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

    async def _try(
        self,
        agent: str,
        number: int,
        brief: Brief,
        decisions: Mapping[str, Decision],
        conversation: Sequence[JsonValue],
    ) -> Outcome:
        """One recorded try. Failing is an outcome like any other; only what LangGraph itself needs is raised."""
        spec = self.run.services.team.agent(agent)

        async def attempt() -> Json:
            started = self.run.services.clock.now()
            try:
                async with asyncio.timeout(spec.limits.timeout_s):
                    outcome = await self._work(spec, brief, dict(decisions), list(conversation))
            except TimeoutError:
                outcome = _failed(brief, agent, "timeout", f"no result within {spec.limits.timeout_s:g} seconds")
            except AgentFailed as error:
                outcome = _failed(brief, agent, error.failure, str(error))
            except Parked as parked:
                outcome = _failed(brief, agent, "permanent", "").model_copy(
                    update={"status": "parked", "failure": None, "approvals": [parked.approval]}
                )
            times = {"started_at": started, "finished_at": self.run.services.clock.now()}
            return outcome.model_copy(update=times).model_dump(mode="json")

        return Outcome.model_validate(await once(f"try:{brief.task.id}:{agent}:{number}", attempt))

    async def _work(
        self, spec: AgentSpec, brief: Brief, decisions: dict[str, Decision], conversation: list[JsonValue]
    ) -> Outcome:
        sources = await self.run.sources()
        if spec.run is not None:
            return await run_function(spec, brief, Desk(self.run, spec.name, brief, decisions), sources)
        tools = await asyncio.to_thread(build_tools, spec.tools, sources, self.run.folder, brief.task.id)
        model = self.run.services.models.for_agent(spec.model)
        bench = Bench(spec, brief, model, tools, sources, self.run, decisions)
        ended = await self.worker.ainvoke(_opening(conversation), context=bench)
        return Outcome.model_validate(ended["outcome"])


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
