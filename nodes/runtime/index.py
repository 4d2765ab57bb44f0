"""The index of runs: one row for the last run of each thread, and which of them have ended.

That a run has ended is noted by who sees it in the checkpoint, not by the node that ends it: a process that dies
between that node and its checkpoint leaves a run that is to be taken up again, and must be found.
"""

from dataclasses import dataclass

from langgraph.store.base import BaseStore, PutOp

from nodes.runtime.rows import read_each

_RUNS = ("runs",)
_ENDED = ("ended",)


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
