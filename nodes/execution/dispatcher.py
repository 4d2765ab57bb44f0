"""The dispatcher: every task starts the moment its inputs exist, with no barrier between waves.

One LangGraph @task per plan task, each under its own name, called in plan order: LangGraph tells @task results apart by
name and call index. So whoever comes before a task that is ready is called with it, and waits inside for its own
inputs; nobody is called sooner, because LangGraph looks at all that are in flight at every end. Recruits come after
them, in the order in which they were granted; they are launched from here and not from inside the agent that asked, so
that one still runs when its recruiter has long finished, also after a crash.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from nodes.agents.internals import pass_over_call
from nodes.execution.task import TaskRunner
from nodes.policy.approvals import to_replan
from nodes.policy.failures import abort_reason
from nodes.runtime.durable import recorded_step
from nodes.runtime.execution import ExecutionContext
from state.record import FINAL, Outcome, TaskRecord, TaskStatus
from state.signal import Control
from state.text import Json


class Dispatcher:
    """Runs the open tasks of one superstep."""

    def __init__(
        self,
        execution: ExecutionContext,
        tasks: TaskRunner,
        replanned: Sequence[str] = (),
        *,
        worked_s: float = 0.0,
    ) -> None:
        self.execution = execution
        self.worked_s = worked_s
        """Seconds that earlier rounds have taken."""
        self.tasks = tasks
        self.replanned = replanned
        self.abort: str | None = None
        """Why the run gave up, once it has."""
        self._launched: list[asyncio.Task[None]] = []
        self._queue: deque[TaskRecord] = deque()
        """Tasks that are not launched yet, in order."""
        self._places: dict[str, int] = {}
        """Where each task stands in that order."""
        self._due = 0
        """How many are to be launched."""
        self._open_tasks = 0
        self._has_called = False
        """Whether a task was called by LangGraph in this superstep."""
        self._wake = asyncio.Event()

    async def work(self) -> None:
        """Run until nothing more can: everything has ended, or what is left waits for a human."""
        self.execution.signals.on_control = self._driven
        self.execution.listener.on_recruit = self._admit
        self.execution.on_end = self._note
        for record in list(self.execution.records.values()):
            self._admit(record)
        async with self.execution.listener.listening():
            self._driven(self.execution.signals.control)
            timer = asyncio.create_task(self._until_time_is_up())
            try:
                await self._until_all_ended()
            finally:
                timer.cancel()
                self.execution.stop.cancel()
                for task in self._launched:
                    task.cancel()
                await asyncio.gather(*self._launched, return_exceptions=True)
        for task in self._launched:
            if not task.cancelled() and (defect := task.exception()):
                raise defect

    def stop(self, why: str) -> None:
        """Give up: nothing new starts, calls in flight are ended."""
        self.abort = self.abort or why
        self.execution.listener.gave_up = self.abort
        self.execution.aborted.set()
        self._due = len(self._places)
        self._wake.set()

    def _admit(self, record: TaskRecord) -> None:
        """Take a task into the run; it is launched by the loop below, in its own LangGraph context."""
        self.execution.records[record.id] = record
        if record.status not in FINAL:
            self.execution.outcomes[record.id] = asyncio.get_running_loop().create_future()
            self._places[record.id] = len(self._places)
            self._queue.append(record)
            self._launch_if_ready(record.id)

    def _launch_if_ready(self, task_id: str) -> None:
        """Let a task start whose inputs are there; those before it are launched, too, so that the order is kept."""
        if task_id in self._places and (self.execution.records.is_ready(task_id) or self.execution.aborted.is_set()):
            self._due = max(self._due, self._places[task_id] + 1)
            self._wake.set()

    def _driven(self, control: Control) -> None:
        if control.driving == "cancelled":
            self.stop(control.reason or "cancelled")
        elif self.execution.signals.is_stopping:
            self.execution.idle.set()
            self._wake.set()

    async def _until_all_ended(self) -> None:
        while self._queue or self._open_tasks:
            can_start = self._due > len(self._launched)
            if self.execution.idle.is_set() or not (can_start or self._open_tasks):  # the rest is to wait
                self._due = len(self._places)
            while len(self._launched) < self._due:
                task = asyncio.create_task(self._settle(self._queue.popleft()))
                task.add_done_callback(self._ended)
                self._launched.append(task)
                self._open_tasks += 1
            self._wake.clear()
            await self._wake.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._open_tasks -= 1
        self._wake.set()
        if not task.cancelled() and task.exception():  # the database failed: nobody is to wait for this task's end
            self.execution.idle.set()
            self.execution.signals.changed.set()

    async def _settle(self, record: TaskRecord) -> None:
        """Have one task done, or learn how it ended before a crash.

        Those that come before any other are not called again; behind one that is, their numbers would not be sure.
        """
        if not self._has_called and (known := self.execution.recorded.outcome(record.id)):
            pass_over_call()
            self._note(known)
            return
        self._has_called = True
        made: list[Outcome] = []

        async def work() -> Json:
            made.append(await self.tasks.run(record))
            return made[0].model_dump(mode="json")

        try:
            kept = await recorded_step(f"work:{record.id}", work)
        except BaseException:
            self._note(Outcome(task_id=record.id, agent="", status="blocked"))
            raise
        self._note(made[0] if made else Outcome.model_validate(kept))

    def _note(self, outcome: Outcome) -> None:
        """Let everyone know, once, how a task ended, or that it waits."""
        execution, future = self.execution, self.execution.outcomes[outcome.task_id]
        if future.done():
            return
        if outcome.status == "blocked":
            execution.put_off.add(outcome.task_id)
        execution.records[outcome.task_id] = with_outcome(execution.records[outcome.task_id], outcome)
        future.set_result(outcome)
        for other in execution.records.dependents_of(outcome.task_id):
            self._launch_if_ready(other)
        execution.signals.changed.set()
        if outcome.status == "failed" and (why := self._abort_reason()):
            self.stop(f"{why}; the last one: {outcome.failure.message}" if outcome.failure else why)
        execution.stop_if_idle()

    def _abort_reason(self) -> str | None:
        """Why the run gives up, if it does; tasks for which another plan will be made do not count as failed."""
        policy, records = self.execution.run.policy, self.execution.records.values()
        waived = {record.id for record in to_replan(records, policy, self.replanned)}
        counted = [r.model_copy(update={"status": "pending"}) if r.id in waived else r for r in records]
        return abort_reason(counted, policy)

    async def _until_time_is_up(self) -> None:
        """Stop the run when its tasks have taken as long as the policy grants."""
        seconds = self.execution.run.policy.max_seconds
        if seconds is not None:
            await self.execution.run.services.clock.sleep(max(0.0, seconds - self.worked_s))
            why = f"the run's limit of {seconds:g} seconds is reached"
            await self.execution.budget.stop(why)
            self.stop(why)


def with_outcome(record: TaskRecord, outcome: Outcome) -> TaskRecord:
    """The record after `outcome`: one that is blocked goes on later from where it is, parked or not begun."""
    if outcome.status == "blocked":
        return record if record.status == "parked" else record.model_copy(update={"status": "pending"})
    status: TaskStatus = outcome.status
    return record.model_copy(update={"status": status, "outcome": outcome})
