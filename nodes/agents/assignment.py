"""One task from its inputs to its outcome: wait, start, do, park and go on, finish.

What ended is kept in the Store under the superstep's name, in the same transaction as its event, so that a kill between
the event and LangGraph's own record cannot run a task twice.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import PutOp

from nodes.agents.attempts import Attempts
from nodes.agents.escalation import by_human
from nodes.agents.passage import Passage
from nodes.policy.contexts import assemble_brief
from nodes.policy.readiness import readiness
from nodes.runtime.floor import Floor
from nodes.runtime.journal import Json
from nodes.runtime.rows import space
from state.brief import Mail
from state.outcome import Failure, Outcome, OutcomeStatus
from state.record import TaskRecord

ENDED = frozenset({"done", "failed", "skipped", "cancelled"})


@dataclass(frozen=True)
class Assignment:
    """What it takes to work on a task."""

    floor: Floor
    attempts: Attempts
    query: str
    iteration: int
    sources: Sequence[str] = ()
    notes: Sequence[str] = ()
    """What the user said while the work was in flight."""

    async def work(self, record: TaskRecord) -> Outcome:
        """The outcome of one task; `blocked` when it has to wait for a human elsewhere."""
        if known := await self._recorded(record):
            return known
        inputs = await self._inputs(record)
        state = readiness(record.task, inputs, self.floor.run.policy.on_failed_input)
        if self.floor.stopped.is_set():
            return await self._finished(record, self._outcome(record, "cancelled"))
        if state == "blocked" or self.floor.steering.is_stopping:
            return self._outcome(record, "blocked")
        if state == "hopeless":
            failure = Failure(kind="permanent", message="the tasks it builds on did not deliver")
            return await self._finished(record, self._outcome(record, "skipped", failure))
        return await self._until_answered(record, inputs)

    async def _until_answered(self, record: TaskRecord, inputs: Mapping[str, Outcome]) -> Outcome:
        """Work, and go on as soon as an answer comes while the rest of the run is still busy."""
        leg = 0
        while True:
            waiting = record.outcome if record.status == "parked" else None
            if not waiting or not waiting.approvals or self._is_answered(waiting):
                async with self.floor.slots:
                    waiting = await self._leg(record, inputs, leg)
                if waiting.status != "parked" or not waiting.approvals:
                    return waiting
            record = record.model_copy(update={"status": "parked", "outcome": waiting})
            self.floor.records[record.id] = record
            if not await self._answer_comes(waiting):
                return waiting
            leg += waiting.approvals[0].subject == "action"

    async def _leg(self, record: TaskRecord, inputs: Mapping[str, Outcome], leg: int) -> Outcome:
        """One stretch of work, from the start or from where it parked, to the end or to where it parks."""
        if settled := by_human(record, self.floor.steering.decisions):
            return await self._finished(record, settled)
        if why := await self.floor.meter.no_room():
            return await self._finished(record, self._outcome(record, "cancelled", Failure(kind="limit", message=why)))
        if self.floor.stopped.is_set():
            return await self._finished(record, self._outcome(record, "cancelled"))
        record = self._with_who_is_left(record)
        await self._started(record)
        brief = assemble_brief(
            self.query,
            record,
            inputs,
            mail=[*(Mail(sender="user", to="all", text=note) for note in self.notes), *self._mail(record)],
            iteration=self.iteration,
            artifacts=sum(len(r.outcome.artifacts) for r in self.floor.records.values() if r.outcome),
            sources=self.sources,
        )
        passage = Passage(self.floor, self.attempts)
        made = await self._unless_stopped(passage.through(record, brief, leg), record)
        return await self._finished(record, made)

    def _with_who_is_left(self, record: TaskRecord) -> TaskRecord:
        """The record with the agent that will really do it: another one where the chosen one is retired."""
        left = self.attempts.candidates(record)
        if not record.route or not left or left[0] == record.agent or record.status == "parked":
            return record
        reason = f"{record.agent} is retired; next best score"
        return record.model_copy(update={"route": record.route.model_copy(update={"agent": left[0], "reason": reason})})

    async def _inputs(self, record: TaskRecord) -> dict[str, Outcome]:
        """The outcomes of what the task builds on, and of whoever was recruited by those."""
        found: dict[str, Outcome] = {}
        todo = list(record.task.depends_on)
        while todo:
            task_id = todo.pop(0)
            if task_id not in found:
                found[task_id] = await self._outcome_of(task_id)
                todo += [r.id for r in self.floor.records.values() if r.recruited_by == task_id]
        return found

    async def _outcome_of(self, task_id: str) -> Outcome:
        if task_id in self.floor.ended:
            return await asyncio.shield(self.floor.ended[task_id])
        record = self.floor.records[task_id]
        return record.outcome or self._outcome(record, "skipped")

    def _mail(self, record: TaskRecord) -> Sequence[Mail]:
        return self.floor.steering.mail(record.agent or "").messages

    def _is_answered(self, outcome: Outcome) -> bool:
        return any(approval.id in self.floor.steering.decisions for approval in outcome.approvals)

    async def _answer_comes(self, outcome: Outcome) -> bool:
        """Wait for an answer while others still work; false when nothing else can run any more."""
        self.floor.note_quiet()
        while not self._is_answered(outcome):
            if self.floor.stopped.is_set() or self.floor.quiet.is_set():
                return False
            self.floor.steering.changed.clear()
            await self.floor.steering.changed.wait()
        return True

    async def _unless_stopped(self, making: Coroutine[Any, Any, Outcome], record: TaskRecord) -> Outcome:
        """The outcome of `making`, or `cancelled` when the run stops first."""
        work, stop = asyncio.ensure_future(making), asyncio.ensure_future(self.floor.stopped.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            return self._outcome(record, "cancelled")
        finally:
            stop.cancel()
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=5)

    async def _recorded(self, record: TaskRecord) -> Outcome | None:
        item = await self.floor.run.store.aget(space("outcomes", self.floor.run.thread_id), self._key(record))
        return Outcome.model_validate(item.value) if item else None

    def _key(self, record: TaskRecord) -> str:
        return f"{self.floor.run.scope}:{record.id}"

    async def _started(self, record: TaskRecord) -> None:
        run = self.floor.run
        self.floor.records[record.id] = record.model_copy(update={"status": "running"})
        row: Json = {"status": "running", "agent": record.agent, "started_at": run.services.clock.now()}
        await run.emit(
            "task_started",
            task_id=record.id,
            agent=record.agent,
            also=[run.journal.row(f"task:{record.id}", row)],
            iteration=self.iteration,
        )

    async def _finished(self, record: TaskRecord, made: Outcome) -> Outcome:
        """Record how it ended: mail it sent first, then the outcome, the board and the event in one transaction."""
        outcome, run = made, self.floor.run
        if made.status == "failed" and not record.task.required:
            outcome = made.model_copy(update={"status": "skipped"})
        await self.floor.listener.post.save()
        rows = [run.journal.row(f"task:{record.id}", _board(outcome))]
        if outcome.status not in ENDED:
            return await self._parked(record, outcome, rows)
        rows.append(PutOp(space("outcomes", run.thread_id), self._key(record), outcome.model_dump(mode="json")))
        await run.emit(
            "task_finished",
            task_id=record.id,
            agent=outcome.agent,
            also=rows,
            status=outcome.status,
            attempts=outcome.attempts,
            tokens=outcome.usage.total_tokens,
            reason=outcome.failure.message if outcome.failure else None,
            limited=outcome.limited or None,
        )
        return outcome

    async def _parked(self, record: TaskRecord, outcome: Outcome, rows: list[PutOp]) -> Outcome:
        """The outcome with its questions asked."""
        await self.floor.run.emit("task_parked", task_id=record.id, agent=outcome.agent, also=rows)
        decided = self.floor.steering.decisions
        asked = [a if a.id in decided else await self.floor.questions.ask(a) for a in outcome.approvals]
        return outcome.model_copy(update={"approvals": asked})

    def _outcome(self, record: TaskRecord, status: OutcomeStatus, failure: Failure | None = None) -> Outcome:
        return Outcome(
            task_id=record.id, agent=record.agent or "", status=status, iteration=self.iteration, failure=failure
        )


async def show_waiting(floor: Floor) -> None:
    """Put tasks that wait for a human on the board again: a failed try of a nested supervisor has taken them off it."""
    parked = [record for record in floor.records.values() if record.status == "parked" and record.outcome]
    rows = [floor.run.journal.row(f"task:{record.id}", _board(record.outcome)) for record in parked if record.outcome]
    if rows:
        await floor.run.store.abatch(rows)


def _board(outcome: Outcome) -> Json:
    shown = {"status", "agent", "attempts", "started_at", "finished_at", "result", "confidence", "approvals"}
    row = outcome.model_dump(mode="json", include=shown)
    return {**row, "tokens": outcome.usage.total_tokens, "error": outcome.failure.message if outcome.failure else None}
