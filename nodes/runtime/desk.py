"""What an agent may do while it works, besides its own work."""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Any, Literal, NoReturn, Protocol

from pydantic import JsonValue

from nodes.policy import recruiting
from nodes.policy.approvals import denial
from nodes.policy.oversight import risk_asked
from nodes.policy.recruiting import directory
from nodes.runtime.calling import Parked
from nodes.runtime.execution import ExecutionContext
from nodes.runtime.side_effects import Once
from nodes.runtime.trust_store import mode_of
from state.agent import Brief, Mail, Member
from state.approval import OF_RISK, Approval, Decision, Risk
from state.errors import AgentFailed, ToolRefused
from state.record import FINAL, Outcome
from state.side_effect import Effect
from state.signal import Recruit


class Delegating(Protocol):
    """How a desk delegates."""

    async def delegate(self, worker: str, task: str, constraints: str, key: str) -> Outcome:
        """What came of it; ToolRefused when it may not be delegated."""

    def transfer(self, to: str, note: str) -> NoReturn:
        """End here, for `to` to finish the task; ToolRefused when it may not."""


class Refusal(str):
    """Why a recruit or a delegation came to nothing. False: `if task_id := await desk.recruit(…)` reads well."""

    __slots__ = ()

    def __bool__(self) -> Literal[False]:
        return False


