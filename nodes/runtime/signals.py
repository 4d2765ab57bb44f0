"""The log of signals: anybody who can open the Store can send one; the run consumes them in order, each once.

A signal waits under `signals` until it is handled, and is kept under `signal_log` afterwards, with what came of it. The
move and its effect are one transaction, so a crash can neither lose a signal nor apply it twice.
"""

import asyncio
from collections.abc import Sequence
from itertools import count
from uuid import uuid4
from weakref import WeakValueDictionary

from langgraph.store.base import BaseStore, PutOp

from nodes.runtime.clock import Clock
from nodes.runtime.journal import Json
from nodes.runtime.rows import read_all, space
from state.signal import Signal

Waiting = tuple[str, Json]
"""A signal's key and its raw content, which may be malformed."""

_SENT = count(1)
"""Keeps signals apart, and in order, that one process sends at the same reading of its clock."""


class Bells:
    """One bell a thread: rung by a sender in this process, so that the run looks at once and not at its next poll."""

    def __init__(self) -> None:
        self._bells: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    def bell(self, thread_id: str) -> asyncio.Event:
        """The thread's bell; it exists as long as somebody holds it."""
        bell = self._bells.get(thread_id)
        if bell is None:
            bell = self._bells[thread_id] = asyncio.Event()
        return bell

    def ring(self, thread_id: str) -> None:
        """Wake whoever listens in this process, if anybody does."""
        if bell := self._bells.get(thread_id):
            bell.set()


async def send(store: BaseStore, thread_id: str, signal: Signal, clock: Clock) -> str:
    """Put a signal into the log; its key sorts by time. Returns the key."""
    key = f"{int(clock.now() * 1_000_000):017d}-{next(_SENT):06d}-{uuid4().hex[:12]}"
    await store.aput(space("signals", thread_id), key, signal.model_dump(mode="json"))
    return key


async def waiting(store: BaseStore, thread_id: str) -> list[Waiting]:
    """The signals nobody has handled yet, oldest first."""
    return [(item.key, item.value) for item in await read_all(store, space("signals", thread_id))]


def handled(thread_id: str, key: str, raw: Json, outcome: str, at: float) -> list[PutOp]:
    """The rows that move a signal to the log; to be written together with its effect."""
    entry: Json = {"signal": raw, "outcome": outcome, "at": at}
    return [PutOp(space("signals", thread_id), key, None), PutOp(space("signal_log", thread_id), key, entry)]


async def read_log(store: BaseStore, thread_id: str) -> Sequence[tuple[str, Json]]:
    """Every handled signal with what came of it, oldest first."""
    return [(item.key, item.value) for item in await read_all(store, space("signal_log", thread_id))]
