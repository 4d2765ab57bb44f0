"""The journal of a thread: its numbered events, and the board that says what is true now.

Both live in the Store, because another process must be able to watch: LangGraph's own `get_state` does not see work
in flight. An event and what it changes on the board are written in one transaction, before `emit` returns; so is what
others have told meanwhile, and what could wait.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp

from nodes.runtime.background import to_its_end
from nodes.runtime.clock import Clock
from nodes.runtime.rows import read_all, space
from state.approval import Approval
from state.event import Event, EventKind, check_data
from state.text import Json

Writer = Callable[[Json], None]
PAGE = 500
"""Rows read from the Store at once."""
CAN_WAIT: frozenset[EventKind] = frozenset({"task_started"})
"""Kinds that are written with the next event, or after a moment: a kill before that loses what is told again anyway."""
MOMENT_S = 0.02
"""That moment, in seconds."""


@dataclass
class _Told:
    """An event on its way to the Store; without a number until it is written."""

    event: Event
    also: Sequence[PutOp]
    value: Json = field(default_factory=dict)
    """The event as it is written."""
    is_done: bool = False
    error: BaseException | None = None


class Journal:
    """Events and board of one thread. One process writes at a time: the one that holds the thread's lease."""

    def __init__(self, store: BaseStore, thread_id: str, clock: Clock) -> None:
        self.store = store
        self.thread_id = thread_id
        self.clock = clock
        self.writer: Writer = lambda _: None
        self._seq: int | None = None
        self._told: list[_Told] = []
        self._writing: asyncio.Future[None] | None = None
        self._later: asyncio.TimerHandle | None = None

    async def emit(
        self,
        kind: EventKind,
        *,
        phase: str,
        task_id: str | None = None,
        agent: str | None = None,
        path: Sequence[str] | None = None,
        data: Json | None = None,
        also: Sequence[PutOp] = (),
    ) -> Event:
        """Number an event, store it together with the rows in `also`, and stream it. `path`: by default the agent.

        Of those that can wait (`CAN_WAIT`) none is written yet when this returns.

        Raises:
            ValueError: it does not tell what its kind tells (`state.event.FIELDS`).
        """
        check_data(kind, data or {})
        event = Event(
            seq=0,
            thread_id=self.thread_id,
            kind=kind,
            phase=phase,
            task_id=task_id,
            agent=agent,
            ts=self.clock.now(),
            path=list(path) if path is not None else [agent] if agent else [],
            data=data or {},
        )
        told = _Told(event, also)
        self._told.append(told)
        if kind in CAN_WAIT:
            self._later = self._later or asyncio.get_running_loop().call_later(MOMENT_S, self._begin_writing)
            return event
        while not told.is_done:
            await self._write_now()
        if told.error:
            raise told.error
        return told.event

    async def load(self) -> None:
        """Read the number of the last event with what else is read now, before anything is told; else that does."""
        self._seq = await read_last_seq(self.store, self.thread_id)

    async def flush(self) -> None:
        """Write what could wait."""
        while self._told or self._writing:
            await self._write_now()

    def _begin_writing(self) -> asyncio.Future[None]:
        if self._later:
            self._later.cancel()
            self._later = None
        self._writing = self._writing or asyncio.ensure_future(self._write())
        return self._writing

    async def _write_now(self) -> None:
        """Write all that was told until now, or wait for whoever does; who is cancelled leaves nothing half written."""
        await to_its_end(self._begin_writing())

    async def _write(self) -> None:
        """Number what was told, and write it in one transaction; whoever told it is told of a failure."""
        batch, self._told = self._told, []
        try:
            seq = await read_last_seq(self.store, self.thread_id) if self._seq is None else self._seq
            rows: list[PutOp] = []
            for told in batch:
                seq += 1
                told.event.seq = seq
                told.value = told.event.model_dump(mode="json")
                rows += [PutOp(space("events", self.thread_id), event_key(seq), told.value), *told.also]
            rows.append(PutOp(space("journal", self.thread_id), "head", {"seq": seq}))
            await self.store.abatch(rows)
            self._seq = seq
        except BaseException as error:  # noqa: BLE001 - it is raised where each was told
            self._seq = None
            for told in batch:
                told.error = error
        finally:
            self._writing = None
            for told in batch:
                told.is_done = True
        for told in batch:
            if not told.error:
                self.writer(told.value)

    def row(self, name: str, value: Json) -> PutOp:
        """A row of the board: `run`, or `task:ID`; those of nested supervisors are called `task:ID/PLACE/ID`."""
        return PutOp(space("board", self.thread_id), name, value)

    def kept(self, kind: str, key: str, value: Json | None) -> PutOp:
        """A row of any kind, among those of the outermost run; None deletes it."""
        return PutOp(space(kind, self.thread_id), key, value)

    async def wipe(self, *below: str) -> None:
        """Take off the board what nested supervisors have put below these places: `TASK/`, or `TASK/PLACE/`."""
        await self.flush()
        board = await read_board(self.store, self.thread_id) if below else {}
        places = tuple(f"task:{place}" for place in below)
        if names := [name for name in board if name.startswith(places)]:
            await self.store.abatch([PutOp(space("board", self.thread_id), name, None) for name in names])


async def read_events(store: BaseStore, thread_id: str, after: int = 0) -> list[Event]:
    """The events of a thread with a `seq` above `after`, in order."""
    place, found = space("events", thread_id), list[Event]()
    last = await read_last_seq(store, thread_id)
    for first in range(after + 1, last + 1, PAGE):
        ops: list[Op] = [GetOp(place, event_key(seq)) for seq in range(first, min(first + PAGE, last + 1))]
        rows = await store.abatch(ops)
        found += [Event.model_validate(row.value) for row in rows if isinstance(row, Item)]
    return found


async def read_last_seq(store: BaseStore, thread_id: str) -> int:
    """The `seq` of a thread's last event, 0 without any: written with it, and read in no time."""
    item = await store.aget(space("journal", thread_id), "head")
    return int(item.value["seq"]) if item else 0


async def read_board(store: BaseStore, thread_id: str) -> dict[str, Json]:
    """The rows of the board, by name."""
    return {item.key: item.value for item in await read_all(store, space("board", thread_id))}


async def phase_on_board(store: BaseStore, thread_id: str) -> str:
    """The phase that a run has entered last; empty before it has any."""
    row = await store.aget(space("board", thread_id), "run")
    return str(row.value["phase"]) if row else ""


def asked_on(board: Mapping[str, Json]) -> list[Approval]:
    """The questions that tasks on the board wait for; of a task that is parked on several, answered ones too.

    One of a nested supervisor stands there twice once the outer task waits for it as well; it is given once.
    """
    parked = (row for row in board.values() if row.get("status") == "parked")
    asked = (question for row in parked for question in cast(list[Json], row.get("approvals") or []))
    return list({str(question["id"]): Approval.model_validate(question) for question in asked}.values())


def asked_below(board: Mapping[str, Json]) -> list[Approval]:
    """Those of them that stand below a task: its nested supervisor is at work, or was stopped."""
    return asked_on({name: row for name, row in board.items() if "/" in name})


def event_key(seq: int) -> str:
    """The key of an event: sorts by number."""
    return f"{seq:012d}"
