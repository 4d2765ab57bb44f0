"""A chat model that plays a script: for tests of whatever thinks with a model, without one.

ScriptedModel(["Hello.", {"name": "search", "args": {"query": "price"}}, Delay(0.1, "Found.")])
ScriptedModel({'<task id="t1"': ["first", "second"], lambda text: "review" in text: "the same each time"})
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from pydantic import BaseModel, PrivateAttr

from nodes.llm.replying import ReplyingModel
from state.errors import ModelRejected

Step = Any
"""str | AIMessage | {"name", "args"} (a tool call, or a list of them) | BaseModel or other dict (a structured reply)
| Exception (raised) | Delay | a function of (messages, tool names) that returns a step."""
Matcher = str | Callable[[str], bool]
"""Holds if the rendered messages contain it, or if it says so of them."""


@dataclass(frozen=True)
class Delay:
    """Waits `seconds`, then plays `step`."""

    seconds: float
    step: Step


@dataclass(frozen=True)
class Call:
    """What the model was asked."""

    messages: list[BaseMessage]
    tools: list[str]


class ScriptedModel(ReplyingModel):
    """Plays `script`: a list in its order, or by rule the steps of the first rule that holds.

    A rule's list is played once, in order; a rule's single step every time. A script that has run dry, or no rule of
    which holds, raises `ModelRejected`. `usage` fixes the (input, output) tokens of a reply; by default words are
    counted. `calls` is what the model was asked so far.
    """

    script: Any
    usage: tuple[int, int] | None = None
    name_for_people: str = "scripted"
    _calls: list[Call] = PrivateAttr(default_factory=list)
    _played: dict[int, int] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, script: Sequence[Step] | Mapping[Matcher, Step | list[Step]], **fields: Any) -> None:
        super().__init__(**{"script": script, **fields})

    @property
    def calls(self) -> list[Call]:
        """What the model was asked, in order."""
        return list(self._calls)

    @property
    def model_name(self) -> str:
        """What people call it."""
        return self.name_for_people

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def reply_to(self, messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """The next reply, after its delay."""
        play = self._play(list(messages), options)
        while True:
            try:
                time.sleep(next(play))
            except StopIteration as played:
                return cast(AIMessage, played.value)

    async def areply_to(self, messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """The same, without blocking."""
        play = self._play(list(messages), options)
        while True:
            try:
                await asyncio.sleep(next(play))
            except StopIteration as played:
                return cast(AIMessage, played.value)

    def _play(self, messages: list[BaseMessage], kwargs: Mapping[str, Any]) -> Generator[float, None, AIMessage]:
        """Yields the seconds to wait, returns the reply."""
        tools = [tool["function"]["name"] for tool in kwargs.get("tools") or ()]
        number, step = self._next(messages, tools)
        while True:
            if isinstance(step, Delay):
                yield step.seconds
                step = step.step
            elif isinstance(step, BaseException) or (isinstance(step, type) and issubclass(step, BaseException)):
                raise step
            elif callable(step):
                step = step(messages, tools)
            else:
                message = _message(step, number, tools, forced=bool(kwargs.get("tool_choice")))
                return message.model_copy(update={"usage_metadata": self._usage(messages, message)})

    def _next(self, messages: list[BaseMessage], tools: list[str]) -> tuple[int, Step]:
        with self._lock:
            self._calls.append(Call(list(messages), tools))
            rule, steps = self._rule(messages)
            if not isinstance(steps, list):
                return len(self._calls), steps
            played = self._played.get(rule, 0)
            if played >= len(steps):
                raise ModelRejected(
                    f"the script of {self.model_name} has run dry after {played} replies; add a step for: "
                    f"{_last(messages)}"
                )
            self._played[rule] = played + 1
            return len(self._calls), steps[played]

    def _rule(self, messages: list[BaseMessage]) -> tuple[int, Step | list[Step]]:
        if not isinstance(self.script, Mapping):
            return 0, list(self.script)
        text = "\n".join(str(message.text) for message in messages)
        for number, (matcher, steps) in enumerate(self.script.items()):
            if matcher(text) if callable(matcher) else matcher in text:
                return number, steps
        raise ModelRejected(f"no rule of the script of {self.model_name} holds; add one for: {_last(messages)}")

    def _usage(self, messages: list[BaseMessage], message: AIMessage) -> UsageMetadata:
        if message.usage_metadata is not None:
            return message.usage_metadata
        words = (
            sum(len(str(one.text).split()) for one in messages),
            len(str(message.text).split()) + sum(len(str(call["args"]).split()) for call in message.tool_calls),
        )
        read, written = self.usage or words
        return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _message(step: Step, number: int, tools: list[str], *, forced: bool) -> AIMessage:
    if isinstance(step, AIMessage):
        return step
    if isinstance(step, str):
        return AIMessage(step)
    if isinstance(step, Mapping) and not _is_call(step):
        return _data(dict(step), number, tools[0] if forced and tools else None)
    if isinstance(step, BaseModel):
        name = type(step).__name__
        return _data(step.model_dump(mode="json"), number, name if name in tools else None)
    calls = [step] if isinstance(step, Mapping) else list(step)
    if not all(isinstance(call, Mapping) and _is_call(call) for call in calls):
        raise ModelRejected(f"a script cannot play {step!r}; see Step in nodes.llm.scripted for what it can")
    return AIMessage("", tool_calls=[_call(call, f"call-{number}-{index}") for index, call in enumerate(calls)])


def _data(data: dict[str, Any], number: int, tool: str | None) -> AIMessage:
    if tool is None:
        return AIMessage(json.dumps(data))
    return AIMessage("", tool_calls=[_call({"name": tool, "args": data}, f"call-{number}-0")])


def _is_call(step: Mapping[str, Any]) -> bool:
    return {"name", "args"} <= step.keys() <= {"name", "args", "id", "type"}


def _call(step: Mapping[str, Any], fallback_id: str) -> ToolCall:
    return ToolCall(name=step["name"], args=dict(step["args"]), id=step.get("id") or fallback_id, type="tool_call")


def _last(messages: list[BaseMessage]) -> str:
    text = " ".join(str(messages[-1].text).split()) if messages else "(no messages)"
    return text if len(text) <= 200 else text[:199] + "…"
