"""Answers on their way down: a decision sent to the outermost run reaches the nested supervisor that asked."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nodes.policy.asked import asked_by
from nodes.runtime.context import RunContext
from nodes.runtime.steering import Steering
from state.approval import Decision
from state.record import TaskRecord


@contextmanager
def reachable(run: RunContext, steering: Steering, records: Mapping[str, TaskRecord]) -> Iterator[None]:
    """While inside, the outer supervisor can hand answers down to this one; the outermost has nobody above it."""

    async def take(approval_id: str, decision: Decision) -> bool:
        if all(question.id != approval_id for question in asked_by(records.values())):
            return await steering.hand_down(approval_id, decision)
        if approval_id not in steering.decisions:
            await run.store.abatch([steering.decide(approval_id, decision)])
        return True

    if run.outer is None:
        yield
        return
    above = run.outer.steering.below
    above[run.outer.asks] = take
    try:
        yield
    finally:
        above.pop(run.outer.asks, None)
