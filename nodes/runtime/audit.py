"""The audit log of a thread: what humans were asked, what was decided and done by them, append-only, in the Store.

It is never cleared, also when a new run starts on the thread. One process writes at a time: the one that holds the
thread's lease. A decision counts only with its record here (`decided`): a row that somebody puts into the Store, or
into the state, is no answer.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from langgraph.store.base import BaseStore, Item, PutOp
from pydantic import BaseModel, ConfigDict

from nodes.policy.audit_chain import Sealer, answers_on_record, break_in, unknown_to, unrecorded
from nodes.runtime.rows import Namespace, read_all, read_each, space
from state.approval import Approval, Decision, Entry, EntryKind
from state.channels import RunState, terms_of
from state.signal import Decide, Signal
from state.text import Json

_HEAD = "head"
_Row = tuple[str, dict[str, Any]]
"""Key and value."""


class _Head(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = 0
    seal: str = ""


class Witness(Protocol):
    """Keeps the head of each log as it grows, outside the database: who writes that anew does not write this anew."""

    async def note(self, thread_id: str, number: int, seal: str, at: float) -> None:
        """Keep the number and the seal of the last record; it may fail, and says so itself."""

    def noted(self, thread_id: str) -> Collection[tuple[int, str]]:
        """What was kept of a thread, where it can be read again."""


class NoWitness:
    """Keeps nothing."""

    async def note(self, thread_id: str, number: int, seal: str, at: float) -> None:
        """Nothing."""

    def noted(self, thread_id: str) -> Collection[tuple[int, str]]:  # noqa: ARG002 - the protocol's
        """Nothing."""
        return ()


@dataclass(frozen=True)
class Seals:
    """How the audit logs of a database are sealed."""

    key: bytes = field(default=b"", repr=False)
    """Empty: without one."""
    witness: Witness = field(default_factory=NoWitness)

    def of(self, thread_id: str) -> Sealer:
        """What seals the log of a thread."""
        return Sealer(thread_id, self.key)


class Audit:
    """Writes to the log of one thread."""

    def __init__(self, store: BaseStore, thread_id: str, seals: Seals) -> None:
        self._store = store
        self._thread_id = thread_id
        self._seals = seals
        self._log = space("audit", thread_id)
        self._heads = space("audit_head", thread_id)
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def sealing(self, entry: Entry) -> AsyncIterator[list[PutOp]]:
        """The rows that append `entry`, to be written inside with what they record; nobody else appends meanwhile."""
        async with self._lock:
            head = await self._last()
            made = self._seals.of(self._thread_id).sealed(entry, head.count + 1, head.seal)
            yield [
                PutOp(self._log, f"{made.number:012d}", made.model_dump(mode="json")),
                PutOp(self._heads, _HEAD, _Head(count=made.number, seal=made.seal).model_dump()),
            ]
            await self._seals.witness.note(self._thread_id, made.number, made.seal, made.at)

    async def count(self) -> int:
        """How many records there are."""
        head, rows = await asyncio.gather(_head(self._store, self._heads), _rows(self._store, self._log))
        return head.count if head and head.count else _end(rows).count

    async def _last(self) -> _Head:
        head = await _head(self._store, self._heads)
        if head is None or not head.count:  # it may have been taken away: nothing that is there is written over
            head = _end(await _rows(self._store, self._log))
        return head


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


def steered(signal: Signal, at: float) -> Entry:
    """What is written about a signal of a human that changed a run; answers have records of their own."""
    said = signal.model_dump(mode="json", exclude={"kind", "by", "door", "reason", "text"}, exclude_defaults=True)
    return Entry(
        at=at,
        kind="steered",
        approval=signal.approval if isinstance(signal, Decide) else "",
        action=signal.kind,
        by=signal.by,
        door=signal.door or "signal",
        message=str(getattr(signal, "text", "") or getattr(signal, "reason", "")),
        args=said,
    )


async def decided(store: BaseStore, thread_id: str, state: RunState, seals: Seals) -> dict[str, Json]:
    """The answers of a run that count, by question: rows of the Store, and what its state has, that are on record."""
    kept = await read_all(store, space("decisions", thread_id))
    found = {**{row.key: row.value for row in kept}, **(state.get("decisions") or {})}
    if not found:
        return {}
    logged = [_entry(value) for _, value in await _rows(store, space("audit", thread_id))]
    since = terms_of(state).audited.get(thread_id, 0)
    on_record = answers_on_record([entry for entry in logged if entry], since, seals.of(thread_id))
    return {key: value for key, value in found.items() if key in on_record and _is_record_of(on_record[key], value)}


def _is_record_of(entry: Entry, value: Json) -> bool:
    try:
        said = Decision.model_validate_json(Decision.model_validate(value).model_dump_json())
    except ValueError:
        return False
    args = said.args if said.type == "edit" else None
    return (entry.decision, entry.by, entry.args_after) == (said.type, said.by, args)


async def read_audit(
    store: BaseStore, thread_id: str, seals: Seals, decided: Collection[str] = ()
) -> tuple[list[Entry], str]:
    """What can be read of the log, in the order of its keys, and where it is broken; empty if it holds.

    It must have what is kept of the latest run elsewhere: its questions, and their answers. `decided`: the questions of
    which an answer is known from another place than the Store.
    """
    noted = seals.witness.noted(thread_id)  # first: it grows after the log does
    head, (rows, asked, answered) = await _settled(store, thread_id)
    read = [(number, _entry(row.value)) for number, row in enumerate(rows, 1)]
    entries = [entry for _, entry in read if entry]
    unread = [f"record {number} cannot be read: it was changed" for number, entry in read if entry is None]
    if head is None:
        unread.append("the log's head cannot be read: it was changed")
    if unread or head is None:
        return entries, unread[0]
    since = {row.key: float(row.value.get("asked_at") or 0.0) for row in asked}
    kept = unrecorded(entries, since, {*decided, *(row.key for row in answered)})
    broken = break_in(entries, head.count, head.seal, seals.of(thread_id))
    return entries, broken or unknown_to(entries, noted) or kept


async def _settled(store: BaseStore, thread_id: str) -> tuple[_Head | None, list[list[Item]]]:
    """The log's head, its rows, and the questions and answers that are kept, at one moment: another may append."""
    heads = space("audit_head", thread_id)
    while True:
        head = await _head(store, heads)
        pages = await read_each(store, [space(kind, thread_id) for kind in ("audit", "approvals", "decisions")])
        if await _head(store, heads) == head:
            return head, pages


async def _head(store: BaseStore, place: Namespace) -> _Head | None:
    """How many were written, and the seal of the last; None where it cannot be read."""
    try:
        item = await store.aget(place, _HEAD)
        return _Head.model_validate(item.value) if item else _Head()
    except ValueError:
        return None


async def _rows(store: BaseStore, place: Namespace) -> list[_Row]:
    """Every row, in the order of its keys."""
    return [(row.key, row.value) for row in await read_all(store, place)]


def _end(rows: Sequence[_Row]) -> _Head:
    """The head as the last row has it."""
    if not rows:
        return _Head()
    key, value = rows[-1]
    return _Head(count=int(key) if key.isdecimal() else len(rows), seal=str(value.get("seal", "")))


def _entry(value: object) -> Entry | None:
    try:
        return Entry.model_validate(value)
    except ValueError:
        return None
