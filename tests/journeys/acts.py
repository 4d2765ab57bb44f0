"""Stories in which agents act on the outside world: every send is written down when it really happens."""

import asyncio
import time
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from nodes.llm.scripted import ScriptedModel, Step
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from tests.journeys.doom import Story, die_once, note
from tests.runs import agent, plan


def sender(folder: Path, *, deadly: str = "") -> BaseTool:
    """`send_note`, undone by `unsend`. `deadly`: dies once, `before` or `after` it has sent."""

    @tool
    async def send_note(to: str, text: str = "hello") -> str:
        """Send a note."""
        if deadly == "before":
            die_once(folder, "sending")
        note(folder, f"sent {text} to {to}")
        if deadly == "after":
            die_once(folder, "sending")
        return f"sent to {to}"

    send_note.metadata = {"undo": "unsend"}
    return send_note


def sends(messages: list[BaseMessage], tools: list[str]) -> Step:
    """A worker that sends one note, and then says what came of it: it remembers nothing but its conversation."""
    answers = [str(message.text) for message in messages if isinstance(message, ToolMessage)]
    return f"It said: {answers[-1]}" if answers else {"name": "send_note", "args": {"to": "bob"}, "id": "c1"}


def _sending(folder: Path, deadly: str, oversight: str, *, own_loop: bool = False) -> Story:
    tools, model = [sender(folder, deadly=deadly)], ScriptedModel({lambda text: True: sends})
    worker = AgentSpec(name="ada", role="generalist", tools=tools)
    if own_loop:
        worker = AgentSpec(name="ada", role="generalist", run=create_agent(model, tools))
    return Story([worker], plan("a"), {"oversight": oversight, "max_iterations": 0}, model)


def sends_unasked(folder: Path) -> Story:
    """One note, for which nobody is asked."""
    return _sending(folder, "", "on_the_loop")


def sends_when_asked(folder: Path) -> Story:
    """One note, for which somebody is asked."""
    return _sending(folder, "", "in_the_loop")


def dies_before_sending(folder: Path) -> Story:
    """The process ends when the note was about to go out."""
    return _sending(folder, "before", "on_the_loop")


def dies_after_sending(folder: Path) -> Story:
    """The process ends when the note is out, and nobody has recorded it."""
    return _sending(folder, "after", "on_the_loop")


def agent_sends_unasked(folder: Path) -> Story:
    """The same by an agent with a loop of its own."""
    return _sending(folder, "", "on_the_loop", own_loop=True)


def agent_sends_when_asked(folder: Path) -> Story:
    """The same by an agent with a loop of its own."""
    return _sending(folder, "", "in_the_loop", own_loop=True)


def agent_dies_before_sending(folder: Path) -> Story:
    """The same by an agent with a loop of its own."""
    return _sending(folder, "before", "on_the_loop", own_loop=True)


def agent_dies_after_sending(folder: Path) -> Story:
    """The same by an agent with a loop of its own."""
    return _sending(folder, "after", "on_the_loop", own_loop=True)


def five_actions(folder: Path) -> Story:
    """Three that are done one after the other, and two that wait for a human; the undo of the second dies or fails."""

    @tool
    async def unsend(to: str) -> str:
        """Take a note back."""
        note(folder, f"unsent {to}")
        if to == "n2" and (folder / "unsend-dies").exists():
            die_once(folder, "unsending")
        if to == "n2" and (folder / "unsend-fails").exists():
            raise RuntimeError("it was read already")
        return f"taken back from {to}"

    @tool
    async def shred(what: str) -> str:
        """Destroy something, for good."""
        note(folder, f"shredded {what}")
        return "gone"

    shred.metadata = {"sensitive": True}

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        text = "\n".join(str(message.text) for message in messages)
        name = next(n for n in ("n1", "n2", "n3", "n4", "n5") if f'id="{n}"' in text)
        if any(isinstance(message, ToolMessage) for message in messages):
            return f"{name} is done."
        called = "shred" if name == "n3" and (folder / "third-has-no-undo").exists() else "send_note"
        return {"name": called, "args": {"what": "n3"} if called == "shred" else {"to": name}}

    worker = AgentSpec(name="ada", role="generalist", tools=[sender(folder), unsend, shred])
    chain = plan("n1", "n2 <- n1", "n3 <- n2", "n4 <- n3", "n5 <- n3")
    return Story([worker], chain, {"max_iterations": 0}, ScriptedModel({lambda text: True: reply}))


def waits_beside_work(folder: Path) -> Story:
    """One task asks; another goes on until it sees that the first was answered, however long that takes."""

    async def work(brief: Brief, desk: Desk) -> str:
        if brief.task.id == "asker":
            said = await desk.ask("send", {"to": "bob"}, "high")
            note(folder, f"unparked at {time.time()}")
            return f"{said.type} by {said.by}"
        for _ in range(9000):
            if (folder / "log").exists() and "unparked" in (folder / "log").read_text():
                return "saw it"
            await asyncio.sleep(0.01)
        return "saw nothing"

    return Story([agent(work)], plan("asker", "busy"), {"max_iterations": 0})


def _by_function(folder: Path, deadly: str = "", oversight: str = "on_the_loop") -> Story:
    """A function that sends one note by itself. `deadly`: dies once, `before` or `after` it sent, or `later`."""

    async def send_note(to: str, text: str = "hello") -> dict[str, str]:
        if deadly == "before":
            die_once(folder, "sending")
        note(folder, f"sent {text} to {to}")
        if deadly == "after":
            die_once(folder, "sending")
        return {"told": to}

    @tool
    async def unsend(to: str, result: dict[str, str]) -> str:
        """Take a note back."""
        note(folder, f"unsent {to}")
        return f"taken back from {result['told']}"

    async def work(brief: Brief, desk: Desk) -> str:
        sent = await desk.once("send note", send_note, {"to": "bob"}, undo="unsend")
        if deadly == "later":
            die_once(folder, "later")
        return f"{sent.status}: {sent.reply}"

    return Story([agent(work, tools=[unsend])], plan("a"), {"oversight": oversight, "max_iterations": 0})


def function_sends_unasked(folder: Path) -> Story:
    """One note, for which nobody is asked."""
    return _by_function(folder)


def function_sends_when_asked(folder: Path) -> Story:
    """One note, for which somebody is asked."""
    return _by_function(folder, oversight="in_the_loop")


def function_dies_before_sending(folder: Path) -> Story:
    """The process ends when the note was about to go out."""
    return _by_function(folder, "before")


def function_dies_after_sending(folder: Path) -> Story:
    """The process ends when the note is out, and nobody has recorded it."""
    return _by_function(folder, "after")


def function_dies_later(folder: Path) -> Story:
    """The process ends when the note is out and on record, before the function has."""
    return _by_function(folder, "later")
