"""Conversations in a few words, with tools that are nothing but messages."""

import re
from collections.abc import Callable, Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from nodes.llm.offline.model import OfflineModel
from nodes.llm.sections import Section, render

TEAM = """\
researcher (researcher): information gathering; kinds: research, review; tools: search, read
analyst (analyst): data; kinds: analysis, research; tools: search, read, query, calculate
strategist (strategist): strategy; kinds: strategy; tools: search, read
coder (coder): code; kinds: implementation; tools: query, write
writer (writer): content; kinds: writing; tools: search, read
publisher (publisher): publishing; kinds: action; tools: publish
generalist (generalist): anything else; kinds: general; tools: search, read"""
LISTING = "guide.md: text, 40 lines\nnotes.txt: text, 9 lines\nfaq.html: html, 12 lines"
ARGUMENTS = {
    "search": ("query",),
    "read": ("file",),
    "query": ("sql",),
    "calculate": ("expression",),
    "write": ("name", "content"),
    "publish": ("name", "content"),
}
Fake = Callable[[Mapping[str, object]], str]


class Refused(Exception):
    """What a fake tool raises to answer with an error."""


def schema(name: str) -> dict[str, object]:
    """A tool as a model is told of it."""
    arguments = ARGUMENTS.get(name, ("text",))
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def brief(
    task: str, kind: str = "research", *more: Section, request: str = "", sources: str = LISTING, action: str = ""
) -> list[BaseMessage]:
    """The messages a worker starts with."""
    attrs = {"id": "t1", "kind": kind, "role": "x"} | ({"action": action} if action else {})
    sections = [Section("request", request or task), Section("task", task, attrs), *more]
    sections += [Section("sources", sources)] if sources else []
    return [SystemMessage("You work on one task."), HumanMessage(render(sections))]


def turn(messages: Sequence[BaseMessage], tools: Sequence[str] = (), **options: object) -> AIMessage:
    """One reply of the model."""
    bound = OfflineModel().bind_tools([schema(name) for name in tools], **options)  # type: ignore[arg-type]
    return bound.invoke(list(messages))


def finished(messages: Sequence[BaseMessage], tools: Mapping[str, Fake]) -> tuple[str, list[BaseMessage]]:
    """The result a worker comes to with these tools, and the whole conversation."""
    talk = list(messages)
    for _ in range(8):
        reply = turn(talk, list(tools))
        talk.append(reply)
        if not reply.tool_calls:
            return reply.text, talk
        talk += [_answer(call["name"], call["args"], str(call["id"]), tools) for call in reply.tool_calls]
    raise AssertionError("it calls tools without end")


def shown(talk: Sequence[BaseMessage]) -> str:
    """All that tools and prompts showed."""
    return "\n".join(m.text for m in talk if isinstance(m, ToolMessage | HumanMessage))


def quotes(text: str) -> list[str]:
    """The quotations in a result: what stands behind `>` above a label."""
    found = re.findall(r"((?:^>.*\n)+)\[[^\]\n]+#", text, re.MULTILINE)
    return [re.sub(r"(?m)^> ?", "", quoted).strip("\n") for quoted in found]


def _answer(name: str, args: Mapping[str, object], call_id: str, tools: Mapping[str, Fake]) -> ToolMessage:
    try:
        return ToolMessage(tools[name](args), tool_call_id=call_id, name=name)
    except Refused as refusal:
        return ToolMessage(str(refusal), tool_call_id=call_id, name=name, status="error")
