"""LangChain Runnables as agents, and what of their answers is the result."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel, JsonValue

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.run import Run
from tests.runs import opened, plan


class Answer(BaseModel):
    number: int


async def one(run: Any, **policy: Any) -> Run:
    async with opened(AgentSpec(name="own", role="generalist", run=run), max_iterations=0, **policy) as sup:
        return await sup.start("Q", plan=plan({"id": "a", "description": "Count the ships."}))


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("3 ships", "3 ships"),
        (AIMessage("3 ships"), "3 ships"),
        ({"messages": [AIMessage("no"), AIMessage("3 ships")]}, "3 ships"),
        ({"messages": [{"role": "assistant", "content": [{"type": "text", "text": "3 ships"}]}]}, "3 ships"),
        ({"result": "3 ships", "messages": [AIMessage("no")]}, "3 ships"),
        ({"structured_response": Answer(number=3), "messages": []}, {"number": 3}),
        (Answer(number=3), {"number": 3}),
        ({"ships": 3}, {"ships": 3}),
    ],
)
async def test_the_result_is_found_in_whatever_a_runnable_returns(answer: Any, result: Any) -> None:
    run = await one(RunnableLambda(lambda _: answer))
    assert (run.status, run.tasks[0].result) == ("complete", result)


async def test_it_is_given_messages_and_the_task_as_data() -> None:
    seen: list[Any] = []

    def look(given: Any) -> str:
        seen.append(given)
        return "seen"

    await one(RunnableLambda(look))

    assert seen[0]["task"]["description"] == "Count the ships."
    assert "Count the ships." in seen[0]["messages"][0].text


async def test_a_chain_and_a_bare_chat_model_are_agents_and_their_tokens_count() -> None:
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), ("placeholder", "{messages}")])
    model = ScriptedModel(["3 ships", "4 ships"], usage=(10, 1))
    first = await one(chain | model)
    second = await one(model)

    assert [run.tasks[0].result for run in (first, second)] == ["3 ships", "4 ships"]
    for run in (first, second):
        assert (run.usage.calls, run.usage.total_tokens, run.tasks[0].tokens) == (1, 11, 11)


async def test_the_runs_budget_stops_the_model_calls_of_an_agent_that_brings_its_own() -> None:
    model = ScriptedModel({lambda _: True: {"name": "look", "args": {}}})

    @tool
    def look() -> str:
        """Look."""
        return "nothing yet"

    run = await one(create_agent(model, tools=[look]), max_agent_iterations=5, max_attempts=1)

    assert len(model.calls) == 5
    assert "max_agent_iterations" in str(run.tasks[0].error)


async def test_an_agent_made_by_create_agent_asks_by_its_own_middleware() -> None:
    sent: list[str] = []

    @tool
    def send_mail(to: str) -> str:
        """Send it."""
        sent.append(to)
        return f"sent to {to}"

    calls = [{"name": "send_mail", "args": {"to": to}, "id": to} for to in ("bob", "eve", "zoe")]
    model = ScriptedModel([calls, "All done."], usage=(10, 1))
    middleware = HumanInTheLoopMiddleware(interrupt_on={"send_mail": True})
    own = create_agent(model, tools=[send_mail], middleware=[middleware])
    async with opened(AgentSpec(name="own", role="generalist", run=own), max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))
        assert [(q.action, q.args["to"]) for q in run.approvals] == [("send_mail", to) for to in ("bob", "eve", "zoe")]
        answers: list[JsonValue] = ["approve", {"type": "edit", "args": {"to": "max"}}, "reject: not her"]
        for question, answer in zip(run.approvals, answers, strict=True):
            run = await sup.answer(run.thread_id, {question.id: answer})

    assert (run.status, run.tasks[0].result) == ("complete", "All done.")
    assert sorted(sent) == ["bob", "max"]
    assert "not her" in str([message.text for message in model.calls[-1].messages])
    assert (run.usage.calls, run.usage.total_tokens) == (2, 22)
