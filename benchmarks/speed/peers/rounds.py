"""A chat model that leads a plan by tool calls: each time it is asked, it calls whatever can begin, all at once."""

import asyncio
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Leader(BaseChatModel):
    """Calls `call_for(id)` for each step that can begin; a step is done when its tool has answered."""

    plan: Any
    call_for: Callable[[str], dict[str, Any]]
    latency_s: float = 0.0
    at_once: bool = True
    """Whether it calls several in one reply."""
    begun: set[str] = set()

    def bind_tools(self, *_: Any, **__: Any) -> "Leader":
        """Itself: it knows its tools."""
        return self

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        await asyncio.sleep(self.latency_s)
        done = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)} & self.begun
        ready = self.plan.ready(done, self.begun)[: None if self.at_once else 1]
        self.begun.update(ready)
        calls = [{**self.call_for(step_id), "id": step_id} for step_id in ready]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if calls else "done", tool_calls=calls))])

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("it is asked by async code")

    @property
    def _llm_type(self) -> str:
        return "leader"
