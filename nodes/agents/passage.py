"""The way of a task through its gates: may it begin, the work itself, does the result count or is it done again."""

import asyncio
from dataclasses import dataclass

from nodes.agents.attempts import Attempts
from nodes.agents.gates import Gates, denied, edited, is_sent_back, settled
from nodes.agents.results import kept
from nodes.runtime.floor import Floor
from state.approval import Approval, Decision
from state.brief import Brief
from state.outcome import Outcome
from state.record import TaskRecord

UNCOUNTED = frozenset({"denied", "limit", "rejected"})
"""Failures about which there is nothing to ask: a human has spoken, or the run's own limits and model have."""


@dataclass(frozen=True)
class Passage:
    """What it takes to bring a task through."""

    floor: Floor
    attempts: Attempts

    async def through(self, record: TaskRecord, brief: Brief, leg: int) -> Outcome:
        """The outcome as it counts, or parked at a gate or at an action. `leg` counts the stretches of work."""
        gates, waiting = Gates(self.floor), record.outcome if record.status == "parked" else None
        entry = await gates.entry(record, brief.iteration)
        decision = self._decision(entry)
        if entry and decision is None:
            return parked(Outcome(task_id=record.id, agent=entry.agent, status="parked"), entry, brief.iteration)
        if decision and decision.type == "reject":
            return denied(record, decision, f"task {record.id}", brief.iteration)
        brief = brief.model_copy(update={"task": edited(brief.task, decision)})
        if waiting and is_about_result(waiting):
            status = "failed" if waiting.failure else "done"
            made = waiting.model_copy(update={"approvals": [], "status": status})
            return await self._until_it_counts(record, brief, leg, made)
        return await self._until_it_counts(record, brief, leg, await self._work(record, brief, leg, waiting))

    async def _until_it_counts(self, record: TaskRecord, brief: Brief, leg: int, made: Outcome) -> Outcome:
        """Ask about the result where its triggers fire; work on it again as long as a human sends it back."""
        gates = Gates(self.floor)
        while has_ended(made):
            question = await gates.result(record, made)
            if question is None:
                return made
            decision = self._decision(question)
            if decision is None:
                return parked(made, question, made.iteration)
            if decision.type != "reject":
                return await self._settled(made, decision)
            if not is_sent_back(made, decision, self.floor.run.policy.max_attempts):
                ended = denied(record, decision, f"the result of task {record.id}", made.iteration)
                return ended.model_copy(update={"usage": made.usage, "attempts": made.attempts, "tried": made.tried})
            again = brief.model_copy(update={"feedback": decision.message or "do it again", "previous": made.result})
            made = await self._again(record, again, leg, made)
        return made

    async def _work(self, record: TaskRecord, brief: Brief, leg: int, waiting: Outcome | None) -> Outcome:
        """Work from the start, or from where the task waits at an action."""
        returned = waiting.returned if waiting else 0
        if waiting and returned:  # it was sent back before it came to that action
            said = self.floor.steering.decisions.get(f"{record.id}.{brief.iteration}.result{returned - 1}")
            brief = brief.model_copy(
                update={"feedback": said.message if said else brief.feedback, "previous": waiting.result}
            )
        made = await self.attempts.make(record, brief, f"{leg}r{returned}" if returned else str(leg))
        return kept_in_mind(made, returned, brief)

    async def _again(self, record: TaskRecord, brief: Brief, leg: int, before: Outcome) -> Outcome:
        """Work from the start, with what a human said to the last result."""
        returned = before.returned + 1
        fresh = record.model_copy(update={"status": "running", "outcome": None})
        made = await self.attempts.make(fresh, brief, f"{leg}r{returned}")
        usage = before.usage + made.usage
        counted = made.model_copy(update={"usage": usage, "attempts": before.attempts + made.attempts})
        return kept_in_mind(counted, returned, brief)

    async def _settled(self, made: Outcome, decision: Decision) -> Outcome:
        """The result as it was accepted or replaced."""
        sources = await self.floor.run.sources()
        return await asyncio.to_thread(kept, settled(made, decision), self.floor.run.folder, sources)

    def _decision(self, question: Approval | None) -> Decision | None:
        return self.floor.steering.decisions.get(question.id) if question else None


def parked(outcome: Outcome, question: Approval, iteration: int) -> Outcome:
    """The outcome, waiting for an answer about it."""
    return outcome.model_copy(update={"status": "parked", "approvals": [question], "iteration": iteration})


def is_about_result(outcome: Outcome) -> bool:
    """Whether a parked task waits for an answer about its result: then the work is done."""
    return any(approval.subject == "result" for approval in outcome.approvals)


def has_ended(outcome: Outcome) -> bool:
    """Whether there is a result, or a failure, about which a human may be asked."""
    kind = outcome.failure.kind if outcome.failure else ""
    return outcome.status in ("done", "failed") and kind not in UNCOUNTED


def kept_in_mind(made: Outcome, returned: int, brief: Brief) -> Outcome:
    """The outcome with how often it was sent back; while it waits at an action, with the version before."""
    changes: dict[str, object] = {"returned": returned}
    if made.status == "parked" and returned:
        changes["result"] = brief.previous
    return made.model_copy(update=changes)
