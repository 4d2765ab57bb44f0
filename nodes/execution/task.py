"""One task from its inputs to its outcome: wait, start, pass its gates, work, park and go on, finish.

A human may be asked before it begins and about what came of it (chapter 15.12.2, 15.12.3); actions in between are asked
about where tools are called (`nodes.agents.tool_calls`). What ended is kept in the Store under the superstep's name, in
the same transaction as its event, so that a kill between the event and LangGraph's own record cannot run a task twice.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodes.agents.results import stored
from nodes.execution.attempts import AttemptRunner
from nodes.policy.budget import is_by_rules
from nodes.policy.failures import failures_in_a_row, time_for_try
from nodes.policy.gates import (
    accepted,
    denied_outcome,
    edited,
    entry_question,
    has_ended,
    is_about_result,
    is_sent_back,
    outcome_by_human,
    parked,
    question_id,
    result_question,
    with_returns,
)
from nodes.policy.growth import answered_before, spared
from nodes.policy.judging import judged_by
from nodes.policy.oversight import Response, fired
from nodes.policy.readiness import assemble_brief, former_of, kept, readiness
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.trust_store import mode_of
from state.agent import AgentSpec, Brief, Mail
from state.approval import Approval, Decision, TriggerInput
from state.conversation import Turn
from state.record import FINAL, Failure, Outcome, OutcomeStatus, TaskRecord
from state.run import Mode
from state.text import Json


@dataclass(frozen=True)
class TaskRunner:
    """Runs the tasks of one superstep."""

    execution: ExecutionContext
    attempts: AttemptRunner
    query: str
    mode: Mode
    iteration: int
    sources: Sequence[str] = ()
    earlier: Sequence[Turn] = ()
    """What was asked and answered on the thread before."""
    notes: Sequence[str] = ()
    """What the user said while the work was in flight."""

    async def run(self, record: TaskRecord) -> Outcome:
        """The outcome of one task; `blocked` when it has to wait for a human elsewhere."""
        if known := self.execution.recorded.outcome(record.id):
            return known
        inputs = await self._inputs(record)
        optional = {key for key in record.task.depends_on if not self.execution.records[key].task.required}
        state = readiness(record.task, inputs, self.execution.run.policy.on_failed_input, optional)
        if self.execution.aborted.is_set():
            return await self._finish(record, self._outcome(record, "cancelled"))
        if state == "blocked" or self.execution.signals.is_stopping:
            return self._outcome(record, "blocked")
        if state == "hopeless":
            failure = Failure(kind="permanent", message="the tasks it builds on did not deliver")
            return await self._finish(record, self._outcome(record, "skipped", failure))
        if known := await self._answered_before(record, inputs):
            return await self._finish(record, known)
        segment = 0
        while True:  # goes on as soon as an answer comes while the rest of the run is still busy
            waiting = record.outcome if record.status == "parked" else None
            if not waiting or not waiting.approvals or self._is_answered(waiting):
                async with self.execution.concurrency:
                    waiting = await self._segment(record, inputs, segment)
                if waiting.status != "parked" or not waiting.approvals:
                    return waiting
            record = record.model_copy(update={"status": "parked", "outcome": waiting})
            self.execution.records[record.id] = record
            if not await self._answer_comes(waiting):
                return waiting
            segment += waiting.approvals[0].subject in ("action", "escalation")

    # Inputs

    async def _inputs(self, record: TaskRecord) -> dict[str, Outcome]:
        """The outcomes of what the task builds on, and of whoever was recruited by those."""
        found: dict[str, Outcome] = {}
        while todo := self._missing(record, found):
            for task_id in todo:
                found[task_id] = await self._outcome_of(task_id)
        return found

    def _missing(self, record: TaskRecord, found: Mapping[str, Outcome]) -> list[str]:
        """What it builds on that is not among `found`; somebody may be recruited at any moment."""
        recruits = self.execution.signals.recruits
        more = [other.id for other in recruits if record.id in other.needed_by or other.recruiter in found]
        return [task_id for task_id in (*record.task.depends_on, *more) if task_id not in found]

    async def _outcome_of(self, task_id: str) -> Outcome:
        if task_id in self.execution.outcomes:
            return await asyncio.shield(self.execution.outcomes[task_id])
        record = self.execution.records[task_id]
        return record.outcome or self._outcome(record, "skipped")

    async def _answered_before(self, record: TaskRecord, inputs: Mapping[str, Outcome]) -> Outcome | None:
        """What a task it builds on has delivered in its place; nothing is left out where a human sees every step."""
        run = self.execution.run
        made = answered_before(record, inputs, run.policy.confidence_threshold)
        if made is None or await mode_of(run, record.agent or "") == "in_command":
            return None
        now = run.services.clock.now()
        return made.model_copy(update={"iteration": self.iteration, "started_at": now, "finished_at": now})

    def _outcome(self, record: TaskRecord, status: OutcomeStatus, failure: Failure | None = None) -> Outcome:
        return Outcome(
            task_id=record.id, agent=record.agent or "", status=status, iteration=self.iteration, failure=failure
        )

    # One segment: a stretch of work between two waits for a human

    async def _segment(self, record: TaskRecord, inputs: Mapping[str, Outcome], segment: int) -> Outcome:
        """From the start or from where it parked, to the end or to where it parks."""
        if by_human := outcome_by_human(record, self.execution.signals.decisions):
            return await self._finish(record, by_human)
        if why := await self.execution.budget.exhausted_by():
            stopped = self._outcome(record, "cancelled", Failure(kind="limit", message=why))
            return await self._finish(record, kept(record, stopped))
        if self.execution.aborted.is_set():
            return await self._finish(record, self._outcome(record, "cancelled"))
        if record.status == "pending" and self._missing(record, inputs):  # recruited while it waited for its turn
            return self._outcome(record, "blocked")
        record = self._with_available_agent(record)
        await self._start(record)
        records = self.execution.records
        notes = [Mail(sender="user", to="all", text=note) for note in self.notes]
        brief = assemble_brief(
            self.query,
            record,
            inputs,
            mail=[*notes, *self.execution.signals.read_mail(record.agent or "").messages],
            iteration=self.iteration,
            artifacts=records.artifacts,
            sources=self.sources,
            earlier=self.earlier,
            then=spared(record.id, [records[other] for other in records.dependents_of(record.id)]),
            reviews=judged_by(record, records, records.dependents_of, mode=self.mode, policy=self.execution.run.policy),
        )
        made = await self._unless_stopped(self._through_gates(record, brief, segment), record)
        return await self._finish(record, made)

    def _with_available_agent(self, record: TaskRecord) -> TaskRecord:
        """The record with the agent that will really do it: another one where the chosen one is retired."""
        left = self.attempts.candidates(record)
        if not record.route or not left or left[0] == record.agent or record.status == "parked":
            return record
        reason = f"{record.agent} is retired; next best score"
        return record.model_copy(update={"route": record.route.model_copy(update={"agent": left[0], "reason": reason})})

    async def _unless_stopped(self, making: Coroutine[Any, Any, Outcome], record: TaskRecord) -> Outcome:
        """The outcome of `making`, or `cancelled` when the run stops first."""
        work, stop = asyncio.ensure_future(making), self.execution.stop
        # Its error is read, too, where it comes as whoever waits is cancelled: a lost lease does both at once.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done() and (work.result().status in FINAL or not self.execution.aborted.is_set()):
                return work.result()
            return self._outcome(record, "cancelled")
        finally:
            if not work.done():
                work.cancel()
                await _ended(work)

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

    # The gates: may it begin, the work itself, does the result count or is it done again

    async def _through_gates(self, record: TaskRecord, brief: Brief, segment: int) -> Outcome:
        """The outcome as it counts, or parked at a gate or at an action. `segment` counts the stretches of work."""
        waiting = record.outcome if record.status == "parked" else None
        entry = await self._entry_question(record, brief.iteration)
        decision = self._decision(entry)
        if entry and decision is None:
            return parked(Outcome(task_id=record.id, agent=entry.agent, status="parked"), entry, brief.iteration)
        if decision and decision.type == "reject":
            return denied_outcome(record, decision, f"task {record.id}", brief.iteration)
        if decision:
            brief = brief.model_copy(update={"task": edited(brief.task, decision)})
        if waiting and is_about_result(waiting):
            status = "failed" if waiting.failure else "done"
            made = waiting.model_copy(update={"approvals": [], "status": status, "former": None})
        else:
            made = kept(record, await self._work(record, brief, segment, waiting))
        while has_ended(made):  # asked about where triggers fire; done again as long as a human sends it back
            question = await self._result_question(record, made)
            if question is None:
                return made
            decision = self._decision(question)
            if decision is None:
                return parked(made, question, made.iteration)
            if decision.type != "reject":
                sources = await self.execution.run.sources()
                return await asyncio.to_thread(stored, accepted(made, decision), self.execution.run.folder, sources)
            if not is_sent_back(made, decision, self.execution.run.policy.max_attempts):
                ended = denied_outcome(record, decision, f"the result of task {record.id}", made.iteration)
                return ended.model_copy(update={"usage": made.usage, "attempts": made.attempts, "tried": made.tried})
            again = brief.model_copy(update={"feedback": decision.message or "do it again", "previous": made.result})
            made = await self._work_again(record, again, segment, made)
        return made

    async def _work(self, record: TaskRecord, brief: Brief, segment: int, waiting: Outcome | None) -> Outcome:
        """Work from the start, or from where the task waits at an action."""
        returned = waiting.returned if waiting else 0
        if waiting and returned:  # it was sent back before it came to that action
            last = question_id("result", record.id, brief.iteration, returned - 1)
            said = self.execution.signals.decisions.get(last)
            brief = brief.model_copy(
                update={"feedback": said.message if said else brief.feedback, "previous": waiting.result}
            )
        made = await self.attempts.make(record, brief, f"{segment}r{returned}" if returned else str(segment))
        return with_returns(made, returned, brief)

    async def _work_again(self, record: TaskRecord, brief: Brief, segment: int, before: Outcome) -> Outcome:
        """Work from the start, with what a human said to the last result."""
        returned = before.returned + 1
        fresh = record.model_copy(update={"status": "running", "outcome": None})
        made = await self.attempts.make(fresh, brief, f"{segment}r{returned}")
        usage = before.usage + made.usage
        counted = made.model_copy(update={"usage": usage, "attempts": before.attempts + made.attempts})
        return with_returns(counted, returned, brief)

    async def _entry_question(self, record: TaskRecord, iteration: int) -> Approval | None:
        """What has to be answered before the task begins, if anything: then it waits, or was decided."""
        key, name = question_id("start", record.id, iteration, None), record.agent or ""
        if known := self.execution.approvals.known(key):
            return known if known.expires_at is not None else None
        mode = await mode_of(self.execution.run, name)
        what, question = entry_question(key, record, self._spec(name), self.execution.run.policy, mode)
        return await self._asked(what, question)

    async def _result_question(self, record: TaskRecord, outcome: Outcome) -> Approval | None:
        """What has to be answered about a result before it counts, if anything."""
        key = question_id("result", record.id, outcome.iteration, outcome.returned)
        if known := self.execution.approvals.known(key):
            return known if known.expires_at is not None else None
        found = fired(self._trigger_input(record, outcome), self.execution.run.policy)
        if not found:
            return None
        mode = await mode_of(self.execution.run, outcome.agent)
        return await self._asked(*result_question(key, record, outcome, found, mode))

    async def _asked(self, what: Response, question: Approval | None) -> Approval | None:
        """The question, if a human is to answer it; one that is only put on record is, here."""
        if what == "note" and question:
            await self.execution.approvals.record_only(question)
        return question if what == "ask" else None

    def _trigger_input(self, record: TaskRecord, outcome: Outcome) -> TriggerInput:
        failure, spec = outcome.failure, self._spec(outcome.agent)
        is_late = failure is not None and failure.kind == "timeout"
        allowed = time_for_try(spec.limits.timeout_s, self.execution.run.policy) if spec and is_late else None
        return TriggerInput(
            cost=outcome.usage.cost - outcome.usage.tokens_cost if spec and spec.run is not None else 0.0,
            confidence=None
            if failure or (spec and spec.run is None and is_by_rules(outcome.usage))
            else outcome.confidence,
            failures_in_a_row=self._failures_with(record, outcome) if failure else 0,
            overdue_s=allowed if allowed == self.execution.run.policy.decision_timeout_s else None,
        )

    def _failures_with(self, record: TaskRecord, outcome: Outcome) -> int:
        """How many tasks in a row the agent has failed, with this one."""
        others = [other for key, other in self.execution.records.items() if key != record.id]
        now = record.model_copy(update={"outcome": outcome})
        return failures_in_a_row([*others, now], outcome.agent, now)

    def _spec(self, name: str) -> AgentSpec | None:
        team = self.execution.run.services.team
        return team.agent(name) if name in team else None

    def _decision(self, question: Approval | None) -> Decision | None:
        return self.execution.signals.decisions.get(question.id) if question else None

    # Start and finish: the board, the events, the questions

    async def _start(self, record: TaskRecord) -> None:
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

    async def _finish(self, record: TaskRecord, made: Outcome) -> Outcome:
        """Record how it ended: mail it sent first, then the outcome, the board and the event in one transaction.

        One that parked is not at its end: its questions are asked.
        """
        outcome, run = made, self.execution.run
        if made.status == "failed" and not record.task.required:
            outcome = made.model_copy(update={"status": "skipped"})
        if made.status == "parked":
            outcome = made.model_copy(update={"former": former_of(record)})
        await self.execution.listener.outbox.flush()
        ended: Json = outcome.model_dump(mode="json")
        rows = [run.journal.row(f"task:{record.id}", _board(outcome, ended))]
        if outcome.status not in FINAL:
            rows += self.execution.recorded.attempted(record.id)
            await run.emit("task_parked", task_id=record.id, agent=outcome.agent, also=rows)
            decided, ask = self.execution.signals.decisions, self.execution.approvals.ask
            asked = [one if one.id in decided else await ask(one) for one in outcome.approvals]
            return outcome.model_copy(update={"approvals": asked})
        rows.append(self.execution.recorded.ended(record.id, ended))
        await run.emit(
            "task_finished",
            task_id=record.id,
            agent=outcome.agent,
            also=rows,
            status=outcome.status,
            attempts=outcome.attempts,
            tokens=outcome.usage.total_tokens,
            reason=outcome.failure.message if outcome.failure else outcome.not_improved or None,
            answered_by=outcome.answered_by or None,
            limited=outcome.limited or None,
        )
        self.execution.on_end(outcome)
        return outcome


CLEANUP_S = 5.0
"""Seconds that an agent which is cut off has for what it cleans up."""


async def _ended(work: asyncio.Task[Any]) -> None:
    """Wait until cancelled work has ended, however often whoever waits is cancelled meanwhile: LangGraph does twice."""
    clock = asyncio.get_running_loop()
    until, was_cancelled = clock.time() + CLEANUP_S, False
    while not work.done() and clock.time() < until:
        try:
            await asyncio.wait({work}, timeout=until - clock.time())
        except asyncio.CancelledError:
            was_cancelled = True
    if was_cancelled:
        raise asyncio.CancelledError


async def show_waiting(execution: ExecutionContext) -> None:
    """Put tasks that wait for a human on the board again: a failed attempt of a nested supervisor took them off it."""
    parked = [record.outcome for record in execution.records.values() if record.status == "parked" and record.outcome]
    row = execution.run.journal.row
    rows = [row(f"task:{one.task_id}", _board(one, one.model_dump(mode="json"))) for one in parked]
    if rows:
        await execution.run.store.abatch(rows)


SHOWN = ("status", "agent", "attempts", "started_at", "finished_at", "result", "confidence", "approvals")
"""What the board tells of an outcome as it is."""


def _board(outcome: Outcome, dumped: Json) -> Json:
    error = outcome.failure.message if outcome.failure else None
    return {**{name: dumped[name] for name in SHOWN}, "tokens": outcome.usage.total_tokens, "error": error}
