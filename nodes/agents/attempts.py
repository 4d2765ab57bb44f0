"""One task, tried until it is done: the agent that was chosen, again after a pause, then the next best one.

Who is next: whoever the agent handed the task to, or escalates to; otherwise one substitute. Each try is a LangGraph
@task of its own, so that after a crash tries that ended are not made again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from nodes.agents.escalation import asked_human, briefed, is_cut_short, relief
from nodes.agents.job import Job
from nodes.agents.kinds import kind_of
from nodes.agents.working import Working
from nodes.policy.failures import RETRIED, retry_delay
from nodes.policy.limits import time_for_try
from nodes.policy.routing import fallbacks
from nodes.runtime.context import RunContext
from nodes.runtime.floor import Floor
from nodes.runtime.journal import Json
from nodes.runtime.recorded import once
from state.agent import HUMAN
from state.brief import Brief
from state.outcome import Failure, Outcome
from state.record import Route, TaskRecord
from state.usage import Usage


@dataclass
class _Tally:
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
            update={"usage": self.used, "attempts": self.tries, "tried": self.tried, "started_at": self.started_at}
        )


@dataclass(frozen=True)
class Attempts:
    """What every try needs."""

    floor: Floor
    working: Working

    @property
    def run(self) -> RunContext:
        """The run it is for."""
        return self.floor.run

    async def make(self, record: TaskRecord, brief: Brief, leg: str = "0") -> Outcome:
        """Try until done, parked, or nobody is left to try. `leg` tells stretches of work on one task apart."""
        start = record.outcome if record.outcome and record.outcome.status == "parked" else None
        tally = _Tally(start.usage if start else Usage(), list(start.tried) if start else [])
        outcome = _unassigned(record)
        todo = self.candidates(record, start)
        while todo:
            agent = todo.pop(0)
            if self._is_hopeless(outcome, agent):
                continue
            if tally.tries:
                await self._relieve(outcome, agent, tally.tries + 1)
            outcome = await self._tries(agent, leg, brief, self._opening(agent, start), tally)
            if outcome.status == "parked" or (outcome.status == "done" and not is_cut_short(outcome)):
                break
            if _is_denied(outcome):
                break
            target = outcome.handed_to or self.run.services.team.agent(agent).escalate_to
            if target == HUMAN:
                outcome = asked_human(outcome, brief, self.floor.steering.decisions)
            elif target and target not in tally.tried:
                todo, brief = [target], briefed(brief, outcome)
                continue
            if outcome.status != "failed":
                break
        return tally.on(outcome)

    async def _tries(
        self, agent: str, leg: str, brief: Brief, conversation: Sequence[JsonValue], tally: _Tally
    ) -> Outcome:
        """Tries by one agent, as many as the policy grants."""
        number = 1
        while True:
            outcome = self._blamed(
                await self._try(agent, f"{leg}:{agent}:{number}", brief, conversation, tuple(tally.tried))
            )
            tally.add(outcome)
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
        others = [name for name in substitutes if name in team]
        return [name for name in [first, *others[:1]] if name not in self.floor.steering.retired] or [
            name for name in others if name not in self.floor.steering.retired
        ][:1]

    def _blamed(self, outcome: Outcome) -> Outcome:
        """The outcome; one that failed after a human had refused its action failed for that: trying again is no use."""
        if not outcome.failure or outcome.failure.kind not in RETRIED:
            return outcome
        known = self.floor.questions.known
        refused = [known(key) for key, said in self.floor.steering.decisions.items() if said.type == "reject"]
        if not any(one and one.subject == "action" and one.task_id == outcome.task_id for one in refused):
            return outcome
        return outcome.model_copy(update={"failure": outcome.failure.model_copy(update={"kind": "denied"})})

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

    async def _relieve(self, outcome: Outcome, agent: str, attempt: int) -> None:
        """Say that another agent takes over, and why."""
        note = f": {outcome.text[:500]}" if outcome.handed_to and outcome.text else ""
        await self.run.emit(
            "task_retried",
            task_id=outcome.task_id,
            agent=agent,
            attempt=attempt,
            reason=relief(outcome) + note,
            delay_s=0.0,
        )

    async def _try(
        self, agent: str, name: str, brief: Brief, conversation: Sequence[JsonValue], tried: tuple[str, ...]
    ) -> Outcome:
        """One recorded try. Failing is an outcome like any other; only what LangGraph itself needs is raised."""
        label = f"{brief.task.id}.{brief.iteration}.{name}"
        spec = self.run.services.team.agent(agent)
        seconds = time_for_try(spec.limits.timeout_s, self.run.policy)
        spec = spec.model_copy(update={"limits": spec.limits.model_copy(update={"timeout_s": seconds})})
        job = Job(self.floor, spec, brief, label, tuple(conversation), tried=tried)

        async def attempt() -> Json:
            return (await self.working.do(job)).model_dump(mode="json")

        return Outcome.model_validate(await once(f"try:{label}", attempt))


def _is_denied(outcome: Outcome) -> bool:
    """Whether a human said no: it is not for somebody else to try."""
    return outcome.failure is not None and outcome.failure.kind == "denied"


def _unassigned(record: TaskRecord) -> Outcome:
    who = f"{record.agent} is retired, and nobody else can do this task"
    failure = Failure(kind="permanent", message=who)
    return Outcome(task_id=record.id, agent="", status="failed", failure=failure)
