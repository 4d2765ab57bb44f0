"""The audit log of a thread: what humans were asked and what was decided, append-only, in the Store.

It is never cleared, also when a new run starts on the thread. One process writes at a time: the one that holds the
thread's lease.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.store.base import BaseStore, PutOp

from nodes.policy.chain import break_in, sealed
from nodes.runtime.rows import read_all, space
from state.approval import Approval, Decision
from state.audit import Entry, EntryKind

_HEAD = "head"


class Audit:
    """Writes to the log of one thread."""

    def __init__(self, store: BaseStore, thread_id: str) -> None:
        self._store = store
        self._log = space("audit", thread_id)
        self._heads = space("audit_head", thread_id)
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def sealing(self, entry: Entry) -> AsyncIterator[list[PutOp]]:
        """The rows that append `entry`, to be written inside with what they record; nobody else appends meanwhile."""
        async with self._lock:
            count, last = await _head(self._store, self._heads)
            made = sealed(entry, count + 1, last)
            yield [
                PutOp(self._log, f"{made.number:012d}", made.model_dump(mode="json")),
                PutOp(self._heads, _HEAD, {"count": made.number, "seal": made.seal}),
            ]


def entry_of(kind: EntryKind, approval: Approval, at: float, decision: Decision | None = None) -> Entry:
    """What is written about a question, or about the answer to it."""
    return Entry(
        at=at,
        kind=kind,
        approval=approval.id,
        task_id=approval.task_id,
        agent=approval.agent,
        path=approval.path,
        action=approval.action,
        risk=approval.risk,
        reason=approval.reason,
        args=approval.args,
        args_after=decision.args if decision and decision.type == "edit" else None,
        decision=decision.type if decision else "",
        by=decision.by if decision else "",
        door=decision.door if decision else "",
        message=decision.message if decision else "",
        expires_at=approval.expires_at,
    )


async def read_audit(store: BaseStore, thread_id: str) -> tuple[list[Entry], str]:
    """The log in the order of its keys, and where its chain is broken (see `break_in`); empty if it holds."""
    rows = await read_all(store, space("audit", thread_id))
    count, last = await _head(store, space("audit_head", thread_id))
    entries = [Entry.model_validate(row.value) for row in rows]
    return entries, break_in(entries, count, last)


async def _head(store: BaseStore, place: tuple[str, ...]) -> tuple[int, str]:
    item = await store.aget(place, _HEAD)
    return (int(item.value["count"]), str(item.value["seal"])) if item else (0, "")
