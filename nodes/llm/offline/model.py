"""The offline model: a chat model like any other, without a language model behind it.

It plans by rules, shows passages of the user's sources to the letter, computes from their tables, and says so when it
found none that answers. Every reply is a pure function of the conversation.
"""

import hashlib
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
from nodes.llm.replying import ReplyingModel
from nodes.llm.tokens import message_tokens
from nodes.policy.synthesis import without_repeats

FORMS: dict[str, Callable[[Conversation], Arguments]] = {"PlanDraft": plan, "Review": review, "AnswerData": fill}
"""Structured replies it can give, by the name of their schema."""


class OfflineModel(ReplyingModel):
    """Deterministic, extractive, no network. Tools and structured output as with any chat model."""

    model_name: str = "offline"
    most_chunks: int = 4

    @property
    def _llm_type(self) -> str:
        return "baton-offline"

    def reply_to(self, messages: Sequence[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """A structured reply where its form is on offer; an answer from findings; else a worker's next step."""
        choice = options.get("tool_choice")
        offered = [_tool(one["function"]) for one in options.get("tools") or [] if choice != "none"]
        talk = read(messages, offered)
        form = next((name for name in FORMS if name in talk.tools), None)
        findings = without_repeats([part.body for part in talk.all("finding")])
        reply = [Call(form, FORMS[form](talk))] if form else "\n\n".join(findings) or work(talk)
        forced = next((tool for tool in offered if choice in ("any", "required", True, tool.name)), None)
        if forced and isinstance(reply, str) and not talk.done:  # what is asked goes into what it requires
            asked = " ".join(subject_of(talk.task).values()) or talk.task
            reply = [Call(forced.name, dict.fromkeys(forced.required, asked))]
        text, calls = (reply, []) if isinstance(reply, str) else ("", reply)
        made = [ToolCall(name=c.tool, args=c.args, id=_id(messages, n), type="tool_call") for n, c in enumerate(calls)]
        ended = {"model_name": "offline", "finish_reason": "tool_calls" if made else "stop"}
        said = AIMessage(content=text, tool_calls=made, response_metadata=ended)
        read_in, given = sum(map(message_tokens, messages)), message_tokens(said)
        said.usage_metadata = UsageMetadata(input_tokens=read_in, output_tokens=given, total_tokens=read_in + given)
        return said


def _tool(function: dict[str, Any]) -> Tool:
    parameters = function.get("parameters") or {}
    return Tool(function["name"], tuple(parameters.get("properties") or {}), tuple(parameters.get("required") or ()))


def _id(messages: Sequence[BaseMessage], number: int) -> str:
    """An id for a call: the same conversation gives the same, a longer one another."""
    said = hashlib.sha256("\n".join(message.text for message in messages).encode()).hexdigest()
    return f"call_{said[:12]}_{len(messages)}_{number}"
