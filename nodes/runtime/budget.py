"""The budget of a run: one ledger of tokens, calls and money for all agents. Reserved before a call, settled after.

Checking and reserving is one step that nothing can come between, so the boundary is exact however many agents are at
it. While a call that is under way may still leave room, the next one waits for it instead of being refused.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.store.base import PutOp

from nodes.policy.budget import exceeded, expected, used_up
from nodes.runtime.context import RunContext
from nodes.runtime.nesting import OuterReservation
from nodes.runtime.rows import RUN, read_ledger, space
from state.errors import AgentFailed, BudgetUsedUp
from state.record import Usage
from state.supervisor import SupervisorState


class Reservation:
    """Room for one call; set `used` to what it really took."""

    def __init__(self, expecting: Usage) -> None:
        self.expecting = expecting
        self.used: Usage | None = None


class Budget:
    """What one run has used."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._spent = Usage()
        self._ledger: dict[str, Usage] = {}
        self._open: list[Reservation] = []
        self._largest_call = Usage()
        self._settled = asyncio.Event()
        self._exhausted: str | None = None

    async def load(self, spent: Usage) -> None:
        """Read the ledger; `spent` is what the supervisor's own calls have used, which is not on it."""
        self._spent = spent
        self._ledger = await read_ledger(self._run.store, self._run.thread_id)

    def used(self, row: str = RUN) -> Usage:
        """What was used by all tasks of the run, by `task:ID` or by `agent:NAME`."""
        return self._ledger.get(row, Usage())

    @property
    def exhausted(self) -> str | None:
        """Which limit stopped the run, or the one that this supervisor is nested in, once one has."""
        return self._exhausted or (self._run.outer.budget.exhausted if self._run.outer else None)

    @property
    def total(self) -> Usage:
        """What was used by the run: the supervisor's own tokens included, its calls not (they are bounded anyway)."""
        return self._spent.model_copy(update={"calls": 0}) + self.used()

    @property
    def spent(self) -> Usage:
        """What the supervisor's own calls have used."""
        return self._spent

    @asynccontextmanager
    async def call(self, task_id: str, agent: str, prompt_characters: int) -> AsyncIterator[OuterReservation]:
        """Room for one model call; what it used is on the ledger when this ends, however it ends: a failed one counts.

        Raises:
            AgentFailed: class `limit`, when a limit of the run leaves no room.
        """
        async with self._outside(agent, prompt_characters) as outer:
            reservation = await self._reserve(prompt_characters)
            try:
                yield reservation
            finally:
                self._open.remove(reservation)
                outer.used = reservation.used or Usage(calls=1)
                await self._put(task_id, agent, outer.used)
                self._settled.set()

    @asynccontextmanager
    async def _outside(self, agent: str, prompt_characters: int) -> AsyncIterator[OuterReservation]:
        """Room on the outer supervisor's budget, where there is one: it is counted on both."""
        if outer := self._run.outer:
            async with outer.budget.call(outer.task_id, agent, prompt_characters) as room:
                yield room
        else:
            yield Reservation(Usage())

    @asynccontextmanager
    async def supervising(self, prompt_characters: int) -> AsyncIterator[OuterReservation]:
        """Room for one of the supervisor's own calls, which are settled in the state of the run (`add_own`).

        What it really took is set on what this yields, for the budget of an outer supervisor.

        Raises:
            BudgetUsedUp: a limit of the run leaves no room.
        """
        expecting = expected(prompt_characters, Usage()).model_copy(update={"calls": 0})
        if why := exceeded(self._run.policy, self.total, expecting):
            await self.stop(why)
            raise BudgetUsedUp(f"{why}; start again with a larger one")
        try:
            async with self._outside("supervisor", prompt_characters) as room:
                yield room
        except AgentFailed as error:
            raise BudgetUsedUp(str(error)) from error

    def add_own(self, used: Usage) -> None:
        """Count one of the supervisor's own calls."""
        self._spent += used

    async def settle(self, task_id: str, agent: str, used: Usage) -> None:
        """Put something on the ledger: for the run, the task and the agent, and on that of an outer supervisor."""
        if used == Usage():
            return
        if outer := self._run.outer:
            await outer.budget.settle(outer.task_id, agent, used)
        await self._put(task_id, agent, used)

    async def _put(self, task_id: str, agent: str, used: Usage) -> None:
        if used.total_tokens > self._largest_call.total_tokens:
            self._largest_call = used
        names = (RUN, f"task:{task_id}", f"agent:{agent}")
        for name in names:
            self._ledger[name] = self.used(name) + used
        place = space("ledger", self._run.thread_id)
        await self._run.store.abatch([PutOp(place, name, self._ledger[name].model_dump()) for name in names])

    async def charge(self, task_id: str, agent: str, cost: float) -> None:
        """Put money on the ledger that a tool or a function costs.

        Raises:
            AgentFailed: class `limit`, when the run's budget has no room for it; nothing is spent then.
        """
        if why := exceeded(self._run.policy, self.total, Usage(cost=cost)):
            await self.stop(why)
            raise AgentFailed(why, "limit")
        if outer := self._run.outer:
            await outer.budget.charge(outer.task_id, agent, cost)
        if cost:
            await self._put(task_id, agent, Usage(cost=cost))

    async def exhausted_by(self) -> str | None:
        """Which limit keeps work from starting, if any."""
        if why := self.exhausted or used_up(self._run.policy, self.total):
            await self.stop(why)
        return self.exhausted

    async def stop(self, why: str) -> None:
        """Say, once, that a limit was reached."""
        if self._exhausted is None:
            self._exhausted = why
            await self._run.emit("budget_exceeded", reason=why)

    async def refusal(self, prompt_characters: int) -> str:
        """Why there is no room for another call, or an empty string; stops nothing, and waits for calls under way."""
        while True:
            held = sum((reservation.expecting for reservation in self._open), Usage())
            asked = expected(prompt_characters, self._largest_call)
            why = self.exhausted or exceeded(self._run.policy, self.total, held + asked)
            if not why or self.exhausted or not self._open:
                return why
            self._settled.clear()
            await self._settled.wait()

    async def _reserve(self, prompt_characters: int) -> Reservation:
        while True:
            asked = Reservation(expected(prompt_characters, self._largest_call))
            held = sum((reservation.expecting for reservation in self._open), Usage())
            why = self.exhausted or exceeded(self._run.policy, self.total, held + asked.expecting)
            if not why:
                self._open.append(asked)
                return asked
            if self.exhausted or not self._open:
                await self.stop(why)
                raise AgentFailed(why, "limit")
            self._settled.clear()
            await self._settled.wait()


async def open_meter(run: RunContext, state: SupervisorState) -> Budget:
    """The meter of a run, with what was used so far."""
    budget = Budget(run)
    await budget.load(Usage.model_validate(state.get("spent") or {}))
    return budget
