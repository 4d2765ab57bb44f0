"""Moving the runs of an SQLite file into PostgreSQL: checkpoints and rows are read by the one and written by the other.

Begun again after it broke off, it goes on: what is there already is written over by the same.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from graph.address import Address
from graph.database import Database, open_database
from graph.sqlite.database import SqliteDatabase, open_file
from nodes.runtime.clock import SystemClock
from nodes.runtime.rows import copy_rows
from state.errors import BadInput


@dataclass(frozen=True)
class Moved:
    """What was moved."""

    threads: int
    """Those below others, of their nested graphs, are counted too."""
    checkpoints: int
    rows: int


async def move(source: Path, address: Address) -> Moved:
    """Copy every thread and every row of a file into another database; the file stays as it is.

    Raises:
        BadInput: the target is a file, a run of the source is at work, or a thread of the target has gone on since.
        DatabaseUnusable: one of them cannot be opened.
    """
    if isinstance(address, Path):
        raise BadInput(f"runs are moved to PostgreSQL, and {address} is a file; a file can be copied while nobody runs")
    if not await asyncio.to_thread(source.is_file):
        raise BadInput(f"there is no file {source} to move runs from")
    async with open_file(source, read_only=True) as old, open_database(address) as new:
        threads = await _threads(old)
        await _check(old, new, threads)
        checkpoints = 0
        for thread_id in threads:
            for found in await _history(old.checkpointer, thread_id):
                await _put(new.checkpointer, found)
                checkpoints += 1
        return Moved(len(threads), checkpoints, await copy_rows(old.store, new.store))


async def _threads(old: SqliteDatabase) -> list[str]:
    asking = old.connection.sqlite.execute
    found = await old.connection.do(lambda: asking("SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1").fetchall())
    return [str(thread_id) for (thread_id,) in found]


async def _check(old: SqliteDatabase, new: Database, threads: Sequence[str]) -> None:
    """Refuse before anything is written."""
    leases = old.leases(SystemClock())
    for thread_id in threads:
        holder = await leases.holder(thread_id)
        if holder is not None and holder.is_running:
            raise BadInput(f"thread {thread_id} is being run by process {holder.pid} on {holder.host}; stop it first")
        there = await _last(new.checkpointer, thread_id)
        if there is not None and there not in {_id(found) for found in await _history(old.checkpointer, thread_id)}:
            raise BadInput(f"thread {thread_id} is in {new.address} already, and has gone on there")


async def _history(saver: BaseCheckpointSaver[str], thread_id: str) -> list[CheckpointTuple]:
    """The checkpoints of a thread, in every namespace, oldest first."""
    return [found async for found in saver.alist({"configurable": {"thread_id": thread_id}})][::-1]


async def _last(saver: BaseCheckpointSaver[str], thread_id: str) -> str | None:
    found = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    return _id(found) if found else None


def _id(found: CheckpointTuple) -> str:
    return str(found.config["configurable"]["checkpoint_id"])


async def _put(saver: BaseCheckpointSaver[str], found: CheckpointTuple) -> None:
    where = found.config["configurable"]
    parent = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
    place: Any = {"thread_id": where["thread_id"], "checkpoint_ns": where["checkpoint_ns"], "checkpoint_id": parent}
    kept = await saver.aput(
        {"configurable": place}, found.checkpoint, found.metadata, found.checkpoint["channel_versions"]
    )
    by_step: dict[str, list[tuple[str, Any]]] = {}
    for step, channel, value in found.pending_writes or []:
        by_step.setdefault(step, []).append((channel, value))
    for step, writes in by_step.items():
        await saver.aput_writes(kept, writes, step)
