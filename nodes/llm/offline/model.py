"""The offline model: a chat model like any other, without a language model behind it.

It plans by rules, shows passages of the user's sources to the letter, computes from their tables, and says so when it
found none that answers. Every reply is a pure function of the conversation: where it stands in its work is read off
the tool results.
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall

from nodes.language.subjects import subject_of
from nodes.llm.offline.conversation import Arguments, Call, Conversation, Tool, read
from nodes.llm.offline.filling import fill
from nodes.llm.offline.planning import plan
from nodes.llm.offline.reviewing import review
from nodes.llm.offline.working import work
from nodes.llm.offline.writing import assemble
from nodes.llm.replying import ReplyingModel

FORMS: dict[str, Callable[[Conversation], Arguments]] = {"PlanDraft": plan, "Review": review, "AnswerData": fill}
"""Structured replies it can give, by the name of their schema."""
CHARS_PER_TOKEN = 4
"""How usage is counted: characters by four, rounded up."""


class OfflineModel(ReplyingModel):
    """Deterministic, extractive, no network. Tools and structured output as with any chat model."""

    model_name: str = "offline"
    most_chunks: int = 4

    @property
    def _llm_type(self) -> str:
        return "baton-offline"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def reply_to(self, messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """A structured reply where its form is on offer; an answer from findings; else a worker's next step."""
        choice = options.get("tool_choice")
        offered = [_tool(one["function"]) for one in options.get("tools") or [] if choice != "none"]
        talk = read(messages, offered)
        form = next((name for name in FORMS if name in talk.tools), None)
        reply = [Call(form, FORMS[form](talk))] if form else assemble(talk) if talk.all("finding") else work(talk)
        forced = _forced(choice, offered)
        if forced and isinstance(reply, str) and not talk.done:  # what is asked goes into what it requires
            asked = " ".join(subject_of(talk.task).values()) or talk.task
            reply = [Call(forced.name, dict.fromkeys(forced.required, asked))]
        text, calls = (reply, []) if isinstance(reply, str) else ("", reply)
        made = [ToolCall(name=c.tool, args=c.args, id=_id(messages, n), type="tool_call") for n, c in enumerate(calls)]
        return AIMessage(
            content=text,
            tool_calls=made,
            usage_metadata=_usage(messages, text, made),
            response_metadata={"model_name": "offline", "finish_reason": "tool_calls" if made else "stop"},
        )


def tokens_in(text: str) -> int:
    """Tokens of a text, by count of characters."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def _forced(choice: object, tools: Sequence[Tool]) -> Tool | None:
    """The tool that has to be called: the one named, or the first where any will do."""
    if isinstance(choice, dict):
        choice = choice.get("function", choice).get("name")
    if choice in ("any", "required", True):
        return tools[0] if tools else None
    return next((tool for tool in tools if tool.name == choice), None)


def _tool(function: dict[str, Any]) -> Tool:
    parameters = function.get("parameters") or {}
    return Tool(function["name"], tuple(parameters.get("properties") or {}), tuple(parameters.get("required") or ()))


def _id(messages: Sequence[BaseMessage], number: int) -> str:
    """An id for a call: the same conversation gives the same, a longer one another."""
    said = hashlib.sha256("\n".join(message.text for message in messages).encode()).hexdigest()
    return f"call_{said[:12]}_{len(messages)}_{number}"


def _usage(messages: Sequence[BaseMessage], text: str, calls: Sequence[ToolCall]) -> UsageMetadata:
    before = [(m.text, m.tool_calls if isinstance(m, AIMessage) else ()) for m in messages]
    read_in, given = (
        sum(
            tokens_in(said) + sum(tokens_in(call["name"] + json.dumps(call["args"])) for call in made)
            for said, made in one
        )
        for one in (before, [(text, calls)])
    )
    return UsageMetadata(input_tokens=read_in, output_tokens=given, total_tokens=read_in + given)
