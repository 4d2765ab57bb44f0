"""Every namespace that Baton uses in the Store, reading and clearing them; the ledger of a run, and the index of runs.

LangGraph's Store refuses a period in a namespace and sorts a search by time of change, not by key: hence the
quoting, and `read_all`, which reads everything below one namespace in the order of its keys.

The index has one row for the last run of each thread. That a run has ended is noted by who sees it in the
checkpoint, not by the node that ends it: a process that dies between that node and its checkpoint leaves a run that
is to be taken up again, and must be found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from langgraph.store.base import BaseStore, Item, PutOp, SearchOp

from state.record import Usage

Namespace = tuple[str, ...]
MOST = 1_000_000
"""Rows a namespace is read up to."""

Lifetime = Literal["run", "thread", "always"]
"""How long rows are kept: until the next run starts on their thread, with the thread, or whatever becomes of it."""

KINDS: dict[str, Lifetime] = {
    "approvals": "run",
    "audit": "thread",
    "audit_head": "thread",
    "board": "run",
    "control": "run",
    "decisions": "run",
    "delegations": "run",
    "effects": "run",
    "events": "thread",
    "hand_backs": "run",
    "journal": "thread",
    "launches": "thread",
    "leases": "always",
    "ledger": "run",
    "mail": "run",
    "nested": "run",
    "outcomes": "thread",
    "recruits": "run",
    "retired": "run",
    "signal_log": "thread",
    "signals": "run",
    "told": "run",
    "trust": "always",
}
"""Every kind of row that stands in a namespace of its own. To add one, list it here: `space` refuses any other, and
`clear` forgets what belongs to a run. (The outcomes of a thread are told apart by the step that wrote them.)"""


def space(kind: str, owner: str) -> Namespace:
    """The namespace for rows of one kind (`events`, `board`, `outcomes` …) of one thread; `trust` is of an agent.

    Raises:
        ValueError: `KINDS` does not have the kind, so nobody could say when its rows are forgotten.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind of row called {kind!r}; list it in KINDS with how long it is kept")
    return (kind, owner.replace("%", "%25").replace(".", "%2E") or "%")


async def read_all(store: BaseStore, namespace: Namespace) -> list[Item]:
    """Every row directly in a namespace, in the order of its keys."""
    return (await read_each(store, [namespace]))[0]


async def read_each(store: BaseStore, namespaces: Sequence[Namespace]) -> list[list[Item]]:
    """Every row directly in each namespace, in the order of its keys; all in one transaction."""
    pages = await store.abatch([SearchOp(namespace, limit=MOST) for namespace in namespaces])
    return [
        sorted((item for item in cast(list[Item], page) if tuple(item.namespace) == namespace), key=lambda i: i.key)
        for namespace, page in zip(namespaces, pages, strict=True)
    ]


RUN = "run"
"""The ledger's row for the whole run; the others are `task:ID` and `agent:NAME`."""


async def read_ledger(store: BaseStore, thread_id: str) -> dict[str, Usage]:
    """The ledger of a run: `run`, and one row for each task and agent."""
    items = await read_all(store, space("ledger", thread_id))
    return {item.key: Usage.model_validate(item.value) for item in items}


_RUNS = ("runs",)
_ENDED = ("ended",)
OURS = frozenset({*KINDS, *_RUNS, *_ENDED})
"""What Baton's namespaces begin with."""


@dataclass(frozen=True)
class Listed:
    """One row of the index."""

    thread_id: str
    started_at: float
    door: str
    """The way it came, where that was a server; empty otherwise."""
    is_open: bool
    """Whether nobody has seen its end."""


def listing(thread_id: str, query: str, started_at: float, door: str = "") -> list[PutOp]:
    """The rows that list a run which starts now, instead of the one before on its thread."""
    row = {"query": query, "started_at": started_at, **({"door": door} if door else {})}
    return [PutOp(_RUNS, thread_id, row), PutOp(_ENDED, thread_id, None)]


async def note_end(store: BaseStore, thread_id: str, started_at: float, status: str, finished_at: float) -> None:
    """Keep that the run which started then is over: it is not looked at again where only open ones matter."""
    await store.aput(_ENDED, thread_id, {"started_at": started_at, "status": status, "finished_at": finished_at})


async def read_index(store: BaseStore) -> list[Listed]:
    """Every row, newest first. One that another run has replaced in the meantime is open again."""
    runs, ended = await read_each(store, [_RUNS, _ENDED])
    ends = {row.key: row.value["started_at"] for row in ended}
    found = [
        Listed(
            thread_id=row.key,
            started_at=row.value.get("started_at") or 0.0,
            door=row.value.get("door", ""),
            is_open=row.key not in ends or ends[row.key] != row.value.get("started_at"),
        )
        for row in runs
    ]
    return sorted(found, key=lambda listed: -listed.started_at)


async def clear(store: BaseStore, thread_id: str) -> None:
    """Forget what belonged to the last run of a thread."""
    places = [space(kind, thread_id) for kind, lifetime in KINDS.items() if lifetime == "run"]
    pages = await read_each(store, places)
    rows = [PutOp(place, row.key, None) for place, page in zip(places, pages, strict=True) for row in page]
    if rows:
        await store.abatch(rows)
