"""The budget of a run: one ledger of tokens, calls and money for all agents. Reserved before a call, settled after.

Checking and reserving is one step that nothing can come between, so the boundary is exact however many agents are at
it. While a call that is under way may still leave room, the next one waits for it instead of being refused.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import get_args
from uuid import UUID

from langgraph.store.base import PutOp

from nodes.llm.bounds import Bounds, bounded
from nodes.policy.budget import Asked, exceeded, granted, priced, shortfalls, unpriced, used_up
from nodes.runtime.context import RunContext
from nodes.runtime.nesting import OuterReservation
from nodes.runtime.rows import OWN, RUN, read_ledger, space, used_by
from state.errors import AgentFailed, BudgetUsedUp
from state.policy import Reply
from state.record import NOTHING, ModelUsed, Usage
from state.supervisor import SupervisorState


class Reservation:
    """Room for one call; set `used` to what it really took."""

    def __init__(self, cap: int, expecting: Usage, *, is_first: bool = False) -> None:
        self.cap = cap
        self.expecting = expecting
        self.is_first = is_first
        """Whether it is not known yet how long replies of its model are."""
        self.used: Usage | None = None


@contextmanager
def asking(room: OuterReservation, prompt: int, seconds: float) -> Iterator[Bounds]:
    """Within this a model is asked in its `room`; where its reply breaks off, what has come of it is counted.

    `prompt`: its estimated tokens. `seconds`: how long the call may take.
    """
    with bounded(room.cap, seconds) as bounds:
        try:
            yield bounds
        except BaseException:
            if bounds.arrived:
                begun = Usage(input_tokens=prompt, output_tokens=bounds.arrived, calls=1)
                room.used = (room.used or Usage()) + begun
            raise


@dataclass
class Habits:
    """What the calls of one model have shown."""

    longest: int | None = None
    """Tokens of its longest reply."""
    heeds: bool = True
    """Whether its replies have kept to their caps."""


@dataclass
class Measure:
    """How prompts of one agent were counted by providers, and how they were estimated."""

    told: int = 0
    estimated: int = 0

    def of(self, prompt: int) -> int:
        """The tokens that a prompt will be counted as, by those before; at most twice its estimate."""
        return round(prompt * min(2.0, self.told / self.estimated)) if self.estimated else prompt


class Budget:
    """What one run has used."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._spent = Usage()
        self._ledger: dict[str, Usage] = {}
        self._open: list[Reservation] = []
        self._at_once: dict[UUID, Usage] = {}
        """Calls that could not wait, until they are settled."""
        self._habits: defaultdict[str, Habits] = defaultdict(Habits)
        self._measures: defaultdict[str, Measure] = defaultdict(Measure)
        self._said: set[str] = set()
        self._settled = asyncio.Event()
        self._exhausted: str | None = None

    async def load(self, spent: Usage) -> None:
        """Read the ledger; `spent` is what own calls have used in a run of a version that did not put them on it."""
        self._spent = spent.model_copy(update={"calls": 0})
        self._ledger = await read_ledger(self._run.store, self._run.thread_id)

    def used(self, row: str = RUN) -> Usage:
        """What was used by all of the run, by the supervisor's own calls (`OWN`), by `task:ID` or by `agent:NAME`."""
        return self._ledger.get(row, NOTHING)

    @property
    def used_by(self) -> dict[str, Usage]:
        """What agents have used, by name, and the supervisor's own calls."""
        return used_by(self._ledger)

    @property
    def exhausted(self) -> str | None:
        """Which limit stopped the run, or the one that this supervisor is nested in, once one has."""
        return self._exhausted or (self._run.outer.budget.exhausted if self._run.outer else None)

    @property
    def total(self) -> Usage:
        """What was used by the run: the supervisor's own tokens included, its calls not (they are bounded anyway)."""
        used, own = self.used(), self.used(OWN).calls
        return self._spent + (used.model_copy(update={"calls": used.calls - own}) if own else used)

    @property
    def warnings(self) -> list[str]:
        """By how much the run has used more than its budgets, and what they do not count."""
        return [*shortfalls(self._run.policy, self.total), *unpriced(self._run.policy, self.total)]

    def priced(self, used: Usage) -> Usage:
        """What a model call has used, with what its tokens cost."""
        return priced(self._run.policy, used)

    @asynccontextmanager
    async def call(
        self, task_id: str, agent: str, prompt: int, cap: int | None = None, *, model: str = "", is_fixed: bool = False
    ) -> AsyncIterator[OuterReservation]:
        """Room for one model call; what it used is on the ledger when this ends, however it ends: a failed one counts.

        `prompt`: its estimated tokens. `cap`: those of its reply at most, by default the policy's for workers; the room
        may have less. `is_fixed`: nobody can tell the call what its cap is.

        Raises:
            AgentFailed: class `limit`, when a limit of the run leaves no room.
        """
        asked = cap or self._run.policy.max_tokens["worker"]
        async with self._outside(agent, prompt, asked, model, is_fixed=is_fixed) as outer:
            reservation = await self._reserve(agent, prompt, asked, model, is_fixed=is_fixed)
            reservation.cap = min(reservation.cap, outer.cap)
            try:
                yield reservation
            finally:
                self._open.remove(reservation)
                outer.used = reservation.used or Usage(calls=1)
                self._learn(agent, model, prompt, reservation)
                reservation.used = self.priced(outer.used)
                await self._put(_rows(task_id, agent), reservation.used)
                self._settled.set()

    @asynccontextmanager
    async def _outside(
        self, agent: str, prompt: int, cap: int, model: str, *, is_fixed: bool = False
    ) -> AsyncIterator[OuterReservation]:
        """Room on the outer supervisor's budget, where there is one: it is counted on both."""
        if outer := self._run.outer:
            async with outer.budget.call(outer.task_id, agent, prompt, cap, model=model, is_fixed=is_fixed) as room:
                yield room
        else:
            yield Reservation(cap, Usage())

    @asynccontextmanager
    async def supervising(self, prompt: int, reply: Reply) -> AsyncIterator[OuterReservation]:
        """Room for one of the supervisor's own calls; what it used is on the ledger when this ends.

        `prompt`: its estimated tokens.

        Raises:
            BudgetUsedUp: a limit of the run leaves no room.
        """
        cap = self._run.policy.max_tokens[reply]
        try:
            own = await self._reserve(reply, prompt, cap, reply, calls=0)
        except AgentFailed as error:
            raise BudgetUsedUp(f"{error}; start again with a larger one") from error
        try:
            async with self._outside("supervisor", prompt, own.cap, reply) as room:
                own.cap = min(own.cap, room.cap)
                try:
                    yield own
                finally:
                    room.used = own.used
                    self._learn(reply, reply, prompt, own)
        except AgentFailed as error:
            raise BudgetUsedUp(str(error)) from error
        finally:
            self._open.remove(own)
            if own.used:
                own.used = self.priced(own.used)
                await self._put((RUN, OWN), own.used)
            self._settled.set()

    def _learn(self, agent: str, model: str, prompt: int, made: Reservation) -> None:
        """What a call says about those to come."""
        if made.used is None:
            return
        habits, measure = self._habits[model], self._measures[agent]
        habits.longest = max(habits.longest or 0, made.used.output_tokens)
        habits.heeds = habits.heeds and made.used.output_tokens <= made.cap
        measure.told += made.used.input_tokens
        measure.estimated += prompt

    async def settle(self, task_id: str, agent: str, used: Usage) -> None:
        """Put something on the ledger: for the run, the task and the agent, and on that of an outer supervisor."""
        if not used:
            return
        if outer := self._run.outer:
            await outer.budget.settle(outer.task_id, agent, used)
        await self._put(_rows(task_id, agent), used)

    async def _put(self, names: Sequence[str], used: Usage) -> None:
        for name in names:
            self._ledger[name] = self.used(name) + used
        place = space("ledger", self._run.thread_id)
        await self._run.store.abatch([PutOp(place, name, self._ledger[name].model_dump()) for name in names])
        await self._say_overrun()

    async def _say_overrun(self) -> None:
        policy = self._run.policy
        budgets = {over.partition(" of ")[2]: over for over in shortfalls(policy, self.total)}
        for budget, over in budgets.items():
            if budget not in self._said:
                self._said.add(budget)
                await self._run.emit("budget_exceeded", reason=over)

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
            await self._put(_rows(task_id, agent), Usage(cost=cost))

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

    async def refusal(self, prompt: int) -> str:
        """Why there is no room for another call, or an empty string; stops nothing, and waits for calls under way."""
        while True:
            found = self._room("", prompt, self._run.policy.max_tokens["worker"], "")
            if isinstance(found, Reservation):
                return ""
            if self.exhausted or not self._open:
                return found
            self._settled.clear()
            await self._settled.wait()

    def refusal_now(self, agent: str, prompt: int, cap: int | None, model: str) -> str:
        """Why there is no room at this moment for a call that cannot wait, or an empty string."""
        outer = self._run.outer
        if outer and (why := outer.budget.refusal_now(agent, prompt, cap, model)):
            return why
        asked = cap or self._run.policy.max_tokens["worker"]
        found = self._room(agent, prompt, asked, model, is_fixed=True)
        return "" if isinstance(found, Reservation) else found

    def hold(self, call_id: UUID, used: Usage) -> None:
        """Count a call that could not wait for room, whoever made it, until it is released: it is settled later."""
        self._at_once[call_id] = used
        if outer := self._run.outer:
            outer.budget.hold(call_id, used)

    def release(self, call_id: UUID) -> None:
        """Count it no more: it is settled."""
        self._at_once.pop(call_id, None)
        if outer := self._run.outer:
            outer.budget.release(call_id)

    async def _reserve(
        self, agent: str, prompt: int, cap: int, model: str, *, is_fixed: bool = False, calls: int = 1
    ) -> Reservation:
        while True:
            found = self._room(agent, prompt, cap, model, is_fixed=is_fixed, calls=calls)
            if isinstance(found, Reservation):
                self._open.append(found)
                return found
            if self.exhausted or not self._open:
                await self.stop(found)
                raise AgentFailed(found, "limit")
            self._settled.clear()
            await self._settled.wait()

    def _room(
        self,
        agent: str,
        prompt: int,
        cap: int,
        model: str,
        *,
        is_fixed: bool = False,
        calls: int = 1,
    ) -> Reservation | str:
        """Room for a call, or which limit stands in its way now."""
        if self.exhausted:
            return self.exhausted
        policy, held = self._run.policy, sum([*(one.expecting for one in self._open), *self._at_once.values()], NOTHING)
        if why := exceeded(policy, self.total, held + Usage(calls=calls)):
            return why
        habits, expected = self._habits[model], self._measures[agent].of(prompt)
        asked = Asked(expected, cap, is_fixed, habits.longest, habits.heeds)
        room = granted(policy, self.total, held, asked, is_alone=not self._open)
        is_first = policy.token_budget is not None and habits.longest is None
        if room is None or (is_first and any(reservation.is_first for reservation in self._open)):
            return exceeded(policy, self.total, Usage(input_tokens=policy.token_budget or 0, output_tokens=1))
        expecting = Usage(input_tokens=expected, output_tokens=room.held, calls=calls)
        if policy.cost_budget is not None:
            name = self._run.services.models.name if model in get_args(Reply) else model
            longest = Usage(input_tokens=expected, output_tokens=room.held or room.cap, models=[_named(name)])
            expecting = expecting.model_copy(update={"cost": self.priced(longest).cost})
            if why := exceeded(policy, self.total, held + expecting):
                return why
        return Reservation(room.cap, expecting, is_first=is_first)


def _named(model: str) -> ModelUsed:
    return ModelUsed(name=model, provider="")


def _rows(task_id: str, agent: str) -> tuple[str, ...]:
    return RUN, f"task:{task_id}", f"agent:{agent}"


async def open_meter(run: RunContext, state: SupervisorState) -> Budget:
    """The meter of a run, with what was used so far."""
    budget = Budget(run)
    await budget.load(Usage.model_validate(state.get("spent") or {}))
    return budget
