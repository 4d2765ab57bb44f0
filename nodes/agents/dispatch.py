"""The dispatcher: every task starts the moment its inputs exist, with no barrier between waves.

One LangGraph @task per plan task, called in plan order, each under its own name, each waiting inside for its own
dependencies: LangGraph tells @task results apart by name and call index. What ended is also kept in the Store under
the superstep's name, in the same transaction as its event, so that a kill between the two cannot run a task twice.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from langgraph.errors import GraphInterrupt
from langgraph.store.base import PutOp
from langgraph.types import Interrupt

from nodes.agents.attempts import Attempts
from nodes.policy.contexts import assemble_brief
from nodes.policy.failures import abort_reason
from nodes.policy.readiness import readiness
from nodes.runtime.journal import Json
from nodes.runtime.recorded import once
from nodes.runtime.rows import space
from state.approval import Decision
from state.outcome import Failure, Outcome
from state.record import FINAL, TaskRecord, TaskStatus

ENDED = frozenset({"done", "failed", "skipped", "cancelled"})


class Dispatcher:
    """Runs the open tasks of one superstep."""

    def __init__(
        self,
        attempts: Attempts,
        records: Sequence[TaskRecord],
        *,
        query: str,
        decisions: Mapping[str, Decision],
        iteration: int,
        sources: Sequence[str] = (),
    ) -> None:
        self.run = attempts.run
        self.attempts = attempts
        self.records = {record.id: record for record in records}
        self.query = query
        self.decisions = decisions
        self.iteration = iteration
        self.sources = sources
        self.slots = asyncio.Semaphore(self.run.policy.max_parallel)
        self.stopped = asyncio.Event()
        self.abort: str | None = None
        """Why the run gave up, once it has."""
        self._ended: dict[str, asyncio.Future[Outcome]] = {}

    async def work(self) -> list[TaskRecord]:
        """Run until nothing more can: everything has ended, or what is left waits for a human.

        Raises:
            GraphInterrupt: with every question that agents asked by LangGraph's own `interrupt()`.
        """
        loop = asyncio.get_running_loop()
        todo = [record for record in self.records.values() if record.status not in FINAL]
        self._ended = {record.id: loop.create_future() for record in todo}
        results = await asyncio.gather(*(self._settle(record) for record in todo), return_exceptions=True)
        _raise_what_must_be([result for result in results if isinstance(result, BaseException)])
        return list(self.records.values())

    async def _settle(self, record: TaskRecord) -> None:
        """Wait for one task's end, and let everyone know."""
        ended = self._ended[record.id]
        try:
            outcome = Outcome.model_validate(await once(f"work:{record.id}", lambda: self._work_on(record)))
        except BaseException:
            ended.set_result(_outcome(record, "blocked", self.iteration))
            raise
        self.records[record.id] = with_outcome(record, outcome)
        ended.set_result(outcome)
        if outcome.status == "failed" and not self.abort:
            self.abort = abort_reason(self.records.values(), self.run.policy)
            if self.abort:
                self.stopped.set()

    async def _work_on(self, record: TaskRecord) -> Json:
        """One plan task: wait for its inputs, then do it if that makes sense."""
        inputs = {other: await self._outcome_of(other) for other in record.task.depends_on}
        state = readiness(record.task, inputs)
        if state == "blocked":
            return _dumped(_outcome(record, "blocked", self.iteration))
        if state == "hopeless":
            return _dumped(await self._skip(record))
        async with self.slots:
            return _dumped(await self._work_now(record, inputs))

    async def _outcome_of(self, task_id: str) -> Outcome:
        if task_id in self._ended:
            return await asyncio.shield(self._ended[task_id])
        record = self.records[task_id]
        return record.outcome or _outcome(record, "skipped", self.iteration)

    async def _work_now(self, record: TaskRecord, inputs: Mapping[str, Outcome]) -> Outcome:
        """Do it, unless it was done before a crash, still waits for its answer, or the run has stopped."""
        if known := await self._recorded(record):
            return known
        if self.stopped.is_set():
            return _outcome(record, "cancelled", self.iteration)
        waiting = record.outcome if record.status == "parked" else None
        if waiting and not any(approval.id in self.decisions for approval in waiting.approvals):
            return waiting
        await self._started(record)
        brief = assemble_brief(
            self.query,
            record,
            inputs,
            iteration=self.iteration,
            artifacts=sum(len(r.outcome.artifacts) for r in self.records.values() if r.outcome),
            sources=self.sources,
        )
        made = await self._unless_stopped(self.attempts.make(record, brief, self.decisions), record)
        return await self._finished(record, made)

    async def _unless_stopped(self, making: Coroutine[Any, Any, Outcome], record: TaskRecord) -> Outcome:
        """The outcome of `making`, or `cancelled` when the run stops first."""
        work, stop = asyncio.ensure_future(making), asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            work.cancel()
            await asyncio.wait({work})
            return _outcome(record, "cancelled", self.iteration)
        finally:
            stop.cancel()
            if not work.done():
                work.cancel()

    async def _recorded(self, record: TaskRecord) -> Outcome | None:
        item = await self.run.store.aget(space("outcomes", self.run.thread_id), self._key(record))
        return Outcome.model_validate(item.value) if item else None

    def _key(self, record: TaskRecord) -> str:
        return f"{self.run.scope}:{record.id}"

    async def _started(self, record: TaskRecord) -> None:
        now = self.run.services.clock.now()
        row: Json = {"status": "running", "agent": record.agent, "started_at": now}
        board = self.run.journal.row(f"task:{record.id}", row)
        await self.run.emit("task_started", task_id=record.id, agent=record.agent, also=[board])

    async def _skip(self, record: TaskRecord) -> Outcome:
        failure = Failure(kind="permanent", message="none of the tasks it builds on delivered")
        return await self._finished(record, _outcome(record, "skipped", self.iteration, failure))

    async def _finished(self, record: TaskRecord, made: Outcome) -> Outcome:
        """Record how it ended: the outcome, the board and the event in one transaction."""
        outcome = made
        if made.status == "failed" and not record.task.required:
            outcome = made.model_copy(update={"status": "skipped"})
        rows = [self.run.journal.row(f"task:{record.id}", _board(outcome))]
        if outcome.status in ENDED:
            outcome_row = PutOp(space("outcomes", self.run.thread_id), self._key(record), _dumped(outcome))
            await self.run.emit(
                "task_finished",
                task_id=record.id,
                agent=outcome.agent,
                also=[*rows, outcome_row],
                status=outcome.status,
                attempts=outcome.attempts,
                tokens=outcome.usage.total_tokens,
                reason=outcome.failure.message if outcome.failure else None,
            )
        else:
            await self.run.emit("task_parked", task_id=record.id, agent=outcome.agent, also=rows)
            for approval in outcome.approvals:
                asked: dict[str, Any] = approval.model_dump(mode="json", exclude={"task_id", "agent"})
                await self.run.emit("approval_requested", task_id=record.id, agent=outcome.agent, **asked)
        return outcome


