"""Runs for tests: a supervisor on a database in the test's own folder, a held clock, agents that are functions."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import JsonValue

from graph.supervisor import Supervisor, open_supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.services import Clock, Notifier
from state.agent import AgentSpec, Brief
from state.run import Run

Work = Callable[[Brief, Any], Awaitable[Any]]


def agent(run: Work | None = None, name: str = "ada", role: str = "generalist", **fields: Any) -> AgentSpec:
    """An agent that is a function; by default it says which task it did."""
    return AgentSpec(name=name, role=role, run=run or says_its_task, **fields)


async def says_its_task(brief: Brief, desk: Any) -> str:
    """The simplest agent."""
    return f"{brief.task.id} is done"


class Turns:
    """An agent that does something else each time: raises exceptions, returns the rest; the last one again and again.

    `briefs` is what it was given, in order.
    """

    def __init__(self, *turns: object) -> None:
        self.turns = turns
        self.briefs: list[Brief] = []

    async def __call__(self, brief: Brief, desk: Any) -> object:
        turn = self.turns[min(len(self.briefs), len(self.turns) - 1)]
        self.briefs.append(brief)
        if isinstance(turn, Exception):
            raise turn
        return turn

    @property
    def tasks(self) -> list[str]:
        """Ids of the tasks it was given, in order."""
        return [brief.task.id for brief in self.briefs]


def opened(
    *team: AgentSpec,
    model: BaseChatModel | None = None,
    clock: Clock | None = None,
    db: str | Path = "runs.db",
    notifier: Notifier | None = None,
    **policy: JsonValue,
) -> AbstractAsyncContextManager[Supervisor]:
    """A supervisor whose model, unless one is given, must not be asked."""
    return open_supervisor(
        db, team or (agent(),), policy, model or ScriptedModel([]), clock=clock or HeldClock(), notifier=notifier
    )


def plan(*tasks: str | dict[str, Any], **fields: JsonValue) -> dict[str, Any]:
    """A plan as plain data: `plan("a", "b <- a", {"id": "c", "required": False})`."""
    return {"tasks": [_task(task) for task in tasks], **fields}


def _task(given: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(given, str):
        task_id, _, after = given.partition("<-")
        given = {"id": task_id.strip(), "depends_on": after.split()}
    return {"description": f"Do {given['id']}.", **given}


def statuses(run: Run) -> dict[str, str]:
    """The status of each task, by id."""
    return {task.id: task.status for task in run.tasks}


async def all_approved(sup: Supervisor, run: Run, **how: Any) -> Run:
    """The run after every question that it asks was approved, one round after the other."""
    while run.status == "waiting":
        run = await sup.answer(run.thread_id, {question.id: True for question in run.approvals}, **how)
    return run
