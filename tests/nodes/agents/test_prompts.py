"""What agents are told of their task: role, review round, artifacts; as prompt and as data."""

import sys
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief, Skills
from state.replies import PlanDraft, Review, TaskDraft, Verdict
from tests.runs import agent, opened, plan

THINKS = AgentSpec(name="gen", role="generalist", skills=Skills(kinds={"general": 0.9, "writing": 0.9}))


async def makes_a_file(brief: Brief, desk: Any) -> dict[str, Any]:
    artifact = {"name": "a.csv", "path": "a.csv", "bytes": 1, "sha256": "0", "task_id": "a"}
    return {"result": "made", "artifacts": [artifact]}


class State(TypedDict, total=False):
    messages: list[Any]
    task: dict[str, Any]
    result: str


@pytest.mark.parametrize(("kind", "rounds"), [("model", 2), ("runnable", 1), ("graph", 1)])
async def test_whoever_works_is_told_the_round_and_how_many_artifacts_there_are(kind: str, rounds: int) -> None:
    seen: list[Any] = []

    def look(given: Any) -> Any:
        seen.append(given)
        return {"result": f"version {len(seen)}"}

    graph: Any = StateGraph(State)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    graph.add_edge("look", END)
    run = {"model": None, "runnable": RunnableLambda(look), "graph": graph.compile()}[kind]
    back = Review(verdicts=[Verdict(task_id="b", accept=False, feedback="Shorter.")])
    model = ScriptedModel({"You are own,": ["one", "two"], "You review": [back]})
    steps = plan("a", {"id": "b", "role": "own", "depends_on": ["a"]}, complexity=0.9)
    team = [agent(makes_a_file), AgentSpec(name="own", role="own", run=run)]
    async with opened(*team, model=model, max_iterations=1) as sup:
        await sup.start("Q", plan=steps)

    prompts = [str(call.messages[-1].text) for call in model.calls if "You are own," in str(call.messages[0].text)]
    prompts += [given["messages"][0].text for given in seen]
    heads = [next(line for line in prompt.splitlines() if line.startswith("<task ")) for prompt in prompts]
    sys.stdout.write("\n\n".join(prompts))
    assert heads == [f'<task id="b" kind="general" role="own" iteration="{n}" artifacts="1">' for n in range(rounds)]
    assert [(one["task"]["iteration"], one["task"]["artifacts"]) for one in seen] == [(0, 1)] * len(seen)


async def test_a_role_that_a_plan_asks_for_reaches_the_prompt_of_whoever_does_it() -> None:
    model = ScriptedModel(["Checked."])
    async with opened(THINKS, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "lawyer", "kind": "writing"}))

    assert run.status == "complete"
    assert "You are gen, the generalist of a team. For this task you are its lawyer." in model.calls[0].messages[0].text


async def test_a_role_that_a_model_asks_for_and_nobody_has_reaches_the_prompt() -> None:
    draft = PlanDraft(tasks=[TaskDraft(id="a", description="Check it.", role="tax lawyer", kind="writing")])
    model = ScriptedModel([draft, "Checked."])
    async with opened(THINKS, model=model, max_iterations=0) as sup:
        run = await sup.start("Q")

    assert run.tasks[0].role == "generalist"
    assert "Check it.\n\nThe role for it: tax lawyer." in str(model.calls[1].messages[1].text)


async def test_a_role_that_is_recruited_reaches_the_prompt() -> None:
    async def recruits(brief: Brief, desk: Any) -> str:
        return str((await desk.result(await desk.recruit("tax lawyer", "Check it."))).text)

    model = ScriptedModel(["Checked."])
    async with opened(agent(recruits, "boss", "boss"), THINKS, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "boss"}))

    assert run.tasks[0].result == "Checked."
    assert "For this task you are its tax lawyer." in str(model.calls[0].messages[0].text)


async def test_the_editor_is_given_each_statement_once_with_the_task_that_made_it_first() -> None:
    both = "Tea has 30 mg of caffeine in a cup."
    replies: dict[Any, Any] = {
        "Do a.": [f"- {both}\n- It is drunk hot.\n\nConfidence: 0.9"],
        "Do b.": [f"- {both}\n- It grows in Assam.\n\nConfidence: 0.9"],
        "put the findings": ["Tea is drunk hot, and grows in Assam."],
    }
    model = ScriptedModel(replies)
    async with opened(THINKS, model=model, max_iterations=0) as sup:
        await sup.start("Q", plan=plan("a", "b"))

    asked = [call.messages for call in model.calls if "put the findings" in str(call.messages[0].text)]
    [prompt] = [str(messages[-1].text) for messages in asked]
    assert [prompt.count(said) for said in (both, "It is drunk hot.", "It grows in Assam.")] == [1, 1, 1]
    assert prompt.index(both) < prompt.index('<finding task="b"')
