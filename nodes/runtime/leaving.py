"""How an agent's work ends where it stands, without a result: raised through whatever the agent itself may catch."""

from collections.abc import Sequence

from pydantic import JsonValue

from state.approval import Approval


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
