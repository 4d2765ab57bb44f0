"""What the model is shown, read into its parts. Where it stands in its work is found anew from this each time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import JsonValue

from nodes.llm.sections import Section, parse
from nodes.policy.takeover import FOR_PEOPLE

Arguments = dict[str, JsonValue]
NOTHING = "I found no passage that answers this"
"""How a result begins its admission: searching again would find the same."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool to be called."""

    tool: str
    args: Arguments


@dataclass(frozen=True, slots=True)
class Done(Call):
    """A tool call and what came of it."""

    text: str
    failed: bool


Reply = str | list[Call]
"""What the model does next: say something, or call tools."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool on offer: its name and the names of its arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The prompt's sections, the tools on offer, and the calls made so far."""

    sections: Sequence[Section]
    tools: Mapping[str, Tool]
    done: Sequence[Done]
    request: str
    """What the user asked for."""
    task: str
    """What this agent is to do."""

    def all(self, name: str) -> list[Section]:
        """The sections of that name, in order."""
        return [section for section in self.sections if section.name == name]

    def body(self, name: str) -> str:
        """The text of the last section of that name, or nothing."""
        return next((section.body.strip() for section in reversed(self.all(name))), "")

    def attr(self, name: str) -> str:
        """An attribute of the task."""
        return next((section.attrs.get(name, "") for section in reversed(self.all("task"))), "")

    @property
    def before(self) -> tuple[list[str], list[str]]:
        """What was asked on the thread before, and what was answered to each, oldest first."""
        turns = self.all("earlier")
        return [turn.attrs.get("request", "") for turn in turns], [turn.body for turn in turns]

    @property
    def source_lines(self) -> list[str]:
        """One line for each file the user gave."""
        return [line.strip() for line in self.body("sources").splitlines() if line.strip()]

    @property
    def inputs(self) -> list[str]:
        """The results of the tasks that this one builds on, without what they say about themselves."""
        return [text for part in self.all("input") if (text := CONFIDENCE.sub("", part.body).strip())]

    def results(self, tool: str) -> list[Done]:
        """The calls of that tool that worked, in order."""
        return [done for done in self.done if done.tool == tool and not done.failed]

    def answer_to(self, call: Call) -> Done | None:
        """What came of that very call, if it was made."""
        return next((done for done in self.done if (done.tool, done.args) == (call.tool, call.args)), None)


def read(messages: Sequence[BaseMessage], tools: Sequence[Tool]) -> Conversation:
    """The parts of a conversation. Only what humans said is searched for sections: a tool result cannot pose as one."""
    said = [message.text for message in messages if isinstance(message, HumanMessage)]
    sections = [section for text in said for section in parse(text)]
    bodies = {section.name: section.body.strip() for section in sections}
    is_named = bodies.keys() & {"request", "task"}
    request = bodies.get("request") or bodies.get("task", "" if is_named or not said else said[-1])
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    done = []
    for answer in messages:
        if isinstance(answer, ToolMessage) and (call := calls.get(answer.tool_call_id)):
            text = str(answer.additional_kwargs.get(FOR_PEOPLE, answer.text))
            done.append(Done(call["name"], call["args"], text, answer.status == "error"))
    return Conversation(sections, {tool.name: tool for tool in tools}, done, request, bodies.get("task") or request)


CONFIDENCE = re.compile(r"\n*Confidence:[^\n]*\Z", re.IGNORECASE)
"""The line that a result ends on."""


def concluded(talk: Conversation, text: str, confidence: float | None) -> str:
    """The result with what did not come for it, the mail that came, and how sure it is (0 to 1)."""
    missing = talk.body("missing")
    text += f"\n\nNot available, and therefore not considered: the result of {missing}." if missing else ""
    for mail in talk.all("mail"):
        quoted = "\n".join(f"> {line}" for line in mail.body.strip().splitlines())
        text += f"\n\nFrom {mail.attrs.get('from', 'somebody')}:\n{quoted}"
    return text.strip() + (f"\n\nConfidence: {confidence:g}" if confidence is not None else "")
