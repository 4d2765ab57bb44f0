"""How an agent's work ends where it stands, without a result: raised through whatever the agent itself may catch."""

from collections.abc import Awaitable, Iterator, Sequence
from typing import TypeVar

from langgraph.errors import GraphInterrupt
from pydantic import JsonValue

from state.approval import Approval

T = TypeVar("T")


class Parked(BaseException):
    """The agent's work ends here and starts again later: with answers to `approvals`, or after a pause."""

    def __init__(self, *approvals: Approval, conversation: Sequence[JsonValue] = ()) -> None:
        super().__init__(", ".join(approval.id for approval in approvals) or "paused")
        self.approvals = approvals
        self.conversation = conversation
        """Where the agent goes on from."""


class HandedOver(BaseException):
    """The agent's work ends here for good: another one finishes the task in its place."""

    def __init__(self, to: str, note: str) -> None:
        super().__init__(to)
        self.to = to
        self.note = note


async def ungrouped(work: Awaitable[T]) -> T:
    """What `work` returns; of what tasks of a group have raised at the same time, what matters most.

    Everything that is asked counts as one question; then comes handing over, then what is first.
    """
    try:
        return await work
    except BaseExceptionGroup as group:
        leaves = list(_leaves(group))
        parked = [one for one in leaves if isinstance(one, Parked)]
        if parked:
            asked = {approval.id: approval for one in parked for approval in one.approvals}
            raise Parked(*asked.values(), conversation=parked[0].conversation) from None
        weighty = (one for one in leaves if isinstance(one, GraphInterrupt | HandedOver))
        raise next(weighty, leaves[0]) from group


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one