def with_outcome(record: TaskRecord, outcome: Outcome) -> TaskRecord:
    """The record after `outcome`: one that is blocked stays pending."""
    if outcome.status == "blocked":
        return record
    status: TaskStatus = outcome.status
    return record.model_copy(update={"status": status, "outcome": outcome})


def _outcome(record: TaskRecord, status: str, iteration: int, failure: Failure | None = None) -> Outcome:
    return Outcome.model_validate(
        {
            "task_id": record.id,
            "agent": record.agent or "",
            "status": status,
            "iteration": iteration,
            "failure": failure,
        }
    )


def _board(outcome: Outcome) -> Json:
    row = outcome.model_dump(
        mode="json", include={"status", "agent", "attempts", "started_at", "finished_at", "result"}
    )
    return {**row, "tokens": outcome.usage.total_tokens, "error": outcome.failure.message if outcome.failure else None}


def _dumped(outcome: Outcome) -> Json:
    return outcome.model_dump(mode="json")


def _raise_what_must_be(errors: Sequence[BaseException]) -> None:
    """Interrupts of all branches as one; anything else is a defect or a cancellation, and comes first."""
    questions: list[Interrupt] = []
    for error in errors:
        if not isinstance(error, GraphInterrupt):
            raise error
        questions += error.args[0] if error.args else ()
    if questions:
        raise GraphInterrupt(tuple(questions))
