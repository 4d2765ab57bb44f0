"""A budget of tokens holds whatever models reply: fifty at once, long replies, no usage told, and calls of others."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr, SecretStr

from nodes.llm.choose import make_models
from nodes.llm.tokens import tokens_in
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief, Limits
from state.errors import BadInput
from state.run import Run
from tests.journeys.steered import THREAD, happened, supervisor
from tests.journeys.turns import thinned
from tests.runs import plan
from tests.servers.openai_stub import Hangup, OpenAIStub, Request, Say

FIFTY = plan(*(f"t{n}" for n in range(50)))
BUDGET = 10_000
LONG = 5_000
"""Tokens that a model writes if nobody stops it."""


class Writer(BaseChatModel):
    """Writes LONG tokens, or as many as it is allowed; `read` and `written` are what it really used."""

    usage: Any = "true"
    """What it tells: `true`, None, or a number that is told for both."""
    heeds: bool = True
    length: int = LONG
    model_name: str = "writer"
    _calls: list[tuple[int, int]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "writer"

    @property
    def used(self) -> int:
        """Tokens of all calls."""
        return sum(map(sum, self._calls))

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The same: it reads of them, and calls none."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        cap = kwargs.get("max_tokens") if self.heeds else None
        written = min(self.length, cap or self.length)
        read = sum(4 + tokens_in(str(message.text)) for message in messages)
        read += sum(tokens_in(json.dumps(tool)) for tool in kwargs.get("tools") or ())
        self._calls.append((read, written))
        told = {"true": (read, written)}.get(self.usage, (self.usage, self.usage)) if self.usage is not None else None
        message = AIMessage("wor " * written, response_metadata={"finish_reason": ("stop", "length")[cap == written]})
        if told:
            message.usage_metadata = UsageMetadata(input_tokens=told[0], output_tokens=told[1], total_tokens=sum(told))
        return ChatResult(generations=[ChatGeneration(message=message)])


def worker(model: BaseChatModel) -> AgentSpec:
    return AgentSpec(name="ada", role="generalist", model=model)


def with_create_agent(model: BaseChatModel) -> AgentSpec:
    return AgentSpec(name="ada", role="generalist", run=create_agent(model, []))


def as_runnable(model: BaseChatModel) -> AgentSpec:
    return AgentSpec(name="ada", role="generalist", run=model)


def within_a_function(model: BaseChatModel) -> AgentSpec:
    async def asks(brief: Brief, desk: Desk) -> str:
        return str((await model.ainvoke(brief.task.description)).text)

    return AgentSpec(name="ada", role="generalist", run=asks)


WAYS: dict[str, Callable[[BaseChatModel], AgentSpec]] = {
    "a worker": worker,
    "create_agent": with_create_agent,
    "a Runnable": as_runnable,
    "a function": within_a_function,
}


async def fifty(spec: AgentSpec, model: BaseChatModel) -> tuple[Run, list[str]]:
    policy = {"token_budget": BUDGET, "max_parallel": 50, "max_iterations": 0, "max_attempts": 1}
    async with supervisor(spec, model=model, **policy) as sup:  # type: ignore[arg-type]
        run = await sup.start("Q", thread_id=THREAD, plan=FIFTY)
        return run, [str(event.data["reason"]) for event in await happened(sup, "budget_exceeded")]


@pytest.mark.parametrize("usage", thinned(["true", -1, None, 10**15], every=2))
@pytest.mark.parametrize("way", WAYS)
async def test_fifty_tasks_at_once_stay_within_the_budget_whatever_usage_is_told(way: str, usage: Any) -> None:
    model = Writer(usage=usage)
    run, _ = await fifty(WAYS[way](model), model)

    assert LONG - 1000 < model.used <= BUDGET * 1.05
    assert run.usage.total_tokens == pytest.approx(model.used, rel=0.05)
    assert [task.status for task in run.tasks].count("done") >= 1
    assert (run.status, run.error is not None and "token_budget" in run.error) == ("partial", True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("length", thinned([3_000, 7_000, 20_000]))
async def test_a_model_that_ignores_its_cap_goes_at_most_one_reply_above_the_budget(way: str, length: int) -> None:
    model = Writer(heeds=False, length=length)
    run, said = await fifty(WAYS[way](model), model)

    assert model.used <= BUDGET + length
    if model.used > BUDGET:
        assert any("more than it was to" in warning for warning in run.warnings)
        assert any("more than it was to" in reason for reason in said)
        assert run.report is not None
        assert "more than it was to" in run.report


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("way", WAYS)
async def test_what_was_written_of_replies_that_broke_off_is_counted(way: str, is_streamed: bool) -> None:
    """Streamed it is what came; otherwise nobody knows, and it counts as all that it might have been."""
    used: list[int] = []

    def break_off(request: Request) -> Hangup:
        read = sum(4 + tokens_in(str(message["content"])) for message in request.body["messages"])
        streams = bool(request.body.get("stream"))
        used.append(read + min(1_000 if streams else 4_000, request.body.get("max_tokens", LONG)))
        return Hangup(f"{'wor.' * 100} " * 20, chunks=11 if streams else 0)

    with OpenAIStub(break_off) as server:
        model: Any = make_models(api_key=SecretStr("k"), base_url=server.url, model="stub-model").default
        spec = WAYS[way](model.model_copy(update={"streaming": is_streamed}))
        limits: dict[str, Any] = {"token_budget": BUDGET, "max_iterations": 0, "max_attempts": 1, "max_parallel": 2}
        limits["failure_threshold"] = {"default": 1.0}
        async with supervisor(spec, model=model, **limits) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=plan(*(f"t{n}" for n in range(10))))

    assert len(used) >= 2
    assert sum(used) <= BUDGET * 1.05 + (0 if way == "a worker" or is_streamed else 4_000)
    assert run.usage.total_tokens >= 0.95 * sum(used)


@pytest.mark.parametrize("asked", ["You review the results", "You put the findings"])
async def test_what_review_or_editor_use_above_the_budget_is_in_the_warnings_and_the_report(asked: str) -> None:
    class Wordy(Writer):
        def _generate(
            self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Any:
            self.heeds, self.length = asked not in str(messages), BUDGET if asked in str(messages) else 20
            return super()._generate(messages, stop, run_manager, **kwargs)

    model = Wordy()
    async with supervisor(worker(model), model=model, token_budget=BUDGET, max_tokens={"worker": 20}) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a", "b"))
        said = [event.data["reason"] for event in await happened(sup, "budget_exceeded")]

    [warning] = [warning for warning in run.warnings if "more than it was to" in warning]
    assert warning in said
    assert f"- Note: {warning}" in (run.report or "")
    assert run.status == "complete"


@pytest.mark.parametrize("tells", thinned([False, True]))
async def test_a_server_of_openai_s_protocol_is_told_the_cap_with_every_call(tells: bool) -> None:
    used: list[int] = []

    def write(request: Request) -> Say:
        written = min(LONG, request.body["max_tokens"])
        read = sum(4 + tokens_in(str(message["content"])) for message in request.body["messages"])
        used.append(read + written)
        return Say("wor " * written, finish="length", usage=(read, written) if tells else None)

    with OpenAIStub(write) as server:
        model = make_models(api_key=SecretStr("k"), base_url=server.url, model="stub-model").default
        run, _ = await fifty(AgentSpec(name="ada", role="generalist"), model)

    assert len(used) >= 2
    assert sum(used) <= BUDGET * 1.05
    assert any(task.status == "done" for task in run.tasks)


@pytest.mark.parametrize("way", WAYS)
async def test_what_a_function_delegates_is_counted_once_and_what_it_asks_itself_besides(way: str) -> None:
    model = Writer(length=20)

    async def asks(brief: Brief, desk: Desk) -> str:
        own = await model.ainvoke("Go.")
        return f"{own.text}{await desk.delegate('hal', 'Help.')}"

    boss = AgentSpec(name="ada", role="generalist", run=asks, workers=["hal"])
    helper = WAYS[way](model).model_copy(update={"name": "hal", "role": "helper"})
    async with supervisor(boss, helper, model=model, token_budget=BUDGET, max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan({"id": "a", "role": "generalist"}))

    assert run.status == "complete"
    assert (run.usage.calls, run.usage.total_tokens) == (2, model.used)


async def test_the_run_says_which_agent_has_used_what_and_with_which_model() -> None:
    model = Writer(length=20)
    team = [worker(model), within_a_function(model).model_copy(update={"name": "bob", "role": "other"})]
    tasks = plan("a", {"id": "b", "role": "other"})
    async with supervisor(*team, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=tasks)

    assert {name: used.calls for name, used in run.used_by.items()} == {"ada": 1, "bob": 1}
    assert sum(used.total_tokens for used in run.used_by.values()) == run.usage.total_tokens == model.used
    assert [(task.model, task.provider, task.cost) for task in run.tasks] == [("writer", "writer", None)] * 2
    assert "cost unknown, by writer (writer)" in str(run.report)
    said = "; ".join(f"{name} {run.used_by[name].in_words}" for name in ("ada", "bob"))
    assert run.report is not None
    assert f"- Used: {said}" in run.report


async def test_a_function_that_blocks_the_loop_with_its_calls_stays_within_the_budget_too() -> None:
    model = Writer()

    async def asks(brief: Brief, desk: Desk) -> str:
        return "".join(str(model.invoke("Go.").text) for _ in range(10))

    run, _ = await fifty(AgentSpec(name="ada", role="generalist", run=asks), model)

    assert model.used <= BUDGET * 1.05 + LONG
    assert run.usage.total_tokens == model.used


async def test_an_agents_own_cap_goes_before_its_models_and_that_before_the_policys() -> None:
    told: list[int] = []

    def write(request: Request) -> str:
        told.append(request.body["max_tokens"])
        return "Done."

    with OpenAIStub(write) as server:
        at = {"name": "m", "base_url": server.url, "max_tokens": 300}
        team = [
            AgentSpec(name="ada", role="first", model=at, limits=Limits(max_tokens=200)),
            AgentSpec(name="bob", role="second", model=at),
            AgentSpec(name="cid", role="third", model={**at, "max_tokens": None}),
        ]
        second, third = {"id": "b", "role": "second"}, {"id": "c", "role": "third"}
        tasks = plan({"id": "a", "role": "first"}, {**second, "depends_on": ["a"]}, {**third, "depends_on": ["b"]})
        async with supervisor(*team, max_iterations=0, max_parallel=1, max_tokens={"worker": 400}) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=tasks)

    assert (run.status, told) == ("complete", [200, 300, 400])


async def test_a_cap_that_nobody_can_tell_the_calls_of_an_agent_is_refused_before_anything_starts() -> None:
    spec = with_create_agent(Writer()).model_copy(update={"limits": Limits(max_tokens=200)})
    with pytest.raises(BadInput, match=r"limits\.max_tokens cannot be enforced"):
        async with supervisor(spec):
            pass
