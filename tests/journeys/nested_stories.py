"""Stories of agents below agents: nested supervisors, delegations and graphs, with a question at the bottom."""

import asyncio
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from graph.app import build_supervisor
from nodes.llm.scripted import ScriptedModel, Step
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.replies import PlanDraft, TaskDraft
from tests.journeys.below import drafts
from tests.journeys.doom import Story, note, notes
from tests.runs import agent, plan


class Form(TypedDict, total=False):
    task: dict[str, Any]
    draft: str
    result: str


def signing(folder: Path) -> Any:
    """A graph that drafts, asks, and signs."""

    def draft(state: Form) -> Form:
        note(folder, "ran draft")
        return {"draft": "a letter"}

    def sign(state: Form) -> Form:
        said = interrupt({"sign": state["draft"]})
        note(folder, "ran sign")
        return {"result": f"{state['draft']}, signed: {said}"}

    builder = StateGraph(Form)
    builder.add_node("draft_it", draft)
    builder.add_node("sign", sign)
    builder.add_edge(START, "draft_it")
    builder.add_edge("draft_it", "sign")
    return builder.compile()


def supervisor(folder: Path, name: str, *team: AgentSpec, tasks: list[TaskDraft]) -> AgentSpec:
    """A nested supervisor whose model writes down that it planned."""

    def planned(messages: list[BaseMessage], tools: list[str]) -> Step:
        note(folder, f"ran plan of {name}")
        return PlanDraft(tasks=tasks, complexity=0.5)

    graph = build_supervisor(team, policy={"max_iterations": 0}, model=ScriptedModel({lambda _: True: planned}))
    return AgentSpec(name=name, role=name, run=graph)


def worker(folder: Path, name: str) -> AgentSpec:
    async def work(brief: Brief, desk: Desk) -> str:
        note(folder, f"ran {name} for {brief.task.id}")
        return f"{name} did {brief.task.id}"

    return agent(work, name, name)


def three_levels(folder: Path) -> Story:
    """The outermost supervisor, one below it, one below that, and at the bottom a graph that asks."""
    sign = TaskDraft(id="sign", description="Sign.", role="signer", depends_on=["look"])
    look = TaskDraft(id="look", description="Look.", role="aide")
    signer = AgentSpec(name="signer", role="signer", run=signing(folder))
    low = supervisor(folder, "low", signer, worker(folder, "aide"), tasks=[look, sign])
    file = TaskDraft(id="file", description="File.", role="clerk")
    get = TaskDraft(id="get", description="Get.", role="low")
    mid = supervisor(folder, "mid", low, worker(folder, "clerk"), tasks=[file, get])
    return Story([mid, worker(folder, "other")], plan({"id": "top", "role": "mid"}, {"id": "free", "role": "other"}))


EVERYTHING = [
    "ran aide for look",
    "ran clerk for file",
    "ran draft",
    "ran other for free",
    "ran plan of low",
    "ran plan of mid",
    "ran sign",
]


def delegating(folder: Path) -> Story:
    """A lead that a model drives delegates twice; the second worker delegates to a graph that asks."""

    def lead(messages: list[BaseMessage], tools: list[str]) -> Step:
        replies = [message for message in messages if isinstance(message, ToolMessage)]
        who = "mid" if "You are mid," in str(messages[0].text) else "lead"
        note(folder, f"asked {who} {len(replies)}")
        if replies:
            return f"{who}: " + "; ".join(str(message.text) for message in replies)
        names = ["aide", "mid"] if who == "lead" else ["signer"]
        return [
            {"name": "delegate_to_agent", "args": {"worker_agent": name, "task": "Go."}, "id": name} for name in names
        ]

    team = [
        AgentSpec(name="lead", role="generalist", workers=["aide", "mid"]),
        AgentSpec(name="mid", role="mid", workers=["signer"]),
        AgentSpec(name="signer", role="signer", run=signing(folder)),
        agent(_noted(folder, "aide"), "aide", "aide"),
    ]
    return Story(team, plan("a"), {"max_iterations": 0}, ScriptedModel({lambda _: True: lead}))


def _delegate(name: str) -> dict[str, Any]:
    return {"name": "delegate_to_agent", "args": {"worker_agent": name, "task": "Go."}, "id": name}


def _noted(folder: Path, name: str) -> Any:
    async def work(brief: Brief, desk: Desk) -> str:
        note(folder, f"ran {name}")
        return f"{name} did it"

    return work


ASKED = "a.0.mid/m.0.low/ask.0.q1"
"""The question of `asks_below_beside_work`, as it is called outside."""


def asks_below_beside_work(folder: Path) -> Story:
    """Two levels down one task asks; beside it, above it and in the outermost run others go on until that has ended."""

    async def work(brief: Brief, desk: Desk) -> str:
        if brief.task.id == "ask":
            said = await desk.ask("send", {"to": "bob"}, "high")
            note(folder, f"unparked at {time.time()}")
            return f"{said.type} by {said.by}"
        for _ in range(9000):
            if any(line.startswith("unparked") for line in notes(folder)):
                return "saw it"
            await asyncio.sleep(0.01)
        return "saw nothing"

    low = supervisor(folder, "low", agent(work), tasks=drafts("ask", "beside"))
    mid = supervisor(folder, "mid", low, agent(work, "clerk", "clerk"), tasks=drafts("m: low", "above: clerk"))
    return Story([mid, agent(work, "other", "other")], plan({"id": "a", "role": "mid"}, {"id": "b", "role": "other"}))
