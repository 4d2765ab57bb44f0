"""Every namespace that Baton uses in the Store, reading and clearing them; the ledger of a run, and the index of runs.

LangGraph's Store refuses a period in a namespace and sorts a search by time of change, not by key: hence the
quoting, and `read_all`, which reads everything below one namespace in the order of its keys.

The index has one row for the last run of each thread, and one more while it is open. That a run has ended is noted by
who sees it in the checkpoint, not by the node that ends it: a process that dies between that node and its checkpoint
leaves a run that is to be taken up again, and must be found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp, SearchOp
from pydantic import JsonValue

from state.record import Usage

Namespace = tuple[str, ...]
MOST = 1_000_000
"""Rows a namespace is read up to."""

REQUEST = "request"
"""The key of what waits for a worker, in `requests` until it has begun and in `queued` for as long as its thread."""

Lifetime = Literal["steps", "run", "thread", "always"]
"""How long rows are kept: until their run ends, or the next starts on their thread, with the thread, or for ever."""

KINDS: dict[str, Lifetime] = {
    "approvals": "run",
    "attempts": "run",
    "audit": "thread",
    "audit_head": "thread",
    "board": "run",
    "control": "run",
    "decisions": "run",
    "delegations": "run",
    "effects": "run",
    "episodes": "always",
    "events": "thread",
    "hand_backs": "run",
    "journal": "thread",
    "launches": "thread",
    "leases": "always",
    "ledger": "run",
    "mail": "run",
    "nested": "run",
    "outcomes": "steps",
    "queued": "thread",
    "recruits": "run",
    "requests": "run",
    "retired": "run",
    "servers": "always",
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
    return (kind, _quoted(owner))


def _quoted(owner: str) -> str:
    return owner.replace("%", "%25").replace(".", "%2E") or "%"


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


RUN, OWN = "run", "own"
"""The ledger's rows for the run, and for the supervisor's own calls in it; the others are `task:ID`, `agent:NAME`."""
SUPERVISOR = "supervisor"
"""Who makes the supervisor's own calls, as people are told, and on the ledger of one around it."""


async def read_ledger(store: BaseStore, thread_id: str) -> dict[str, Usage]:
    """The ledger of a run: `run`, `own`, and one row for each task and agent."""
    items = await read_all(store, space("ledger", thread_id))
    return {item.key: Usage.model_validate(item.value) for item in items}


def used_by(ledger: Mapping[str, Usage]) -> dict[str, Usage]:
    """What agents have used, by name, and the supervisor's own calls."""
    found = {row.removeprefix("agent:"): used for row, used in ledger.items() if row.startswith("agent:")}
    own = ledger.get(OWN, Usage()) + found.pop(SUPERVISOR, Usage())
    return found | ({SUPERVISOR: own} if own else {})


_RUNS = ("runs",)
_ENDED = ("ended",)
_OPEN = ("open",)
_INDEX = ("index",)
_ALL: Namespace = ()
OURS = frozenset({*KINDS, *_RUNS, *_ENDED, *_OPEN, *_INDEX})
"""What Baton's namespaces begin with."""


@dataclass(frozen=True)
class Listed:
    """One row of the index."""

    thread_id: str
    started_at: float
    door: str
    """The way it came, where that was a server; empty otherwise."""


@dataclass(frozen=True)
class Ended:
    """How a run came to its end."""

    thread_id: str
    started_at: float
    finished_at: float
    status: str


async def list_run(store: BaseStore, thread_id: str, query: str, started_at: float) -> None:
    """List a run that starts now, as open, instead of the one before on its thread."""
    await store.abatch(await listing(store, thread_id, query, started_at))


async def listing(store: BaseStore, thread_id: str, query: str, started_at: float, door: str = "") -> list[PutOp]:
    """What lists a run, once it is written."""
    row: dict[str, JsonValue] = {"query": query, "started_at": started_at, **({"door": door} if door else {})}
    before = await read_all(store, _open_of(thread_id))
    return [
        PutOp(_RUNS, thread_id, row),
        PutOp(_ENDED, thread_id, None),
        *(PutOp(_open_of(thread_id), item.key, None) for item in before if item.key != repr(started_at)),
        _opened(thread_id, row),
    ]


def _open_of(thread_id: str) -> Namespace:
    return (*_OPEN, _quoted(thread_id))


def _opened(thread_id: str, row: Mapping[str, object]) -> PutOp:
    """The row of an open run. Its key is when it started: noting the end of the one before leaves it alone."""
    kept = {"thread_id": thread_id, "started_at": row.get("started_at") or 0.0, "door": row.get("door", "")}
    return PutOp(_open_of(thread_id), repr(kept["started_at"]), kept)


