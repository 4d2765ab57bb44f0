"""Model calls inside agents that bring their own models: room is reserved before each, and settled after it.

One for which the agent's own limits or the run's budget have no room fails.
"""

from contextlib import AsyncExitStack
from uuid import UUID

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from nodes.agents.hearing import Call, Hearing, ModelCall
from nodes.agents.job import Job
from nodes.llm.ask import usage_of
from nodes.policy.limits import exceeded
from nodes.runtime.nesting import Room
from state.errors import AgentFailed
from state.usage import Usage


class Metered(Hearing):
    """For one try of one agent."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.used = Usage()
        self._job = job
        self._open: dict[UUID, tuple[AsyncExitStack, Room]] = {}
        self._unreserved: set[UUID] = set()
        """Calls that were made at once, until they are settled."""

    async def begins(self, call: Call) -> None:
        """Reserve; AgentFailed of class `limit` when there is no room."""
        if isinstance(call, ModelCall):
            self._check_limits()
            stack, job = AsyncExitStack(), self._job
            reserving = job.floor.meter.call(job.ledger_task, job.spec.name, call.size)
            self._open[call.id] = (stack, await stack.enter_async_context(reserving))

    def begins_at_once(self, call: Call) -> None:
        """Nothing is reserved, because room could not be waited for."""
        if isinstance(call, ModelCall):
            self._check_limits()
            floor = self._job.floor
            asked = Usage(calls=len(self._unreserved) + 1)
            if why := floor.meter.exhausted or exceeded(floor.run.policy, floor.meter.total, asked):
                raise AgentFailed(why, "limit")
            self._unreserved.add(call.id)

    async def ended(self, call_id: UUID, made: object) -> None:
        """Settle, or give the room back."""
        used = _used(made) if isinstance(made, LLMResult) else None
        if call_id in self._unreserved:
            self._unreserved.discard(call_id)
            self.used += used or Usage(calls=1)
            await self._job.floor.meter.settle(self._job.ledger_task, self._job.spec.name, used or Usage(calls=1))
        elif found := self._open.pop(call_id, None):
            stack, room = found
            room.used = used
            self.used += used or Usage(calls=1)
            await stack.aclose()

    async def close(self) -> None:
        """Give back what calls that were cut off had reserved."""
        for call_id in list(self._open):
            await self.ended(call_id, None)
        await super().close()

    def _check_limits(self) -> None:
        limits = self._job.spec.limits
        if self.used.calls + len(self._open) + len(self._unreserved) >= limits.iterations:
            raise AgentFailed(f"it reached its limit of {limits.iterations} model calls", "limit")
        if limits.tokens is not None and self.used.total_tokens >= limits.tokens:
            raise AgentFailed(f"it reached its limit of {limits.tokens} tokens", "limit")


def _used(made: LLMResult) -> Usage:
    first = made.generations[0][0] if made.generations and made.generations[0] else None
    message = first.message if isinstance(first, ChatGeneration) else None
    return usage_of(message) if isinstance(message, AIMessage) else Usage(calls=1)
