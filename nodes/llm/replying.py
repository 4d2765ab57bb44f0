"""Chat models whose replies are made here, not on a server: what LangChain wants of one, around a function.

A subclass says what it replies; tools and structured replies are bound and streams are cut here.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool


class ReplyingModel(BaseChatModel):
    """A model that says what `reply_to` does; `areply_to` too, where it has to wait.

    `most_chunks`: pieces of a stream, at most: words, or several words each where there are more.
    """

    most_chunks: int = 1000

    def reply_to(self, messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """The reply; `options` has `tools` (as OpenAI describes them) and `tool_choice`."""
        raise NotImplementedError

    async def areply_to(self, messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """The same, without blocking."""
        return self.reply_to(messages, options)

    @property
    def _llm_type(self) -> str:
        return type(self).__name__

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The same model, knowing `tools`. `tool_choice`: a tool's name, `any`, `auto` or `none`."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the interface's
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.reply_to(messages, kwargs))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the interface's
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=await self.areply_to(messages, kwargs))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the interface's
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(await self.areply_to(messages, kwargs), self.most_chunks):
            yield ChatGenerationChunk(message=chunk)


def _chunks(message: AIMessage, most: int) -> Iterator[AIMessageChunk]:
    """The message in pieces; tool calls and usage come with the last."""
    words = re.findall(r"\s*\S+|\s+$", str(message.text))
    size = -(-len(words) // most) or 1
    for start in range(0, len(words), size):
        yield AIMessageChunk(content="".join(words[start : start + size]))
    yield AIMessageChunk(
        content="",
        tool_call_chunks=[
            tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
            for index, call in enumerate(message.tool_calls)
        ]
        + [
            tool_call_chunk(name=call["name"], args=call["args"], id=call["id"], index=index)
            for index, call in enumerate(message.invalid_tool_calls, len(message.tool_calls))
        ],
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
        chunk_position="last",
    )
