"""Which agents a run cannot do without: a process that lacks one of them must not go on with it."""

from collections.abc import Sequence

from nodes.policy.phases import is_routed
from state.record import FINAL, HUMAN, TaskRecord


def needed(records: Sequence[TaskRecord], team: Sequence[str]) -> list[str]:
    """The agents that what is unfinished was routed or handed to; all of `team` while something has nobody yet.

    `team`: the names the run was started with; none in runs that did not keep them, and nothing is known of those.
    """
    if not team:
        return []
    left = [record for record in records if record.status not in FINAL]
    if not records or not is_routed(left):
        return list(team)
    names = (name for record in left for name in (record.agent, record.outcome.agent if record.outcome else None))
    return [name for name in dict.fromkeys(names) if name and name != HUMAN]
