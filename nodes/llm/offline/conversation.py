"""What the model is shown, read into its parts. Where it stands in its work is found anew from this each time.

What a result says about itself: how sure it is, what it lacks, and the mail that came.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import JsonValue

from nodes.llm.sections import Section, parse

Arguments = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool to be called."""

    tool: str
    args: Arguments


@dataclass(frozen=True, slots=True)
class Done:
    """A tool call and what came of it."""

    tool: str
    args: Arguments
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
    metadata: Arguments = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The prompt's sections, the tools on offer, and the calls made so far."""

    sections: tuple[Section, ...]
    tools: dict[str, Tool]
    done: tuple[Done, ...]
    rounds: int
    """Turns in which tools were called."""

    def all(self, name: str) -> list[Section]:
        """The sections of that name, in order."""
        return [section for section in self.sections if section.name == name]

    def body(self, name: str) -> str:
        """The text of the last section of that name, or nothing."""
        found = self.all(name)
        return found[-1].body.strip() if found else ""

    def attr(self, name: str) -> str:
        """An attribute of the task."""
        found = self.all("task")
        return found[-1].attrs.get(name, "") if found else ""

    @property
    def request(self) -> str:
        """What the user asked for."""
        return self.body("request") or self.body("task")

    @property
    def task(self) -> str:
        """What this agent is to do."""
        return self.body("task") or self.request

    @property
    def source_lines(self) -> list[str]:
        """One line for each file the user gave."""
        return [line.strip() for line in self.body("sources").splitlines() if line.strip()]

    def has(self, *tools: str) -> bool:
        """Whether all these tools are on offer."""
        return all(tool in self.tools for tool in tools)

    def results(self, tool: str) -> list[Done]:
        """The calls of that tool that worked, in order."""
        return [done for done in self.done if done.tool == tool and not done.failed]

    def was_called(self, call: Call) -> bool:
        """Whether that very call was made already."""
        return any(done.tool == call.tool and done.args == call.args for done in self.done)


def read(messages: Sequence[BaseMessage], tools: Sequence[Tool]) -> Conversation:
    """The parts of a conversation. Only what humans said is searched for sections: a tool result cannot pose as one."""
    said = [message.text for message in messages if isinstance(message, HumanMessage)]
    sections = [section for text in said for section in parse(text)]
    if said and not any(section.name in ("request", "task") for section in sections):
        sections.insert(0, Section("request", said[-1]))
    turns = [message for message in messages if isinstance(message, AIMessage) and message.tool_calls]
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    done = [
        _done(call["name"], call["args"], answers.get(str(call["id"]))) for turn in turns for call in turn.tool_calls
    ]
    return Conversation(tuple(sections), {tool.name: tool for tool in tools}, tuple(done), len(turns))


def _done(tool: str, args: Arguments, answer: ToolMessage | None) -> Done:
    return Done(tool, args, answer.text if answer else "", answer is None or answer.status == "error")


def with_confidence(text: str, confidence: float) -> str:
    """The result with its last line."""
    return f"{text.strip()}\n\nConfidence: {confidence:g}"


def mail_quoted(talk: Conversation) -> str:
    """The mail that came for this agent, each under its sender; empty when there is none."""
    parts = [f"\n\nFrom {mail.attrs.get('from', 'somebody')}:\n{_as_quotation(mail.body)}" for mail in talk.all("mail")]
    return "".join(parts)


def missing_noted(talk: Conversation) -> str:
    """Which inputs did not come; empty when all did."""
    missing = talk.body("missing")
    return f"\n\nNot available, and therefore not considered: the result of {missing}." if missing else ""


def _as_quotation(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())
