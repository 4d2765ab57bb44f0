"""Sensitive tools of agents that are two levels down in supervisors made by langgraph-supervisor."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool
from langgraph_supervisor import create_supervisor

from graph import governed
from nodes.llm.scripted import ScriptedModel
from tests.nodes.agents.outbox import Outbox, answered, call, own, told
from tests.runs import agent, opened, plan, statuses

pytestmark = pytest.mark.filterwarnings("ignore:.*has been moved to.*:DeprecationWarning")


def two_levels_up(clerk: ScriptedModel, tools: Sequence[BaseTool]) -> Any:
    """A supervisor of a supervisor of an agent with these tools."""
    inner = create_agent(clerk, list(tools), name="clerk")
    lead = ScriptedModel([{"name": "transfer_to_clerk", "args": {}}, "The office has done it."])
    office = create_supervisor([inner], model=lead, supervisor_name="lead").compile(name="office")
    head = ScriptedModel([{"name": "transfer_to_office", "args": {}}, "All is done."])
    return create_supervisor([office], model=head, supervisor_name="head").compile(name="house")


@pytest.mark.parametrize(
    ("answer", "done", "said"),
    [
        ("approve", ["post bob"], "posted to bob"),
        ("reject: not him", [], "ana did not allow this: not him; do not call it again, go on without it"),
    ],
)
async def test_it_waits_at_the_call_and_goes_on_from_there(answer: str, done: list[str], said: str) -> None:
    box, clerk = Outbox(), ScriptedModel([call("post", to="bob"), "Done."])
    tasks = plan({"id": "a", "role": "own"}, "b")
    async with opened(own(two_levels_up(clerk, box.tools())), agent(), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=tasks)
        assert (waiting.status, statuses(waiting), box.done) == ("waiting", {"a": "parked", "b": "done"}, [])
        assert [(question.action, question.args) for question in waiting.approvals] == [("post", {"to": "bob"})]
        run = await answered(sup, waiting, bob=answer)

    assert (run.status, run.tasks[0].result) == ("complete", "All is done.")
    assert (box.done, told(clerk)[-1]) == (done, said)
    assert len(clerk.calls) == 2


async def test_governed_it_can_be_edited_down_there_too() -> None:
    box, clerk = Outbox(), ScriptedModel([call("post", to="bob"), "Done."])
    async with opened(own(two_levels_up(clerk, [governed(box.post())])), max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "role": "own"}))
        run = await answered(sup, waiting, bob={"type": "edit", "args": {"to": "eve"}})

    assert (run.status, run.tasks[0].result, box.done) == ("complete", "All is done.", ["post eve"])
    assert told(clerk)[-1] == "posted to eve"
