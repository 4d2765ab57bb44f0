"""An agent that does several things at once in a task group: what they raise together is read like what one raises."""

import asyncio
from typing import Any

import pytest
from langgraph.types import interrupt
from pydantic import JsonValue

from graph.supervisor import Supervisor
from state.agent import Brief
from state.errors import AgentFailed
from state.run import Run
from tests.runs import agent, opened, plan, statuses


async def asks_by_its_desk(brief: Brief, desk: Any) -> str:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(desk.ask("one"))
        second = group.create_task(desk.ask("two"))
    return f"{first.result().type}, {second.result().type}"


async def asks_by_interrupt(brief: Brief, desk: Any) -> str:
    async def ask() -> JsonValue:
        answer: JsonValue = interrupt({"may": "I?"})
        return answer

    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask())
    return f"{asked.result()}"


async def until_it_ends(sup: Supervisor, run: Run) -> tuple[Run, list[str]]:
    """The run after a yes to everything, and what was asked."""
    asked: list[str] = []
    while run.approvals:
        asked += [approval.action for approval in run.approvals]
        run = await sup.answer(run.thread_id, {approval.id: True for approval in run.approvals})
    return run, asked


@pytest.mark.parametrize(
    ("work", "actions", "result"),
    [
        (asks_by_its_desk, ["one", "two"], "approve, approve"),
        (asks_by_interrupt, ["answer"], "True"),
    ],
)
async def test_questions_of_a_group_are_asked_and_siblings_go_on(work: Any, actions: list[str], result: str) -> None:
    async with opened(agent(work, role="asker"), agent(calm, name="bo")) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "role": "asker"}, "b"))
        assert statuses(waiting) == {"a": "parked", "b": "done"}
        run, asked = await until_it_ends(sup, waiting)

    assert (run.status, run.tasks[0].result, asked) == ("complete", result, actions)


async def calm(brief: Brief, desk: Any) -> str:
    return "Calm."


async def test_a_failure_in_a_group_is_a_failure_of_the_agent() -> None:
    async def fails() -> None:
        raise AgentFailed("the well is dry", "permanent")

    async def work(brief: Brief, desk: Any) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
        return "Never."

    async with opened(agent(work, role="asker"), agent(calm, name="bo")) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "asker"}, "b"))

    assert (statuses(run)["b"], run.tasks[0].error) == ("done", "the well is dry")
