"""The ledger of side effects: intent written before an action, outcome after it, so that none is repeated silently.

What is recorded as ended is not done again, in whatever try or process. What was begun and has no end may have
happened: only a human may have it done again (`nodes.runtime.side_effects` asks); what came of it before is unknown.
What agents of nested supervisors do is on the ledger of the outermost run, in one order.
"""

import asyncio

from langgraph.store.base import BaseStore, PutOp

from nodes.runtime.clock import Clock
from nodes.runtime.nesting import OuterRun
from nodes.runtime.rows import read_all, space
from state.side_effect import Effect, EffectStatus

STALL_S = 5.0
"""Seconds after which what was written no longer says that the lease is held. Shorter than any other process waits: a
lease holds 15 s without a renewal, and is renewed every 5 s (`graph.lease`)."""


class SideEffectLedger:
    """The side effects of one run."""

    def __init__(self, store: BaseStore, thread_id: str, clock: Clock) -> None:
        self._store = store
        self._place = space("effects", thread_id)
        self._clock = clock
        self._known: dict[str, Effect] | None = None
        self._lock = asyncio.Lock()

    async def find(self, effect_id: str) -> Effect | None:
        """What is known of the last time that an action was begun; None if it never was."""
        return (await self._all()).get(effect_id)

    async def newest_first(self) -> list[Effect]:
        """Every action of the run, the last one begun first."""
        return sorted((await self._all()).values(), key=lambda effect: -effect.number)

    async def begin(self, effect: Effect) -> Effect:
        """Write down that an action begins; a second begin of the same one is counted.

        A begin that has no end may have happened: it stays on the ledger, as a row of its own (`ID#TRIES`), and the
        new one comes after it. A process that stood still meanwhile looks again whether it still has its lease.
        """
        known = await self._all()
        before = known.get(effect.id)
        in_doubt = []
        if before and before.status == "intended":
            in_doubt = [before.model_copy(update={"id": f"{before.id}#{before.tries}"})]
        number = before.number if before and not in_doubt else len(known) + 1
        tries = before.tries + 1 if before else 1
        begun = effect.model_copy(update={"number": number, "tries": tries, "status": "intended"})
        begun = await self._write(known, self._stamped(begun), *in_doubt)
        if abs(self._clock.now() - begun.at) > STALL_S:
            begun = await self._write(known, self._stamped(begun))  # refused where the lease is another's by now
        return begun

    async def settle(self, effect: Effect, status: EffectStatus, **changes: object) -> Effect:
        """Write down what came of it."""
        settled = self._stamped(effect.model_copy(update={**changes, "status": status}))
        return await self._write(await self._all(), settled)

    def _stamped(self, effect: Effect) -> Effect:
        return effect.model_copy(update={"at": self._clock.now()})

    async def _write(self, known: dict[str, Effect], effect: Effect, *others: Effect) -> Effect:
        """Keep them, in one transaction; returns the first."""
        rows = [effect, *others]
        known.update({row.id: row for row in rows})
        await self._store.abatch([PutOp(self._place, row.id, row.model_dump(mode="json")) for row in rows])
        return effect

    async def _all(self) -> dict[str, Effect]:
        async with self._lock:
            if self._known is None:
                rows = await read_all(self._store, self._place)
                self._known = {row.key: Effect.model_validate(row.value) for row in rows}
        return self._known


class NestedLedger:
    """The side effects of one nested run."""

    def __init__(self, outer: OuterRun) -> None:
        self._outer = outer

    async def find(self, effect_id: str) -> Effect | None:
        """What is known of an action; None if it was never begun."""
        found = await self._outer.effects.find(f"{self._outer.effect_prefix}{effect_id}")
        return self._inward(found) if found else None

    async def begin(self, effect: Effect) -> Effect:
        """Write down that an action begins."""
        return self._inward(await self._outer.effects.begin(self._outward(effect)))

    async def settle(self, effect: Effect, status: EffectStatus, **changes: object) -> Effect:
        """Write down what came of it."""
        return self._inward(await self._outer.effects.settle(self._outward(effect), status, **changes))

    def _outward(self, effect: Effect) -> Effect:
        outer = self._outer
        task_id, within = f"{outer.task_id}/{effect.task_id}", [outer.agent, *effect.within]
        return effect.model_copy(
            update={"id": f"{outer.effect_prefix}{effect.id}", "task_id": task_id, "within": within}
        )

    def _inward(self, effect: Effect) -> Effect:
        outer = self._outer
        names = {
            "id": effect.id.removeprefix(outer.effect_prefix),
            "task_id": effect.task_id.removeprefix(f"{outer.task_id}/"),
        }
        return effect.model_copy(update={**names, "within": effect.within[1:]})
