"""What runs learn from runs, on a file and on PostgreSQL: advice, the record of agents, showing and forgetting."""

import asyncio
import json
from typing import Any

import pytest
from langgraph.store.base import PutOp

from graph.cli.main import main
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.run import Run
from tests.runs import plan


async def says_its_task(brief: Brief, desk: Any) -> str:
    return f"done: {brief.task.description}"


async def ran(address: str, request: str, thread: str, *plans: dict[str, Any]) -> Run:
    """A run in a process of its own, as far as the database can tell; its model has these plans and no more."""
    team = [AgentSpec(name="ada", role="generalist", run=says_its_task)]
    async with open_supervisor(address, team, {"learning": "apply"}, ScriptedModel([*plans])) as sup:
        return await sup.start(request, thread_id=thread)


def test_what_went_well_is_advised_found_by_its_like_and_forgotten(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plan("size", {"id": "text", "description": "Write about the tea market", "depends_on": ["size"]})
    for n in range(3):
        asyncio.run(ran(address, "Analyze the tea market", f"tea {n}", made))
    run = asyncio.run(ran(address, "Analyze the coffee market", "coffee"))
    other = asyncio.run(ran(address, "Delete the tea market analysis", "other", plan("a")))

    assert run.advice
    assert (run.advice.is_applied, sorted(run.advice.threads)) == (True, ["tea 0", "tea 1", "tea 2"])
    assert [task.description for task in run.tasks] == ["Do size.", "Write about the coffee market"]
    assert (other.status, other.advice) == ("complete", None)

    capsys.readouterr()
    assert main(["history", "--like", "Do a market analysis of cocoa", "--db", address, "--json"]) == 0
    assert {one["thread_id"] for one in json.loads(capsys.readouterr().out)} == {"tea 0", "tea 1", "tea 2", "coffee"}
    for thread in ("tea 0", "tea 1", "coffee"):
        assert main(["history", "--forget", thread, "--db", address]) == 0
    assert asyncio.run(ran(address, "Analyze the coffee market", "again", plan("a"))).advice is None


def test_runs_of_a_version_that_did_not_keep_what_was_asked_are_found(address: str) -> None:
    async def forget_what_was_asked() -> None:
        async with open_supervisor(address, [AgentSpec(name="ada", role="generalist", run=says_its_task)]) as sup:
            store = sup._runs.database.store
            rows = await store.asearch(("episodes",))
            old = [(row, {key: said for key, said in row.value.items() if key != "asks"}) for row in rows]
            await store.abatch([PutOp(row.namespace, row.key, value) for row, value in old])

    for n in range(3):
        asyncio.run(ran(address, "Analyze the tea market", f"tea {n}", plan("size")))
    asyncio.run(forget_what_was_asked())
    run = asyncio.run(ran(address, "Analyze the coffee market", "coffee"))

    assert run.advice
    assert sorted(run.advice.threads) == ["tea 0", "tea 1", "tea 2"]
