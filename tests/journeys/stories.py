"""The stories that are told in processes that die."""

import asyncio
from pathlib import Path

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from nodes.llm.scripted import ScriptedModel, Step
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief, Skills
from state.replies import PlanDraft, Review, TaskDraft
from tests.journeys.doom import Story, die_once, note
from tests.runs import agent, plan

TWELVE = plan(
    "a", "b", "c", "d <- a", "e <- a b", "f <- c", "g <- d e", "h <- f", "i", "j <- g h", "k <- i", "l <- j k"
)
TICKS = 3
"""Tool calls that each worker makes."""


def twelve(folder: Path) -> Story:
    """Twelve tasks of one agent, who writes down when it starts and ends each."""

    async def work(brief: Brief, desk: Desk) -> str:
        note(folder, f"start {brief.task.id}")
        await asyncio.sleep(0.002)
        note(folder, f"end {brief.task.id}")
        return f"{brief.task.id} of {sorted(brief.inputs)}"

    return Story([agent(work)], TWELVE, {"max_parallel": 3})


def ticker(folder: Path, *, deadly: bool) -> BaseTool:
    @tool
    async def tick(task: str, number: int) -> str:
        """Count."""
        note(folder, f"tick {task} {number}")
        if deadly and number == TICKS - 1:
            die_once(folder, f"tick-{task}")
        return f"tick {number}"

    return tick


def thinker(folder: Path, deadly: str = "") -> ScriptedModel:
    """Plans two tasks, accepts everything, and as a worker ticks and then answers; each call is written down.

    It has no memory of its own: what comes next is in the conversation. `deadly`: dies in that kind of call, once.
    """

    def reply(messages: list[BaseMessage], tools: list[str]) -> Step:
        kind, step = _reply(messages, tools)
        note(folder, f"asked {kind}")
        if deadly and kind.startswith(deadly):
            die_once(folder, kind)
        return step

    return ScriptedModel({lambda text: True: reply})


def _reply(messages: list[BaseMessage], tools: list[str]) -> tuple[str, Step]:
    if "PlanDraft" in tools:
        drafts = [
            TaskDraft(id=name, description=f"Look into {name}.", role="generalist") for name in ("north", "south")
        ]
        return "plan", PlanDraft(tasks=drafts, complexity=0.5)
    if "Review" in tools:
        return "review", Review(verdicts=[])
    ticks = sum(isinstance(message, ToolMessage) for message in messages)
    task = next((n for n in ("north", "south") if f'id="{n}"' in str(messages[1].text)), None)
    if not task or not isinstance(messages[0], SystemMessage) or "finding" in str(messages[1].text).split("\n")[0]:
        return "assemble", "North and south agree."
    if ticks < TICKS:
        return f"{task} {ticks}", {"name": "tick", "args": {"task": task, "number": ticks}}
    return f"{task} {ticks}", f"{task} has {ticks} ticks.\nConfidence: 0.9"


def _thinking(folder: Path, deadly: str = "", *, in_tool: bool = False) -> Story:
    worker = AgentSpec(name="ada", role="generalist", tools=[ticker(folder, deadly=in_tool)])
    return Story([worker], None, {"max_parallel": 1 if in_tool else 2}, thinker(folder, deadly))


def workers(folder: Path) -> Story:
    """Two workers, driven by a model, on a plan that it made."""
    return _thinking(folder)


def dies_in_tools(folder: Path) -> Story:
    """The same, one worker after the other, each killed in its last tool call."""
    return _thinking(folder, in_tool=True)


def dies_planning(folder: Path) -> Story:
    """The same, killed while the plan is made."""
    return _thinking(folder, "plan")


def dies_reviewing(folder: Path) -> Story:
    """The same, killed while the results are reviewed."""
    return _thinking(folder, "review")


def dies_assembling(folder: Path) -> Story:
    """The same, killed while the answer is put together."""
    return _thinking(folder, "assemble")


def dies_thinking(folder: Path) -> Story:
    """The same, killed in the last model call of a worker."""
    return _thinking(folder, f"north {TICKS}")


def asks(folder: Path) -> Story:
    """One task asks a human, one that builds on it, and one that does not."""

    async def work(brief: Brief, desk: Desk) -> str:
        note(folder, f"start {brief.task.id}")
        said = await desk.ask("send", {"to": "bob"}, "high") if brief.task.id == "asker" else None
        note(folder, f"end {brief.task.id}")
        return f"{brief.task.id}: {said.type if said else 'done'}"

    return Story([agent(work)], plan("asker", "builder <- asker", "free", "late <- free"))


def growing(folder: Path) -> Story:
    """A run that recruits, mails, and is steered from outside while `gate` waits for that."""

    async def work(brief: Brief, desk: Desk) -> str:
        task = brief.task.id
        note(folder, f"start {task}")
        if task == "gate":
            while not any(m.status == "retired" for m in desk.team()):  # noqa: ASYNC110 - agents get no event
                await asyncio.sleep(0.005)
        if task == "asker":
            assert await desk.recruit("helper", "Help the asker.")
        if task == "writer":
            desk.mail("bob", "from the writer")
        note(folder, f"end {task}")
        said = [mail.text for mail in desk.inbox()] if task == "reader" else sorted(brief.inputs)
        return f"{task}: {', '.join(said)}"

    helping = Skills(kinds={"general": 0.9})
    team = [agent(work), agent(work, "bob", "reader"), agent(work, "hal", "helper")]
    team += [agent(work, "carl", "closer", skills=helping), agent(work, "dora", "other", skills=helping)]
    tasks = plan(
        "gate",
        "asker <- gate",
        "writer",
        "user <- asker",
        {"id": "reader", "role": "reader", "depends_on": ["gate", "writer"]},
        {"id": "last", "role": "closer", "depends_on": ["user", "reader"]},
    )
    return Story(team, tasks)
