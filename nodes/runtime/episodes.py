"""The memory of runs: one row of the Store for each, under `episodes`, THREAD, written with what ends the run.

Episodes outlive their threads: `baton prune` leaves them alone, `baton history --forget` does not.
"""

import asyncio
from collections.abc import Iterable

from langgraph.store.base import BaseStore, Item, PutOp
from pydantic import ValidationError

from nodes.policy.advice import Proposal, advise
from nodes.policy.episodes import KEPT_EPISODES, LOOKED_AT, record_of
from nodes.policy.request_shape import shape_of
from nodes.policy.routing import NO_RECORD, Record
from nodes.runtime.context import RunContext
from nodes.runtime.rows import MOST, read_all, space
from state.episode import Episode

_KIND = "episodes"


def episode_row(episode: Episode) -> PutOp:
    """The row of a run; the same one when it is made again."""
    value = episode.model_dump(mode="json", exclude_defaults=True)
    return PutOp(space(_KIND, episode.thread_id), repr(episode.started_at), value)


async def read_episodes(store: BaseStore, limit: int = MOST) -> list[Episode]:
    """The last that are remembered, newest first; what cannot be read is left out."""
    return _read(await store.asearch((_KIND,), limit=limit))


def _read(items: Iterable[Item]) -> list[Episode]:
    found = []
    for item in items:
        try:
            found.append(Episode.model_validate(item.value))
        except ValidationError:
            continue
    return sorted(found, key=lambda episode: (-episode.finished_at, episode.thread_id))


async def outlived(store: BaseStore) -> list[PutOp]:
    """What forgets, once it is written, the oldest where one more than the newest are kept would be there."""
    gone = await store.asearch((_KIND,), offset=KEPT_EPISODES - 1, limit=MOST)
    return [PutOp(row.namespace, row.key, None) for row in gone]


async def forget_episodes(store: BaseStore, thread_id: str) -> int:
    """Forget the runs of a thread; how many there were."""
    rows = await read_all(store, space(_KIND, thread_id))
    if rows:
        await store.abatch([PutOp(space(_KIND, thread_id), row.key, None) for row in rows])
    return len(rows)


async def advised(store: BaseStore, request: str) -> Proposal | None:
    """What earlier runs say of how the request is to be done.

    Read are those that ask for the same deed, as the Store finds them, and those of earlier versions, which do not say.
    """
    wanted = [shape_of(request).asks, None]
    found = [await store.asearch((_KIND,), filter={"asks": {"$eq": asks}}, limit=LOOKED_AT) for asks in wanted]
    items = [item for items in found for item in items]
    return await asyncio.to_thread(lambda: advise(request, _read(items))) if items else None


async def earned(run: RunContext) -> Record:
    """What the team's agents have earned, where it may move who does what; nobody is looked up who is alone."""
    is_apart = run.outer or run.by_hand
    if run.policy.learning != "apply" or is_apart or len(run.services.team.specs) < 2:
        return NO_RECORD
    return record_of(await read_episodes(run.store, LOOKED_AT))
