"""Model calls inside agents that bring their own models: room is reserved before each, and settled after it.

A LangChain callback handler, which reaches every chat model below the agent; one that finds no room fails its call.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from nodes.agents.job import Job
from nodes.llm.ask import usage_of
from nodes.runtime.nesting import Room
from state.usage import Usage


class Metered(AsyncCallbackHandler):
    """For one try of one agent."""

    raise_error = True
    """Having no room for a call has to stop the call."""

    def __init__(self, job: Job) -> None:
        self.used = Usage()
        self._job = job
        self._loop = asyncio.get_running_loop()
        self._open: dict[UUID, tuple[AsyncExitStack, Room]] = {}

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain's signature
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Reserve; AgentFailed of class `limit` when there is no room."""
        size = sum(len(str(message.text)) for batch in messages for message in batch)
        await self._here(self._begin(run_id, size))

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Settle."""
        made = response.generations[0][0] if response.generations and response.generations[0] else None
        message = made.message if isinstance(made, ChatGeneration) else None
        used = usage_of(message) if isinstance(message, AIMessage) else Usage(calls=1)
        await self._here(self._end(run_id, used))

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Give the room back."""
        await self._here(self._end(run_id, None))

    async def close(self) -> None:
        """Give back what calls that were cut off had reserved."""
        for run_id in list(self._open):
            await self._end(run_id, None)

    async def _begin(self, run_id: UUID, size: int) -> None:
        stack = AsyncExitStack()
        room = await stack.enter_async_context(
            self._job.floor.meter.call(self._job.ledger_task, self._job.spec.name, size)
        )
        self._open[run_id] = (stack, room)

    async def _end(self, run_id: UUID, used: Usage | None) -> None:
        if found := self._open.pop(run_id, None):
            stack, room = found
            room.used = used
            self.used += used or Usage(calls=1)
            await stack.aclose()

    async def _here(self, work: Coroutine[Any, Any, None]) -> None:
        """Run on the run's own loop: a model that is called without `await` reports from another thread."""
        if asyncio.get_running_loop() is self._loop:
            await work
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