async def note_end(store: BaseStore, thread_id: str, started_at: float, status: str, finished_at: float) -> None:
    """Keep that the run which started then is over: it is not looked at again where only open ones matter."""
    ended: dict[str, JsonValue] = {"started_at": started_at, "status": status, "finished_at": finished_at}
    await store.abatch(
        [PutOp(_ENDED, thread_id, ended), PutOp(_open_of(thread_id), repr(started_at), None)],
    )


async def read_open(store: BaseStore) -> list[Listed]:
    """The open runs, newest first. It takes no longer for those that have ended."""
    marked, rows = await store.abatch([GetOp(_INDEX, "open"), SearchOp(_OPEN, limit=MOST)])
    listed = [_listed(row) for row in cast(list[Item], rows)] if marked else await _open_all(store)
    found = {row.thread_id: row for row in sorted(listed, key=lambda row: row.started_at)}
    return sorted(found.values(), key=lambda row: -row.started_at)


async def read_index(store: BaseStore, limit: int = MOST, offset: int = 0) -> list[Listed]:
    """The last run of each thread, open or not, newest first; `limit` of them after the first `offset`."""
    (page,) = await store.abatch([SearchOp(_RUNS, limit=limit, offset=offset)])
    return sorted(map(_listed, cast(list[Item], page)), key=lambda listed: -listed.started_at)


async def read_ended(store: BaseStore) -> list[Ended]:
    """The last runs of threads whose end somebody has seen, in no order."""
    return [
        Ended(row.key, row.value["started_at"], row.value["finished_at"], row.value["status"])
        for row in await read_all(store, _ENDED)
        if {"started_at", "finished_at", "status"} <= row.value.keys()
    ]


def _listed(row: Item) -> Listed:
    """A row as it is, or as much of it as can be read: the thread is looked at all the same."""
    at = row.value.get("started_at")
    return Listed(
        thread_id=str(row.value.get("thread_id", row.key)),
        started_at=float(at) if isinstance(at, int | float) else 0.0,
        door=str(row.value.get("door", "")),
    )


async def _open_all(store: BaseStore) -> list[Listed]:
    """List as open what is not known to have ended: in a file of the version before, that was done by every look."""
    runs, ended = await read_each(store, [_RUNS, _ENDED])
    ends = {row.key: row.value.get("started_at") for row in ended}
    still = [row for row in runs if ends.get(row.key, "") != row.value.get("started_at")]
    await store.abatch([*(_opened(row.key, row.value) for row in still), PutOp(_INDEX, "open", {"since": 1})])
    return [_listed(row) for row in still]


def places_of_steps(thread_id: str) -> list[Namespace]:
    """Where that is kept which nobody needs once the run has ended."""
    return [space(kind, thread_id) for kind, lifetime in KINDS.items() if lifetime == "steps"]


def places_of(thread_id: str, *, with_audit: bool) -> list[Namespace]:
    """Where everything of a thread is kept; without the record of what humans decided, unless it is asked for."""
    kinds = [kind for kind, lifetime in KINDS.items() if lifetime != "always"]
    return [space(kind, thread_id) for kind in kinds if with_audit or not kind.startswith("audit")]


def listed_at(run: Listed) -> list[tuple[Namespace, str]]:
    """Where the index has a run: namespace and key."""
    key = run.thread_id
    return [(_RUNS, key), (_ENDED, key), (_open_of(key), repr(run.started_at))]


def places_of_request(thread_id: str, queued_at: float) -> list[tuple[Namespace, str]]:
    """Where a request stands that waits for a worker: namespace and key."""
    own = [(space(kind, thread_id), REQUEST) for kind in ("requests", "queued")]
    return [*own, *listed_at(Listed(thread_id, queued_at, ""))]


COPIED_AT_ONCE = 500
_STAYS = frozenset({"leases"})
"""Who holds what in one database says nothing of another."""


async def copy_rows(old: BaseStore, new: BaseStore) -> int:
    """Write every row of one Store into another, clients' own too; how many they are."""
    (page,) = await old.abatch([SearchOp(_ALL, limit=MOST)])
    rows = [row for row in cast(list[Item], page) if row.namespace[0] not in _STAYS]
    for first in range(0, len(rows), COPIED_AT_ONCE):
        some = rows[first : first + COPIED_AT_ONCE]
        await new.abatch([PutOp(row.namespace, row.key, row.value) for row in some])
    return len(rows)


async def clearing(store: BaseStore, thread_id: str) -> list[PutOp]:
    """What forgets, once it is written, what belonged to the last run of a thread."""
    places = [space(kind, thread_id) for kind, lifetime in KINDS.items() if lifetime == "run"]
    pages = await read_each(store, places)
    return [PutOp(place, row.key, None) for place, page in zip(places, pages, strict=True) for row in page]
