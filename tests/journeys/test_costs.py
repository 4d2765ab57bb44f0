"""Money: what tokens cost at the policy's prices, what nobody knows the price of, and a budget that counts both."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.prompts import ChatPromptTemplate
from pydantic import SecretStr

from nodes.llm.choose import make_models
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.policy import Price
from tests.journeys.steered import THREAD, happened, supervisor
from tests.journeys.test_token_budget import WAYS, Writer
from tests.runs import agent, plan
from tests.servers.openai_stub import Events, OpenAIStub, Say

PRICES = {"writer": Price(input=1_000, output=10_000)}
"""US dollars per million: a token written costs a cent."""


@pytest.mark.parametrize("way", WAYS)
async def test_tokens_cost_what_the_policy_says_by_task_and_by_agent(way: str) -> None:
    model = Writer(length=20)
    async with supervisor(WAYS[way](model), model=model, max_iterations=0, prices=PRICES) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    cost = (model.used - 20) * 0.001 + 20 * 0.01
    [task] = run.tasks
    assert (task.cost, task.model, task.provider) == (pytest.approx(cost), "writer", "writer")
    assert (run.usage.cost, run.used_by["ada"].cost) == (pytest.approx(cost), pytest.approx(cost))
    assert (run.usage.unpriced, run.warnings) == (0, [])
    assert "not those of raw clients" in str(run.report)
    assert f"- Used for tasks: `a` 1 call, {model.used} tokens, ${cost:.2f}, by writer (writer)" in str(run.report)


async def test_a_cost_budget_holds_for_tokens_and_is_not_exceeded() -> None:
    model = Writer(length=50)
    policy: Any = {"prices": PRICES, "cost_budget": 2.0, "max_tokens": {"worker": 50}, "max_iterations": 0}
    tasks = plan(*(f"t{n}" for n in range(10)))
    async with supervisor(WAYS["a worker"](model), model=model, max_parallel=10, **policy) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=tasks)

    assert 0 < run.usage.cost <= 2.0
    assert (run.status, "cost_budget of $2.00 is used up" in str(run.error)) == ("partial", True)


async def test_a_model_without_a_price_is_named_where_money_is_budgeted() -> None:
    model = Writer(length=20)
    async with supervisor(WAYS["a function"](model), model=model, max_iterations=0, cost_budget=1.0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.status, run.usage.unpriced, run.tasks[0].cost) == ("complete", 1, None)
    assert run.warnings == ["the cost_budget does not count calls of writer: `prices` has no price of it"]


async def test_functions_that_cost_more_than_there_is_are_warned_of() -> None:
    async def pays(brief: Brief, desk: Desk) -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return {"result": "So.", "cost": 5.0}

    async with supervisor(agent(pays), cost_budget=1.0, oversight="on_the_loop") as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a", "b"))
        said = [str(event.data["reason"]) for event in await happened(sup, "budget_exceeded")]

    assert any("were used of a cost_budget of $1.00" in warning for warning in run.warnings)
    assert any("were used of a cost_budget of $1.00" in reason for reason in said)


async def test_calls_with_callbacks_of_their_own_are_counted_too_in_threads_and_chains() -> None:
    model = Writer(length=20)
    own: Any = {"callbacks": [BaseCallbackHandler()]}

    async def asks(brief: Brief, desk: Desk) -> str:
        await model.ainvoke("Go.", own)
        await asyncio.to_thread(model.invoke, "Go.", own)
        model.invoke("Go.", own)
        await (ChatPromptTemplate.from_template("{x}") | model).ainvoke({"x": "Go."}, own)
        return "Done."

    async with supervisor(agent(asks), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
    await model.ainvoke("Out here nobody counts.", own)

    assert (run.status, run.usage.calls) == ("complete", 4)


async def test_what_a_reply_has_used_that_broke_off_is_counted() -> None:
    word = {"id": "1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "wor "}}]}
    said: list[Any] = [*[word] * 30, {"error": {"message": "no more"}}]
    cut = [b"data: " + json.dumps(one).encode() + b"\n\n" for one in said]
    with OpenAIStub([Events(cut), Say("Done.", usage=(20, 2))]) as server:
        model = make_models(api_key=SecretStr("k"), base_url=server.url, model="stub").default
        spec = AgentSpec(name="ada", role="generalist")
        async with supervisor(spec, model=model, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.status, run.usage.calls, run.usage.output_tokens) == ("complete", 2, 32)


async def test_rules_cost_nothing() -> None:
    async with supervisor(agent(), model=ScriptedModel([])) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.usage.unpriced, run.tasks[0].cost) == (0, 0.0)
