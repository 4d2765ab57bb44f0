"""What a request denies is not done unasked, whoever comes to do it and whatever it is called."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, StructuredTool

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.replies import PlanDraft, TaskDraft
from state.signal import Cancel
from tests.nodes.agents.outbox import call
from tests.runs import agent, opened, plan

DENIED = "Which licence has Eino? Do not publish anything."
done: list[str] = []


def a_tool(name: str, **marks: Any) -> BaseTool:
    async def act(to: str) -> str:
        """Do it."""
        done.append(to)
        return "done"

    return StructuredTool.from_function(coroutine=act, name=name, description="Do it.", metadata=marks)


def a_worker(*tools: BaseTool, calls: str, name: str = "gen") -> AgentSpec:
    model = ScriptedModel([[call(calls, to="all")], "It is MIT."])
    return AgentSpec(name=name, role="generalist", model=model, tools=list(tools))


def tell(to: str) -> None:
    done.append(to)


async def once(brief: Brief, desk: Any) -> str:
    return str((await desk.once("release_notes", tell, {"to": "all"})).status)


async def recruits(brief: Brief, desk: Any) -> str:
    return str(await desk.recruit("crier", "Tell the world."))


async def delegates(brief: Brief, desk: Any) -> str:
    return str(await desk.delegate("crier", "Tell the world."))


TEAMS: dict[str, Callable[[], Sequence[AgentSpec]]] = {
    "its own tool": lambda: [a_worker(a_tool("publish", sensitive=True), calls="publish")],
    "another name for it": lambda: [a_worker(a_tool("shareWithAll", side_effect=True), calls="shareWithAll")],
    "a name that says nothing": lambda: [a_worker(a_tool("wiki_update", risk="high"), calls="wiki_update")],
    "a name in another language": lambda: [a_worker(a_tool("veröffentlichen", undo="no"), calls="veröffentlichen")],
    "a loop of its own": lambda: [
        AgentSpec(
            name="gen",
            role="generalist",
            run=create_agent(ScriptedModel([[call("publish", to="all")], "MIT."]), [a_tool("publish", sensitive=True)]),
        )
    ],
    "a function": lambda: [agent(once)],
    "a recruit": lambda: [agent(recruits), agent(once, "crier", "crier")],
    "a delegated task": lambda: [agent(delegates, workers=["crier"]), agent(once, "crier", "crier")],
}


@pytest.mark.parametrize("how", TEAMS)
async def test_a_human_is_asked_before_anything_that_the_request_denies(how: str) -> None:
    done.clear()
    async with opened(*TEAMS[how](), oversight="on_the_loop", max_iterations=0) as sup:
        run = await sup.start(DENIED, plan=plan({"id": "a", "role": "generalist"}), thread_id="t")
        question = run.approvals[0]
        assert (done, run.status) == ([], "waiting")
        assert "the request says not to publish" in question.reason
        await sup.answer("t", {question.id: "reject"})
    assert done == []


async def test_what_an_earlier_request_denies_is_denied_until_one_orders_it() -> None:
    done.clear()
    async with opened(agent(once), oversight="on_the_loop", max_iterations=0) as sup:
        await sup.start(DENIED, plan=plan("a"), thread_id="t")
        await sup.signal("t", Cancel())
        run = await sup.start("In one sentence, please.", plan=plan("a"), thread_id="t")
        assert (done, run.status) == ([], "waiting")
        await sup.signal("t", Cancel())
        run = await sup.start("Now publish it.", plan=plan("a"), thread_id="t")
    assert (done, run.status) == (["all"], "complete")


LIES = [
    TaskDraft(id="b", description="Tell the world", action="publish"),
    TaskDraft(id="b", description="Tell the world", action="shareWithAll"),
    TaskDraft(id="b", description="Tell the world", action="veröffentlichen"),
    TaskDraft(id="b", description="Publish the answer on the wiki"),
    TaskDraft(id="b", description="Have the answer published"),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.action or lie.description)
async def test_a_plan_of_a_model_with_what_the_request_denies_is_asked_for_again(lie: TaskDraft) -> None:
    honest = TaskDraft(id="a", description="Which licence has Eino?", role="generalist")
    model = ScriptedModel([PlanDraft(tasks=[honest, lie]), PlanDraft(tasks=[honest])])
    async with opened(agent(), model=model, max_iterations=0) as sup:
        run = await sup.start(DENIED)
    assert [task.id for task in run.tasks] == ["a"]
    assert "would publish, which the request says not to do" in str(model.calls[1].messages[-1].text)
