"""Agents of nested supervisors that act on the outside world: every act is written down when it really happens."""

from pathlib import Path

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool

from nodes.llm.scripted import ScriptedModel, Step
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.replies import PlanDraft
from tests.journeys.acts import sender
from tests.journeys.below import drafts, unit
from tests.journeys.doom import Story, die_once, note
from tests.runs import agent, plan

LOW, MID = ("third", "paper <- third"), ("second", "m: low <- second")
TOP = plan(
    "first",
    {"id": "a", "role": "mid", "depends_on": ["first"]},
    "last <- a",
    {"id": "asker", "role": "asker", "depends_on": ["last"]},
)
SENT = ["sent hello to first", "sent hello to second", "sent hello to third", "sent hello to last"]
UNSENT = ["top unsent last", "low unsent third", "mid unsent second", "top unsent first"]
"""What takes them back, newest first: each with the tool of the team that acted."""


def sending(folder: Path, level: str) -> AgentSpec:
    """An agent that a model drives; what it undoes says on which level it is."""

    @tool
    async def unsend(to: str) -> str:
        """Take a note back."""
        note(folder, f"{level} unsent {to}")
        if (folder / f"dies-unsending-{to}").exists():
            die_once(folder, f"unsending-{to}")
        return f"taken back from {to}"

    return AgentSpec(name="ada", role="generalist", tools=[sender(folder), unsend, "publish"])


def sends_once(*tasks: str) -> ScriptedModel:
    """Plans these tasks; at each a worker sends one note, but `paper` publishes, and says that it is done."""

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        if "PlanDraft" in tools:
            return PlanDraft(tasks=drafts(*tasks), complexity=0.5)
        name = str(messages[1].text).split('<task id="')[1].split('"')[0]
        if any(isinstance(message, ToolMessage) for message in messages):
            return f"{name} is done.\nConfidence: 0.9"
        published = {"name": "publish", "args": {"name": "p.md", "content": "paper"}}
        return published if name == "paper" else {"name": "send_note", "args": {"to": name}}

    return ScriptedModel({lambda _: True: reply})


def acts_on_three_levels(folder: Path) -> Story:
    """Notes are sent one after the other on every level, two levels down something is published; then somebody asks."""

    async def asks(brief: Brief, desk: Desk) -> str:
        return (await desk.ask("go on")).type

    quiet = {"oversight": "on_the_loop"}
    low = unit("low", sending(folder, "low"), tasks=(), model=sends_once(*LOW), **quiet)
    mid = unit("mid", sending(folder, "mid"), low, tasks=(), model=sends_once(*MID), **quiet)
    team = [sending(folder, "top"), mid, agent(asks, "asker", "asker")]
    return Story(team, TOP, {**quiet, "max_iterations": 0}, sends_once())
