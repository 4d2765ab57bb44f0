"""One task from its inputs to its outcome: wait, start, pass its gates, work, park and go on, finish.

A human may be asked before it begins and about what came of it (chapter 15.12.2, 15.12.3); actions in between are asked
about where tools are called (`nodes.agents.tool_calls`). What ended is kept in the Store under the superstep's name, in
the same transaction as its event, so that a kill between the event and LangGraph's own record cannot run a task twice.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import PutOp

from nodes.agents.results import stored
from nodes.execution.attempts import AttemptRunner
from nodes.policy.failures import failures_in_a_row, time_for_try
from nodes.policy.gates import (
    _DESCRIPTION,
    _RESULT,
    _asks_later,
    accepted,
    denied_outcome,
    edited,
    has_ended,
    is_about_result,
    is_sent_back,
    outcome_by_human,
    parked,
    reasons,
    with_returns,
)
from nodes.policy.oversight import TRIGGERS, fired, highest, response, risk_asked
from nodes.policy.readiness import assemble_brief, readiness
from nodes.policy.routing import marks_of, risk_of
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.rows import space
from nodes.runtime.trust_store import mode_of
from state.agent import AgentSpec, Brief, Mail
from state.approval import Approval, Decision, TriggerInput
from state.record import Failure, Outcome, OutcomeStatus, TaskRecord
from state.text import Json

ENDED = frozenset({"done", "failed", "skipped", "cancelled"})


@dataclass(frozen=True)
class TaskRunner:
    """What it takes to work on a task."""

    execution: ExecutionContext
    attempts: AttemptRunner
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
        state = readiness(record.task, inputs, self.execution.run.policy.on_failed_input)
        if self.execution.aborted.is_set():
            return await self._finished(record, self._outcome(record, "cancelled"))
        if state == "blocked" or self.execution.signals.is_stopping:
            return self._outcome(record, "blocked")
        if state == "hopeless":
            failure = Failure(kind="permanent", message="the tasks it builds on did not deliver")
            return await self._finished(record, self._outcome(record, "skipped", failure))
        return await self._segments(record, inputs)

    async def _segments(self, record: TaskRecord, inputs: Mapping[str, Outcome]) -> Outcome:
        """Work, and go on as soon as an answer comes while the rest of the run is still busy."""
        segment = 0
        while True:
            waiting = record.outcome if record.status == "parked" else None
            if not waiting or not waiting.approvals or self._is_answered(waiting):
                async with self.execution.concurrency:
                    waiting = await self._leg(record, inputs, segment)
                if waiting.status != "parked" or not waiting.approvals:
                    return waiting
            record = record.model_copy(update={"status": "parked", "outcome": waiting})
            self.execution.records[record.id] = record
            if not await self._answer_comes(waiting):
                return waiting
            segment += waiting.approvals[0].subject == "action"

    async def _leg(self, record: TaskRecord, inputs: Mapping[str, Outcome], segment: int) -> Outcome:
        """One stretch of work, from the start or from where it parked, to the end or to where it parks."""
        if accepted := outcome_by_human(record, self.execution.signals.decisions):
            return await self._finished(record, accepted)
        if why := await self.execution.budget.exhausted_by():
            return await self._finished(record, self._outcome(record, "cancelled", Failure(kind="limit", message=why)))
        if self.execution.aborted.is_set():
            return await self._finished(record, self._outcome(record, "cancelled"))
        record = self._with_who_is_left(record)
        await self._started(record)
        brief = assemble_brief(
            self.query,
            record,
            inputs,
            mail=[*(Mail(sender="user", to="all", text=note) for note in self.notes), *self._mail(record)],
            iteration=self.iteration,
            artifacts=sum(len(r.outcome.artifacts) for r in self.execution.records.values() if r.outcome),
            sources=self.sources,
        )
        passage = Passage(self.execution, self.attempts)
        made = await self._unless_stopped(passage.through(record, brief, segment), record)
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
                todo += [r.id for r in self.execution.records.values() if r.recruited_by == task_id]
        return found

    async def _outcome_of(self, task_id: str) -> Outcome:
        if task_id in self.execution.outcomes:
            return await asyncio.shield(self.execution.outcomes[task_id])
        record = self.execution.records[task_id]
        return record.outcome or self._outcome(record, "skipped")

    def _mail(self, record: TaskRecord) -> Sequence[Mail]:
        return self.execution.signals.mail(record.agent or "").messages

    def _is_answered(self, outcome: Outcome) -> bool:
        return any(approval.id in self.execution.signals.decisions for approval in outcome.approvals)

    async def _answer_comes(self, outcome: Outcome) -> bool:
        """Wait for an answer while others still work; false when nothing else can run any more."""
        self.execution.stop_if_idle()
        while not self._is_answered(outcome):
            if self.execution.aborted.is_set() or self.execution.idle.is_set():
                return False
            self.execution.signals.changed.clear()
            await self.execution.signals.changed.wait()
        return True

    async def _unless_stopped(self, making: Coroutine[Any, Any, Outcome], record: TaskRecord) -> Outcome:
        """The outcome of `making`, or `cancelled` when the run stops first."""
        work, stop = asyncio.ensure_future(making), asyncio.ensure_future(self.execution.aborted.wait())
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
        item = await self.execution.run.store.aget(space("outcomes", self.execution.run.thread_id), self._key(record))
        return Outcome.model_validate(item.value) if item else None

    def _key(self, record: TaskRecord) -> str:
        return f"{self.execution.run.scope}:{record.id}"

    async def _started(self, record: TaskRecord) -> None:
        run = self.execution.run
        self.execution.records[record.id] = record.model_copy(update={"status": "running"})
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
        outcome, run = made, self.execution.run
        if made.status == "failed" and not record.task.required:
            outcome = made.model_copy(update={"status": "skipped"})
        await self.execution.listener.outbox.flush()
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
        await self.execution.run.emit("task_parked", task_id=record.id, agent=outcome.agent, also=rows)
        decided = self.execution.signals.decisions
        asked = [a if a.id in decided else await self.execution.approvals.ask(a) for a in outcome.approvals]
        return outcome.model_copy(update={"approvals": asked})

    def _outcome(self, record: TaskRecord, status: OutcomeStatus, failure: Failure | None = None) -> Outcome:
        return Outcome(
            task_id=record.id, agent=record.agent or "", status=status, iteration=self.iteration, failure=failure
        )


async def show_waiting(execution: ExecutionContext) -> None:
    """Put tasks that wait for a human on the board again: a failed try of a nested supervisor has taken them off it."""
    parked = [record for record in execution.records.values() if record.status == "parked" and record.outcome]
    rows = [
        execution.run.journal.row(f"task:{record.id}", _board(record.outcome)) for record in parked if record.outcome
    ]
    if rows:
        await execution.run.store.abatch(rows)


def _board(outcome: Outcome) -> Json:
    shown = {"status", "agent", "attempts", "started_at", "finished_at", "result", "confidence", "approvals"}
    row = outcome.model_dump(mode="json", include=shown)
    return {**row, "tokens": outcome.usage.total_tokens, "error": outcome.failure.message if outcome.failure else None}


@dataclass(frozen=True)
class Passage:
    """What it takes to bring a task through."""

    execution: ExecutionContext
    attempts: AttemptRunner

    async def through(self, record: TaskRecord, brief: Brief, segment: int) -> Outcome:
        """The outcome as it counts, or parked at a gate or at an action. `segment` counts the stretches of work."""
        gates, waiting = Gates(self.execution), record.outcome if record.status == "parked" else None
        entry = await gates.entry(record, brief.iteration)
        decision = self._decision(entry)
        if entry and decision is None:
            return parked(Outcome(task_id=record.id, agent=entry.agent, status="parked"), entry, brief.iteration)
        if decision and decision.type == "reject":
            return denied_outcome(record, decision, f"task {record.id}", brief.iteration)
        brief = brief.model_copy(update={"task": edited(brief.task, decision)})
        if waiting and is_about_result(waiting):
            status = "failed" if waiting.failure else "done"
            made = waiting.model_copy(update={"approvals": [], "status": status})
            return await self._until_it_counts(record, brief, segment, made)
        return await self._until_it_counts(record, brief, segment, await self._work(record, brief, segment, waiting))

    async def _until_it_counts(self, record: TaskRecord, brief: Brief, segment: int, made: Outcome) -> Outcome:
        """Ask about the result where its triggers fire; work on it again as long as a human sends it back."""
        gates = Gates(self.execution)
        while has_ended(made):
            question = await gates.result(record, made)
            if question is None:
                return made
            decision = self._decision(question)
            if decision is None:
                return parked(made, question, made.iteration)
            if decision.type != "reject":
                return await self._settled(made, decision)
            if not is_sent_back(made, decision, self.execution.run.policy.max_attempts):
                ended = denied_outcome(record, decision, f"the result of task {record.id}", made.iteration)
                return ended.model_copy(update={"usage": made.usage, "attempts": made.attempts, "tried": made.tried})
            again = brief.model_copy(update={"feedback": decision.message or "do it again", "previous": made.result})
            made = await self._again(record, again, segment, made)
        return made

    async def _work(self, record: TaskRecord, brief: Brief, segment: int, waiting: Outcome | None) -> Outcome:
        """Work from the start, or from where the task waits at an action."""
        returned = waiting.returned if waiting else 0
        if waiting and returned:  # it was sent back before it came to that action
            said = self.execution.signals.decisions.get(f"{record.id}.{brief.iteration}.result{returned - 1}")
            brief = brief.model_copy(
                update={"feedback": said.message if said else brief.feedback, "previous": waiting.result}
            )
        made = await self.attempts.make(record, brief, f"{segment}r{returned}" if returned else str(segment))
        return with_returns(made, returned, brief)

    async def _again(self, record: TaskRecord, brief: Brief, segment: int, before: Outcome) -> Outcome:
        """Work from the start, with what a human said to the last result."""
        returned = before.returned + 1
        fresh = record.model_copy(update={"status": "running", "outcome": None})
        made = await self.attempts.make(fresh, brief, f"{segment}r{returned}")
        usage = before.usage + made.usage
        counted = made.model_copy(update={"usage": usage, "attempts": before.attempts + made.attempts})
        return with_returns(counted, returned, brief)

    async def _settled(self, made: Outcome, decision: Decision) -> Outcome:
        """The result as it was accepted or replaced."""
        sources = await self.execution.run.sources()
        return await asyncio.to_thread(stored, accepted(made, decision), self.execution.run.folder, sources)

    def _decision(self, question: Approval | None) -> Decision | None:
        return self.execution.signals.decisions.get(question.id) if question else None


@dataclass(frozen=True)
class Gates:
    """The gates of all tasks of one superstep."""

    execution: ExecutionContext

    async def entry(self, record: TaskRecord, iteration: int) -> Approval | None:
        """What has to be answered before the task begins, if anything: then it waits, or was decided."""
        key, policy, name = f"{record.id}.{iteration}.start", self.execution.run.policy, record.agent or ""
        if known := self.execution.approvals.known(key):
            return known if known.expires_at is not None else None
        spec = self._spec(name)
        marks = marks_of(record.task, record.route, spec, policy)
        mode = await mode_of(self.execution.run, name)
        if mode != "in_command" and spec and _asks_later(record.task, spec):
            marks = [mark for mark in marks if mark.trigger != "sensitive"]
        what, found = response(marks, mode)
        if what == "pass":
            return None
        question = Approval(
            id=key,
            task_id=record.id,
            agent=name,
            subject="task",
            action=record.task.action or "begin task",
            args={"description": record.task.description},
            args_schema=_DESCRIPTION,
            risk=risk_asked(risk_of(record.task, policy), mode),
            priority=highest(found),
            triggers=found,
            reason=reasons(found),
            description=f"**{name}** is to begin task `{record.id}`: {record.task.description}",
        )
        if what == "note":
            await self.execution.approvals.record_only(question)
            return None
        return question

    async def result(self, record: TaskRecord, outcome: Outcome) -> Approval | None:
        """What has to be answered about a result before it counts, if anything."""
        key = f"{record.id}.{outcome.iteration}.result{outcome.returned}"
        if known := self.execution.approvals.known(key):
            return known if known.expires_at is not None else None
        found = fired(self._signs(record, outcome), self.execution.run.policy)
        if not found:
            return None
        mode = await mode_of(self.execution.run, outcome.agent)
        what, found = response(found, mode)
        why = f"It failed: {outcome.failure.message}" if outcome.failure else outcome.text[:2000]
        question = Approval(
            id=key,
            task_id=record.id,
            agent=outcome.agent,
            subject="result",
            action="accept failure" if outcome.failure else "accept result",
            args={"result": outcome.result},
            args_schema=_RESULT,
            risk=risk_asked(TRIGGERS[found[0].trigger].risk, mode),
            priority=highest(found),
            triggers=found,
            reason=reasons(found),
            description=f"**{outcome.agent}** has ended task `{record.id}`: {record.task.description}\n\n{why}\n\n"
            "Approve: it stands. Edit: your result counts. Reject: it is done again with your message.",
        )
        if what == "note":
            await self.execution.approvals.record_only(question)
            return None
        return question

    def _signs(self, record: TaskRecord, outcome: Outcome) -> TriggerInput:
        failure, spec = outcome.failure, self._spec(outcome.agent)
        others = [other for key, other in self.execution.records.items() if key != record.id]
        now = record.model_copy(update={"outcome": outcome})
        is_late = failure is not None and failure.kind == "timeout"
        allowed = time_for_try(spec.limits.timeout_s, self.execution.run.policy) if spec and is_late else None
        return TriggerInput(
            cost=outcome.usage.cost if spec and spec.run is not None else 0.0,
            confidence=outcome.confidence if failure is None else None,
            failures_in_a_row=failures_in_a_row([*others, now], outcome.agent) if failure else 0,
            overdue_s=allowed if allowed == self.execution.run.policy.decision_timeout_s else None,
        )

    def _spec(self, name: str) -> AgentSpec | None:
        team = self.execution.run.services.team
        return team.agent(name) if name in team else None
