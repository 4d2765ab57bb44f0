"""Checkpoint ids sort by time, and the last one of a thread is where it goes on.

A process whose clock is behind that of the one before would write checkpoints that nobody ever reads: so ids made here
are above those that were read here.
"""

from langgraph.checkpoint.base import id as ids

FARTHEST = 1 << 59
"""Time of an id, in 100 ns since 1582: the year 3409. One beyond comes from no clock, and would spoil all others'."""


def keep_ids_above(checkpoint_id: str) -> None:
    """Make no id in this process, from now on, that sorts below this one.

    The last time that LangGraph has made an id of is private to it. Tried instead: giving a checkpoint another id when
    it is put; but LangGraph has named what is pending on it by then, and derives the ids of its tasks from it.
    """
    try:
        seen = ids.UUID(checkpoint_id)
    except ValueError:
        return
    if seen.version == 6 and seen.time < FARTHEST:
        last = vars(ids)["_last_v6_timestamp"]
        vars(ids)["_last_v6_timestamp"] = max(last or 0, seen.time)
