"""A server that asks to be left alone is, by all agents at once, within the run's time; and a wait can be ended."""

import asyncio
import time
from email.utils import formatdate
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from graph.testing import HeldClock
from nodes.llm.choose import make_models
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief, Limits
from state.signal import Cancel, Pause, Takeover
from tests.journeys.steered import THREAD, happened, supervisor
from tests.runs import opened, plan
from tests.servers.openai_stub import Failure, Hang, OpenAIStub, Request, Say

TEN = plan(*(f"t{n}" for n in range(10)))
START = 1_000_000.0


def model_at(url: str) -> BaseChatModel:
    return make_models(api_key=SecretStr("k"), base_url=url, model="stub-model").default


def asks_in_a_function(model: BaseChatModel) -> Any:
    async def run(brief: Brief, desk: Desk) -> str:
        return str((await model.ainvoke(brief.task.description)).text)

    return run


class Busy:
    """A server that refuses its first call, and every one that comes too early; it bears `room` calls a pause."""

    def __init__(self, clock: HeldClock, seconds: float = 8, headers: dict[str, str] | None = None) -> None:
        self.clock, self.seconds = clock, seconds
        self.headers = headers or {"retry-after": f"{seconds:g}"}
        self.asked: list[float] = []

    def __call__(self, request: Request) -> Failure | Say:
        now = self.clock.now() - START
        self.asked.append(now)
        return Failure(429, "slow down", headers=self.headers) if now < self.seconds else Say(f"Done at {now}.")

    @property
    def early(self) -> int:
        return sum(now < self.seconds for now in self.asked)


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "8"},
        {"retry-after": formatdate(START + 8, usegmt=True), "date": formatdate(START, usegmt=True)},
        {"retry-after-ms": "8000"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "8s"},
    ],
    ids=str,
)
async def test_all_agents_of_a_server_wait_once_for_as_long_as_it_asks(headers: dict[str, str]) -> None:
    clock = HeldClock(START)
    busy = Busy(clock, headers=headers)
    with OpenAIStub(busy) as server:
        model = model_at(server.url)
        other = make_models(api_key=SecretStr("k"), base_url=server.url, model="another").default
        team = [
            AgentSpec(name="ada", role="generalist", model=model),
            AgentSpec(name="bob", role="tester", model=other),
        ]
        tasks = plan(*({"id": f"t{n}", "role": ("generalist", "tester")[n % 2]} for n in range(10)))
        async with opened(*team, model=model, clock=clock, max_iterations=0, max_parallel=1) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=tasks)
            pauses = await happened(sup, "server_paused")
            retried = [event for event in await sup.events(THREAD) if event.kind == "task_retried"]

    assert run.status == "complete"
    assert (busy.early, len(busy.asked)) == (1, 12), "ten tasks and the editor, once more"
    assert [(event.data["server"], event.data["delay_s"]) for event in pauses] == [(server.url.removesuffix("/v1"), 8)]
    assert retried == [], "to be told to wait is no failed attempt"


async def test_calls_under_way_when_the_first_is_refused_make_no_pause_of_their_own() -> None:
    asked: list[float] = []

    def busy(request: Request) -> Failure | Say:
        asked.append(time.monotonic())
        return Failure(429, headers={"retry-after": "1"}) if asked[-1] < asked[0] + 1 else Say("Done.")

    with OpenAIStub(busy) as server:
        spec = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        async with supervisor(spec, model=spec.model, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=TEN)
            pauses = await happened(sup, "server_paused")

    early = sum(one < asked[0] + 1 for one in asked)
    assert (run.status, len(pauses)) == ("complete", 1)
    assert 1 <= early <= 10
    assert len(asked) == early + 11, "after the wait every call is answered"


@pytest.mark.parametrize("way", ["create_agent", "a Runnable", "a function"])
async def test_calls_that_agents_make_themselves_wait_too(way: str) -> None:
    clock = HeldClock(START)
    busy = Busy(clock)
    with OpenAIStub(busy) as server:
        model = model_at(server.url)
        runs = {"create_agent": create_agent(model, []), "a Runnable": model, "a function": asks_in_a_function(model)}
        spec = AgentSpec(name="ada", role="generalist", run=runs[way])
        async with opened(spec, model=model, clock=clock, max_iterations=0, max_parallel=1) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=TEN)
            pauses = await happened(sup, "server_paused")

    assert (run.status, len(pauses), busy.early) == ("complete", 1, 1)


