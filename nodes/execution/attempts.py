"""One task attempted until it is done: the chosen agent, again after a pause, then the next best one.

Who is next: whoever the agent handed the task to, or escalates to; otherwise one substitute. About each a human is
asked what the gate at the task's start would have asked. After a crash attempts that ended are not made again: each is
a LangGraph @task of its own, but for the first one of a function, which the task records with what follows from it.
Here the kinds of agents are told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from langgraph.config import get_config
from pydantic import JsonValue

from nodes.agents.callables import run_function, run_runnable
from nodes.agents.delegation import Delegations
from nodes.agents.graph import run_graph
from nodes.agents.internals import unheard, within
from nodes.agents.invocation import AgentKind, Invocation, kind_of
from nodes.agents.remote import run_remote
from nodes.agents.results import is_quick, stored
from nodes.agents.supervisor import leave_board, run_nested
from nodes.agents.worker.run import WorkerGraph, run_worker
from nodes.execution.containment import run_contained
from nodes.llm.server import address_of
from nodes.policy.failures import RETRIED, is_retried, retry_delay, time_for_try
from nodes.policy.gates import (
    brief_for_substitute,
    covers,
    denied_outcome,
    edited,
    entry_question,
    escalated,
    question_id,
    substitute_decision,
    substitution_reason,
    waiting_substitute,
)
from nodes.policy.routing import fallbacks
from nodes.runtime.context import RunContext
from nodes.runtime.desk import Desk
from nodes.runtime.durable import recorded_step
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.trust_store import mode_of
from nodes.tools.thread import in_thread
from state.agent import Brief
from state.approval import Approval
from state.record import HUMAN, NOTHING, Failure, Outcome, Route, TaskRecord, Usage
from state.run import ModeName
from state.text import Json

FIRST = "0"
"""The first segment of a task in a superstep."""
IN_PLACE: frozenset[AgentKind] = frozenset({"function", "runnable"})
"""Kinds of agents whose first try is made in the task's own @task: nothing of it is LangGraph's to find again."""


@dataclass
class _Totals:
    """What all tries of a task have used, and who made them."""

    used: Usage
    tried: list[str]
    tries: int = 0
    started_at: float = 0.0

    def add(self, outcome: Outcome) -> None:
        self.started_at = self.started_at or outcome.started_at
        self.used, self.tries = self.used + outcome.usage, self.tries + 1
        self.tried += [outcome.agent] if outcome.agent not in self.tried else []

    def on(self, outcome: Outcome) -> Outcome:
        return outcome.model_copy(
            update={
                "model": outcome.model or self.used.model_names,
                "usage": self.used,
                "attempts": self.tries,
                "tried": self.tried,
                "started_at": self.started_at,
            }
        )


@dataclass(frozen=True)
class AttemptRunner:
    """What every try needs."""

    execution: ExecutionContext
    worker: WorkerGraph
    mode: ModeName = "dag"
    """Only in `supervisor` do agents get the tools to recruit and to write to each other."""

    @property
    def run(self) -> RunContext:
        """The run it is for."""
        return self.execution.run

    async def make(self, record: TaskRecord, brief: Brief, segment: str = FIRST) -> Outcome:
        """Try until done, parked, or nobody is left to try. `segment` tells stretches of work on one task apart."""
        start = record.outcome if record.outcome and record.outcome.status == "parked" else None
        totals = _Totals(start.usage if start else NOTHING, list(start.tried) if start else [])
        outcome: Outcome | None = None
        todo = self.candidates(record, start)
        if start and (said := substitute_decision(start, self.execution.signals.decisions)):
            if said.type == "reject":
                return totals.on(denied_outcome(record, said, f"{start.agent} to take over", brief.iteration))
            brief = brief_for_substitute(brief, start.model_copy(update={"agent": start.tried[-1]}))
            todo, brief = [start.agent], brief.model_copy(update={"task": edited(brief.task, said)})
        while todo:
            agent = todo.pop(0)
            if outcome and await self._is_hopeless(outcome, agent):
                continue
            if outcome and totals.tries:
                await self._announce_substitute(outcome, agent, totals.tries + 1)
                if question := await self._question_first(record, outcome, agent, brief.iteration, len(totals.tried)):
                    return totals.on(waiting_substitute(outcome, question))
            outcome = await self._attempts_by(agent, segment, brief, self._opening(agent, start), totals)
            if outcome.status == "parked" or (outcome.status == "done" and not outcome.limited):
                break
            if outcome.failure and outcome.failure.kind == "denied":
                break  # a human said no: it is not for somebody else to try
            target = self._named_by(outcome)
            if target == HUMAN:
                outcome = escalated(outcome, brief, self.execution.signals.decisions)
            elif target and target not in totals.tried:
                todo, brief = [target], brief_for_substitute(brief, outcome)
                continue
            if outcome.status != "failed" or (outcome.failure and outcome.failure.kind == "limit"):
                break  # who comes to no end is not tried once more by others
        return totals.on(outcome or _unassigned(record))

    async def _attempts_by(
        self, agent: str, segment: str, brief: Brief, conversation: Sequence[JsonValue], totals: _Totals
    ) -> Outcome:
        """Tries by one agent, as many as the policy grants."""
        number = 1
        while True:
            name = f"{segment}:{agent}:{number}"
            is_first = segment == FIRST and not totals.tries
            outcome = self._blamed(
                await self._attempt(agent, name, brief, conversation, tuple(totals.tried), is_first=is_first)
            )
            totals.add(outcome)
            if outcome.status != "failed" or outcome.handed_to or not self._again(outcome, number):
                return outcome
            conversation = outcome.conversation
            await self._pause(outcome, number)
            number += 1

    def _opening(self, agent: str, start: Outcome | None) -> list[JsonValue]:
        """Where an agent goes on from: its own place, or as a substitute the conversation of another model's."""
        if not start or (agent != start.agent and not (self._is_model(agent) and self._is_model(start.agent))):
            return []
        return start.conversation

    def _is_model(self, agent: str) -> bool:
        team = self.run.services.team
        return agent in team and kind_of(team.agent(agent).run) == "model"

    def candidates(self, record: TaskRecord, start: Outcome | None = None) -> list[str]:
        """Who tries, in order: the one who is at it, or the chosen one; then one substitute."""
        route = cast(Route, record.route)
        first = start.agent if start else route.agent
        team = self.run.services.team
        substitutes = fallbacks(route, {first}) if first not in team or not team.agent(first).escalate_to else []
        others = [name for name in substitutes if name in team and not record.task.to]
        return [name for name in [first, *others[:1]] if name not in self.execution.signals.retired] or [
            name for name in others if name not in self.execution.signals.retired
        ][:1]

    def _blamed(self, outcome: Outcome) -> Outcome:
        """The outcome; one that failed after a human had refused its action failed for that: trying again is no use."""
        if not outcome.failure or outcome.failure.kind not in RETRIED:
            return outcome
        known = self.execution.approvals.known
        refused = [known(key) for key, said in self.execution.signals.decisions.items() if said.type == "reject"]
        if not any(one and one.subject == "action" and one.task_id == outcome.task_id for one in refused):
            return outcome
        return outcome.model_copy(update={"failure": outcome.failure.model_copy(update={"kind": "denied"})})

    def _again(self, outcome: Outcome, number: int) -> bool:
        kind = outcome.failure.kind if outcome.failure else "permanent"
        is_same = self._is_model(outcome.agent) and not outcome.conversation
        return is_retried(kind, is_same=is_same) and number < self.run.policy.max_attempts

    async def _is_hopeless(self, outcome: Outcome, substitute: str) -> bool:
        """Whether `substitute` would fail the same way: by the same model, on the same server."""
        kind = outcome.failure.kind if outcome.failure else None
        if kind not in ("rejected", "server", "timeout") or not (
            self._is_model(outcome.agent) and self._is_model(substitute)
        ):
            return False
        team, models = self.run.services.team, self.run.services.models
        mine, other = team.agent(outcome.agent).model, team.agent(substitute).model
        if kind == "rejected":
            return bool(mine == other)
        made = [await in_thread(partial(models.for_agent, model)) for model in (mine, other)]
        return address_of(made[0]) == address_of(made[1])

    async def _pause(self, outcome: Outcome, number: int) -> None:
        """Say that it will be tried again, and wait; a wait that a crash cut short is not made again in full."""
        clock = self.run.services.clock
        delay = retry_delay(number, clock.jitter())
        left = max(0.0, outcome.finished_at + delay - clock.now())
        why = outcome.failure.message if outcome.failure else ""
        await self.run.emit(
            "task_retried",
            task_id=outcome.task_id,
            agent=outcome.agent,
            also=self.execution.recorded.attempted(outcome.task_id),
            attempt=number + 1,
            reason=why,
            delay_s=left,
        )
        await clock.sleep(left)

    def _named_by(self, outcome: Outcome) -> str | None:
        """Who is to go on with it: whom its agent handed it to, or escalates to."""
        return outcome.handed_to or self.run.services.team.agent(outcome.agent).escalate_to

    async def _question_first(
        self, record: TaskRecord, failed: Outcome, agent: str, iteration: int, number: int
    ) -> Approval | None:
        """What a human is asked before a substitute begins, if anything; what needs no answer is put on record.

        How well it fits is no question where the agent before it, or the team, has named it.
        """
        route = cast(Route, record.route).model_copy(update={"agent": agent})
        task = record.task.model_copy(update={"to": agent}) if self._named_by(failed) == agent else record.task
        key = question_id("start", record.id, iteration, number)
        what, question = entry_question(
            key,
            record.model_copy(update={"task": task, "route": route}),
            self.run.services.team.agent(agent),
            self.run.policy,
            await mode_of(self.run, agent),
        )
        before = self.execution.approvals.known(question_id("start", record.id, iteration, None))
        if question is None or covers(before, what, question):
            return None
        if what == "note":
            await self.execution.approvals.record_only(question)
        return question if what == "ask" else None

    async def _announce_substitute(self, outcome: Outcome, agent: str, attempt: int) -> None:
        """Say that another agent takes over, and why."""
        note = f": {outcome.text[:500]}" if outcome.handed_to and outcome.text else ""
        await self.run.emit(
            "task_retried",
            task_id=outcome.task_id,
            agent=agent,
            also=self.execution.recorded.attempted(outcome.task_id),
            attempt=attempt,
            reason=substitution_reason(outcome) + note,
            delay_s=0.0,
        )

    async def _attempt(
        self,
        agent: str,
        name: str,
        brief: Brief,
        conversation: Sequence[JsonValue],
        tried: tuple[str, ...],
        *,
        is_first: bool,
    ) -> Outcome:
        """One recorded try. Failing is an outcome like any other; only what LangGraph itself needs is raised."""
        label = f"{brief.task.id}.{brief.iteration}.{name}"
        if known := self.execution.recorded.attempt(label):
            return known
        spec = self.run.services.team.agent(agent)
        seconds = time_for_try(spec.limits.timeout_s, self.run.policy)
        if seconds != spec.limits.timeout_s:
            spec = spec.model_copy(update={"limits": spec.limits.model_copy(update={"timeout_s": seconds})})
        invocation = Invocation(self.execution, spec, brief, label, tuple(conversation), tried=tried)
        if is_first and kind_of(spec.run) in IN_PLACE:
            outcome = await self.run_agent(invocation)
            self.execution.recorded.add_attempt(label, outcome)
            return outcome

        async def attempt() -> Json:
            return (await self.run_agent(invocation)).model_dump(mode="json")

        return Outcome.model_validate(await recorded_step(f"try:{label}", attempt))

    async def run_agent(self, invocation: Invocation) -> Outcome:
        """The outcome of one try: done, failed with its reason, or parked. Only cancelling gets past this.

        A worker that an agent delegates to is run the same way.
        """
        delegations = Delegations(invocation, self.run_agent)
        config = get_config()
        superstep = str(config["configurable"].get("checkpoint_ns", ""))
        place = self.run.place(invocation.charged_task, invocation.spec.name, invocation.label, superstep)
        with within(unheard(config)), self.run.services.observer.watching(place):
            outcome = await run_contained(invocation, partial(self._by_kind, delegations))
        if kind_of(invocation.spec.run) == "supervisor":
            await leave_board(invocation, outcome)
        if not invocation.spec.workers and not delegations.has_begun:
            return outcome
        return outcome.model_copy(update={"usage": outcome.usage + await delegations.used()})

    async def _by_kind(self, delegations: Delegations, invocation: Invocation) -> Outcome:
        execution, spec, charged = invocation.execution, invocation.spec, invocation.charged_task

        def make_desk() -> Desk:
            return Desk(execution, spec.name, invocation.brief, invocation.label, delegations, charged)

        match kind_of(spec.run):
            case "model":
                coordinates = self.mode == "supervisor"
                outcome = await run_worker(invocation, self.worker, make_desk(), delegations, coordinates=coordinates)
            case "function":
                outcome = await run_function(invocation, make_desk)
            case "runnable":
                outcome = await run_runnable(invocation)
            case "graph":
                outcome = await run_graph(invocation)
            case "supervisor":
                outcome = await run_nested(invocation)
            case "remote":
                outcome = await run_remote(invocation)
        sources = await execution.run.sources()
        keep = partial(stored, outcome, execution.run.folder, sources)
        return keep() if is_quick(outcome, sources) else await in_thread(keep)


def _unassigned(record: TaskRecord) -> Outcome:
    who = f"{record.agent} is retired, and nobody else can do this task"
    failure = Failure(kind="permanent", message=who)
    return Outcome(task_id=record.id, agent="", status="failed", failure=failure)
