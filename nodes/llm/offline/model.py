"""The offline model: a chat model like any other, without a language model behind it.

It plans by rules, shows passages of the user's sources to the letter, computes from their tables, and says so when it
found none that answers. Every reply is a pure function of the conversation: where it stands in its work is read off
the tool results.
"""

import hashlib
import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from nodes.llm.offline.conversation import Arguments, Call, Conversation, Reply, Tool, read
from nodes.llm.offline.filling import fill
from nodes.llm.offline.planning import plan
from nodes.llm.offline.reviewing import review
from nodes.llm.offline.words import subject_of
from nodes.llm.offline.working import work
from nodes.llm.offline.writing import assemble

FORMS: dict[str, Callable[[Conversation], Arguments]] = {"PlanDraft": plan, "Review": review, "AnswerData": fill}
"""Structured replies it can give, by the name of their schema."""
CHUNKS = 4
"""Pieces in which a text is streamed."""
CHARS_PER_TOKEN = 4
"""How usage is counted: characters by four, rounded up."""


class OfflineModel(BaseChatModel):
    """Deterministic, extractive, no network. Tools and structured output as with any chat model."""

    model_name: str = "offline"

    @property
    def _llm_type(self) -> str:
        return "baton-offline"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with these tools. `tool_choice`: a tool's name, `any`, `auto` or `none`."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the interface's
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_message(messages, kwargs))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the interface's
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_message(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(_message(messages, kwargs)):
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(_message(messages, kwargs)):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def tokens_in(text: str) -> int:
    """Tokens of a text, by count of characters."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def _message(messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
    offered = [_tool(one["function"]) for one in options.get("tools") or []]
    reply = _reply(messages, offered, options.get("tool_choice"))
    calls = reply if isinstance(reply, list) else []
    text = reply if isinstance(reply, str) else ""
    made = [ToolCall(name=c.tool, args=c.args, id=_id(messages, n), type="tool_call") for n, c in enumerate(calls)]
    return AIMessage(
        content=text,
        tool_calls=made,
        usage_metadata=_usage(messages, text, calls),
        response_metadata={"model_name": "offline", "finish_reason": "tool_calls" if made else "stop"},
    )


def _reply(messages: Sequence[BaseMessage], offered: Sequence[Tool], choice: object) -> Reply:
    """A structured reply where its form is on offer; an answer from findings; else a worker's next step."""
    tools = [] if choice == "none" else list(offered)
    talk = read(messages, tools)
    form = next((name for name in FORMS if talk.has(name)), None)
    if form:
        return [Call(form, FORMS[form](talk))]
    reply = assemble(talk) if talk.all("finding") else work(talk)
    forced = _forced(choice, tools)
    return [_any_call(forced, talk)] if forced and isinstance(reply, str) and not talk.done else reply


def _forced(choice: object, tools: Sequence[Tool]) -> Tool | None:
    """The tool that has to be called: the one named, or the first where any will do."""
    if isinstance(choice, dict):
        choice = choice.get("function", choice).get("name")
    if choice in ("any", "required", True):
        return tools[0] if tools else None
    return next((tool for tool in tools if tool.name == choice), None)


def _any_call(tool: Tool, talk: Conversation) -> Call:
    """A call of a tool it would not have called by itself: what is asked goes into every argument that is required."""
    asked = " ".join(subject_of(talk.task).values()) or talk.task
    return Call(tool.name, dict.fromkeys(tool.required, asked))


def _tool(function: dict[str, Any]) -> Tool:
    parameters = function.get("parameters") or {}
    return Tool(function["name"], tuple(parameters.get("properties") or {}), tuple(parameters.get("required") or ()))


def _id(messages: Sequence[BaseMessage], number: int) -> str:
    """An id for a call: the same conversation gives the same, a longer one another."""
    said = hashlib.sha256("\n".join(message.text for message in messages).encode()).hexdigest()
    return f"call_{said[:12]}_{len(messages)}_{number}"


def _usage(messages: Sequence[BaseMessage], text: str, calls: Sequence[Call]) -> UsageMetadata:
    read_in = sum(
        tokens_in(m.text) + tokens_in(_written(m.tool_calls) if isinstance(m, AIMessage) else "") for m in messages
    )
    given = tokens_in(text) + sum(tokens_in(call.tool + json.dumps(call.args)) for call in calls)
    return UsageMetadata(input_tokens=read_in, output_tokens=given, total_tokens=read_in + given)


def _written(calls: Sequence[ToolCall]) -> str:
    return "".join(call["name"] + json.dumps(call["args"]) for call in calls)


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """The message in a few pieces; tool calls and usage come with the last."""
    text = message.text
    size = max(1, math.ceil(len(text) / CHUNKS))
    for start in range(0, len(text), size):
        yield ChatGenerationChunk(message=AIMessageChunk(content=text[start : start + size]))
    calls = [
        tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=number)
        for number, call in enumerate(message.tool_calls)
    ]
    end = AIMessageChunk(
        content="",
        tool_call_chunks=calls,
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=end)