async def test_a_storm_of_refusals_is_got_through_with_few_calls_in_vain() -> None:
    clock = HeldClock(START)
    asked: list[float] = []
    answered: list[float] = []

    def three_in_ten_seconds(request: Request) -> Failure | Say:
        now = clock.now()
        asked.append(now)
        window = now // 10
        if sum(at // 10 == window for at in answered) >= 3:
            return Failure(429, "slow down", headers={"retry-after": str((window + 1) * 10 - now)})
        answered.append(now)
        return Say("Done.")

    with OpenAIStub(three_in_ten_seconds) as server:
        spec = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        thirty = plan(*(f"t{n}" for n in range(30)))
        async with opened(spec, model=spec.model, clock=clock, max_iterations=0, max_parallel=30) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=thirty)

    assert [task.status for task in run.tasks] == ["done"] * 30
    assert len(asked) - len(answered) < 30 + 30


@pytest.mark.parametrize("seconds", [86_400, 1e15])
async def test_a_wait_that_the_run_has_no_time_for_ends_in_words_and_is_not_tried_by_others(seconds: float) -> None:
    clock = HeldClock(START)
    with OpenAIStub(Busy(clock, seconds)) as server:
        model = model_at(server.url)
        team = [AgentSpec(name=name, role="generalist", model=model) for name in ("ada", "bob")]
        async with opened(*team, model=model, clock=clock, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.status, len(server.requests)) == ("failed", 1)
    assert "asks to wait" in str(run.tasks[0].error)
    assert "longer than there is time" in str(run.tasks[0].error)
    assert clock.now() < START + 60


