"""Where a run is."""

from enum import StrEnum


class Phase(StrEnum):
    """Phases in their order, then the ends that are not `complete`."""

    decomposing = "decomposing"
    routing = "routing"
    executing = "executing"
    reviewing = "reviewing"
    assembling = "assembling"
    complete = "complete"
    failed = "failed"
    cancelled = "cancelled"
    handed_over = "handed_over"


ENDS = frozenset({Phase.complete, Phase.failed, Phase.cancelled})
"""A run in one of these is over; input on its thread starts a new run."""