class Desk:
    """One agent's desk for one try of one task."""

    def __init__(
        self,
        execution: ExecutionContext,
        agent: str,
        brief: Brief,
        attempt: str,
        delegating: Delegating | None = None,
        plan_task: str = "",
    ) -> None:
        self._execution = execution
        self._agent = agent
        self._brief = brief
        self._attempt = attempt
        self._delegating = delegating
        self._plan_task = plan_task or brief.task.id
        self._asked = self._sent = self._read = self._delegated = 0
        self._once = Once(execution, agent, brief)

    async def ask(
        self,
        action: str,
        args: dict[str, JsonValue] | None = None,
        risk: Risk = "medium",
        *,
        timeout: float | None = None,
    ) -> Decision:
        """Ask a human whether to do `action`. Parks; when answered, the function runs again and this call returns.

        `timeout`: seconds until the policy decides, if not its own `approval_timeout_s`.
        Questions are told apart by their order: ask the same ones in the same order each time. Where every step waits
        for a human (`in_command`) none is a low risk.

        Raises:
            AgentFailed: class `denied`, after a no, where the policy's `on_reject` is not `revise`.
            ValueError: `timeout` is no time.
        """
        if timeout is not None and not 0 < timeout < inf:
            raise ValueError(f"timeout is {timeout}; give seconds, more than 0")
        self._asked += 1
        task = self._brief.task
        approval_id = f"{task.id}.{self._brief.iteration}.q{self._asked}"
        if decision := self._execution.signals.decisions.get(approval_id):
            if why := denial(decision, action, self._execution.run.policy):
                raise AgentFailed(why, "denied")
            return decision
        asked = risk_asked(risk, await mode_of(self._execution.run, self._agent))
        raise Parked(
            Approval(
                id=approval_id,
                task_id=task.id,
                agent=self._agent,
                action=action,
                args=args or {},
                risk=asked,
                priority=OF_RISK[asked],
                timeout_s=timeout,
                reason=f"{self._agent} asks before it does this",
                description=f"{self._agent} asks this for: {task.description}",
            )
        )

    async def once(
        self,
        action: str,
        do: Callable[..., Any],
        args: dict[str, JsonValue] | None = None,
        *,
        risk: Risk | None = None,
        undo: str = "",
    ) -> Effect:
        """Do something to the outside world: once in the run, whatever crashes, fails or sends the work back.

        `do` is called with `args` by keyword, as a human has edited them where one was asked; it may be async or not.
        Asked is, as for tools, where the policy wants it for this action and this risk (by default `high` if the action
        is sensitive, else `low`), and where the work broke off while it was done: it may have happened. The same once
        more, after it was done in this try, is another action. Act one after the other: a question ends the try.

        `undo` names a tool of the team for when the run is rolled back. It gets those of `args` that it takes, and as
        `result` what `do` returned.

        Returns:
            What is on record: `status` is `done`, with what `do` returned as `reply`; or, where a human said no,
            `refused`, or `presumed` done before, with what was said.

        Raises:
            AgentFailed: class `denied`, after a no, where the policy's `on_reject` is not `revise`.
            Exception: whatever `do` raises. It is on record as failed then, and the next try of the task does it again.
        """
        return await self._once.do(action, do, args or {}, risk=risk, undo=undo)

    async def recruit(self, role: str, task: str) -> str:
        """Add a task for somebody of `role`, beside what is running; what depends on this task waits for it too.

        Returns:
            The new task's id, or a `Refusal` (false) that says why not. Asking again for the same gives the same id.
        """
        asked = Recruit(role=role, task=task, recruiter=self._plan_task, by=self._agent)
        made = await self._execution.listener.recruit(asked)
        return Refusal(made.reason) if isinstance(made, recruiting.Refusal) else made.id

    async def result(self, task_id: str) -> Outcome:
        """Wait for a task, such as a recruit, and get its outcome. KeyError if there is no such task."""
        own = self._plan_task
        self._execution.awaiting[own] = task_id
        self._execution.concurrency.release()  # somebody else may work while this one waits
        try:
            while self._execution.records[task_id].status not in FINAL:
                self._execution.stop_if_idle()
                if self._execution.idle.is_set():
                    raise Parked  # what it waits for waits for a human
                self._execution.signals.changed.clear()
                await self._execution.signals.changed.wait()
                await self.pause_point()
        finally:
            self._execution.awaiting.pop(own, None)
            await self._execution.concurrency.acquire()
        outcome = self._execution.records[task_id].outcome
        if outcome is None:
            raise RuntimeError(f"task {task_id} ended without an outcome")
        return outcome

    async def delegate(self, agent: str, task: str, constraints: str = "") -> str:
        """Have one of the agent's `workers` do something, and wait for it. Parks where a human has to allow it.

        Returns:
            The worker's result, or a `Refusal` (false) that says why there is none. What was delegated before is not
            done again when the function runs again: delegate the same things in the same order each time.
        """
        self._delegated += 1
        if self._delegating is None:
            return Refusal("nobody can be delegated to from here")
        try:
            made = await self._delegating.delegate(agent, task, constraints, f"{self._delegated}")
        except ToolRefused as error:
            return Refusal(str(error))
        return made.text if made.status == "done" else Refusal(made.failure.message if made.failure else made.status)

    def transfer(self, to: str, note: str = "") -> NoReturn:
        """Hand the task over for good to one of the agent's `handoffs`; does not return. ToolRefused if it may not."""
        if self._delegating is None:
            raise ToolRefused("nobody can take the task over from here")
        self._delegating.transfer(to, note)

    def mail(self, to: str, text: str, key: str = "") -> str:
        """Send a message to an agent, a role, the agent of a task, or `all`. Never waits.

        Returns:
            Why it could not be delivered, or an empty string. `key` tells repeated sends apart after a crash.
        """
        self._sent += 1
        now = self._execution.run.services.clock.now()
        name = f"{self._attempt}.{key or self._sent}"
        return self._execution.listener.outbox.deliver(Mail(id=name, sender=self._agent, to=to, text=text, at=now))

    def inbox(self) -> list[Mail]:
        """Messages that this call has not returned before, oldest first; copies."""
        mailbox = self._execution.signals.read_mail(self._agent)
        found, self._read = mailbox.since(self._read), mailbox.received
        return found

    def team(self) -> list[Member]:
        """Who is on the run: role, status, and whether recruited."""
        return directory(
            self._execution.records.values(), self._execution.run.services.team, self._execution.signals.retired
        )

    async def pause_point(self) -> None:
        """A safe point: gives others a turn, and stops here when the run is paused or taken over."""
        await asyncio.sleep(0)
        if self._execution.signals.is_stopping:
            raise Parked