@pytest.mark.parametrize("said", ["soon", "-5", "nan", "Mon, 99 Foo 2026", "", "1e400", "８", "0"])
async def test_a_retry_after_that_makes_no_sense_is_no_reason_to_give_up_or_to_hurry(said: str) -> None:
    clock = HeldClock(START)
    refused = Failure(429, "slow down", headers={"retry-after": said} if said.isascii() else {})
    with OpenAIStub([refused, Say("Done.")]) as server:
        spec = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        async with opened(spec, model=spec.model, clock=clock, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert run.status == "complete"
    assert clock.now() >= START + 0.5


@pytest.mark.parametrize("said", ["0", "0.1"])
async def test_a_server_that_refuses_for_ever_and_asks_for_no_wait_is_given_up_in_words(said: str) -> None:
    clock = HeldClock(START)
    with OpenAIStub(Failure(429, "slow down", headers={"retry-after": said})) as server:
        model = model_at(server.url)
        team = [AgentSpec(name=name, role="generalist", model=model) for name in ("ada", "bob")]
        async with opened(*team, model=model, clock=clock, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.status, len(server.requests)) == ("failed", 8), "no other agent of this server tries it again"
    assert "has refused 8 calls in a row" in str(run.tasks[0].error)
    assert "take another model" in str(run.tasks[0].error)
    assert START + 30 < clock.now() < START + 120


async def test_the_supervisors_own_calls_wait_too() -> None:
    clock = HeldClock(START)
    busy = Busy(clock)
    with OpenAIStub(busy) as server:
        spec = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        async with opened(spec, model=spec.model, clock=clock, max_iterations=0, max_attempts=1) as sup:
            run = await sup.start("Q", thread_id=THREAD)
            pauses = await happened(sup, "server_paused")

    assert "no usable plan draft" in str(run.error), "it was asked for a plan, after the wait"
    assert (busy.early, len(pauses)) == (1, 1)


@pytest.mark.parametrize("planned", [True, False], ids=["working", "planning"])
@pytest.mark.parametrize(
    ("signal", "status"), [(Pause(), "paused"), (Takeover(), "handed_over"), (Cancel(), "cancelled")]
)
async def test_whoever_stops_the_run_does_not_wait_for_the_server(signal: Any, status: str, planned: bool) -> None:
    refused = Failure(429, "slow down", headers={"retry-after": "300"})
    with OpenAIStub(refused) as server:
        spec = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        async with supervisor(spec, model=spec.model, max_iterations=0) as sup:
            running = asyncio.create_task(sup.start("Q", thread_id=THREAD, plan=plan("a") if planned else None))
            await happened(sup, "server_paused")
            await sup.signal(THREAD, signal)
            async with asyncio.timeout(60):
                await running
            run = await sup.view(THREAD)  # it may have looked while the signal's sender had the lease

    assert (run.status, len(server.requests)) == (status, 1)


async def test_a_time_out_is_not_tried_again_nor_by_another_agent_of_that_server_but_by_one_of_another() -> None:
    with OpenAIStub(Hang()) as slow, OpenAIStub("Done.") as quick:
        hanging = make_models(api_key=SecretStr("k"), base_url=slow.url, model="m", timeout_s=0.3).default
        team = [AgentSpec(name=name, role="generalist", model=hanging) for name in ("ada", "bob")]
        elsewhere = AgentSpec(name="cid", role="generalist", model=model_at(quick.url))
        async with opened(*team, model=hanging, max_iterations=0) as sup:
            failed = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        asked = len(slow.requests)
        async with opened(team[0], elsewhere, model=hanging, max_iterations=0) as sup:
            done = await sup.start("Q", thread_id="other", plan=plan("a"))

    assert (asked, failed.status) == (1, "failed")
    assert "did not answer in time" in str(failed.tasks[0].error)
    assert (done.status, done.tasks[0].agent) == ("complete", "cid")


async def test_a_time_out_inside_a_graph_of_ones_own_is_not_tried_again_either() -> None:
    with OpenAIStub(Hang()) as slow:
        hanging = make_models(api_key=SecretStr("k"), base_url=slow.url, model="m", timeout_s=0.3).default
        spec = AgentSpec(name="ada", role="generalist", run=create_agent(hanging, []))
        async with opened(spec, model=hanging, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (len(slow.requests), run.status) == (1, "failed")
    assert "did not answer in time" in str(run.tasks[0].error)


async def test_after_a_kill_in_the_pause_the_run_goes_on_and_still_does_not_call_too_early() -> None:
    asked: list[float] = []

    def busy(request: Request) -> Failure | Say:
        asked.append(time.monotonic())
        return Failure(429, headers={"retry-after": "2"}) if asked[-1] < asked[0] + 2 else Say("Done.")

    with OpenAIStub(busy) as server:
        spec = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        async with supervisor(spec, model=spec.model, max_iterations=0) as sup:
            running = asyncio.create_task(sup.start("Q", thread_id=THREAD, plan=plan("a")))
            await happened(sup, "server_paused")
            running.cancel()
            await asyncio.wait({running})
            run = await sup.resume(THREAD)

    assert (run.status, len(asked)) == ("complete", 2)


async def test_another_process_and_one_after_a_kill_wait_as_long_as_the_first_was_told() -> None:
    """A supervisor with a clock of its own knows of no servers but what the database says."""
    first, later = HeldClock(START), HeldClock(START + 995)
    busy = Busy(first, 1000)
    with OpenAIStub(busy) as server:
        model = model_at(server.url)
        spec = AgentSpec(name="ada", role="generalist", model=model)
        async with opened(spec, model=model, clock=first, max_iterations=0) as sup:
            failed = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        busy.clock = later
        async with opened(spec, model=model, clock=later, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id="other", plan=plan("a"))
            pauses = [event for event in await sup.events("other") if event.kind == "server_paused"]

    assert (failed.status, run.status, busy.early) == ("failed", "complete", 1)
    assert [event.data["delay_s"] for event in pauses] == [5]


async def test_a_pause_told_by_a_clock_that_was_ahead_is_waited_for_no_longer_than_it_was_asked_for() -> None:
    ahead, clock = HeldClock(START + 86_400), HeldClock(START)
    with OpenAIStub([Failure(429, headers={"retry-after": "1000"}), Say("Done.")]) as server:
        hasty = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        spec = hasty.model_copy(update={"limits": Limits(timeout_s=2000)})
        async with opened(hasty, model=spec.model, clock=ahead, max_iterations=0) as sup:
            await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        async with opened(spec, model=spec.model, clock=clock, max_iterations=0) as sup:
            run = await sup.start("Q", thread_id="other", plan=plan("a"))

    assert (run.status, clock.now()) == ("complete", START + 1000)


async def test_a_trickle_ends_when_a_call_has_taken_as_long_as_it_may() -> None:
    with OpenAIStub(Say("word " * 10_000, every_s=0.02)) as server:
        spec = AgentSpec(name="ada", role="generalist", model=model_at(server.url))
        async with opened(spec, model=spec.model, max_iterations=0, call_timeout_s=0.5) as sup:
            run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.status, len(server.requests)) == ("failed", 1)
    assert "was still answering after 0.5 s (call_timeout_s)" in str(run.tasks[0].error)
