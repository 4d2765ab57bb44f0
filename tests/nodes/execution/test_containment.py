"""Control always comes back: whatever an agent does, the run goes on, and says what happened."""

import asyncio
import logging
import sys
import threading
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from nodes.agents.worker.act import REFUSED_FROM, STOPPED_FROM
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief, Limits
from state.event import Event
from state.run import Run
from tests.runs import agent, opened, plan, statuses

BAD = {"id": "bad", "role": "bad", "required": False}
SIBLINGS = plan("x", BAD, "y <- x")


async def beside(bad: AgentSpec, model: ScriptedModel | None = None) -> tuple[Run, list[Event]]:
    """A run in which an agent misbehaves beside two that do not."""
    async with opened(agent(), bad, model=model, max_iterations=0, max_attempts=1) as sup:
        run = await sup.start("Q", plan=SIBLINGS)
        return run, await sup.events(run.thread_id)


def ended(events: list[Event]) -> dict[str, Any]:
    [event] = [event for event in events if event.kind == "task_finished" and event.task_id == "bad"]
    return event.data


async def raises(brief: Brief, desk: Any) -> str:
    raise KeyError("ships")


async def hangs(brief: Brief, desk: Any) -> str:
    await asyncio.Event().wait()
    return "never"


async def says_nothing(brief: Brief, desk: Any) -> None:
    return None


async def leaves(brief: Brief, desk: Any) -> str:
    sys.exit(3)


def stops_the_world(brief: Any, desk: Any) -> str:
    raise SystemExit


def runs_out_of_items(brief: Any, desk: Any) -> str:
    return next(iter([]))


async def cancelled() -> str:
    made = asyncio.ensure_future(asyncio.Event().wait())
    made.cancel()
    await made
    return "never"


async def waits_for_what_is_cancelled(brief: Brief, desk: Any) -> str:
    return await cancelled()


class Panic(BaseException):
    """What an extension in another language raises where it breaks down."""


async def panics(brief: Brief, desk: Any) -> str:
    raise Panic("index out of range")


class Mute(Exception):
    """An exception with a defect of its own."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


async def raises_what_has_no_words(brief: Brief, desk: Any) -> str:
    raise Mute


async def runs_out_of_its_own_time(brief: Brief, desk: Any) -> str:
    raise TimeoutError("the bank does not answer")


async def waits_as_a_runnable(given: Any) -> str:
    return await cancelled()


async def panics_as_a_runnable(given: Any) -> str:
    raise Panic("index out of range")


def graph_of(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("step", node)
    builder.add_edge(START, "step")
    return builder.compile()


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (graph_of(waits_as_a_runnable), "CancelledError"),
        (graph_of(panics_as_a_runnable), "Panic: index out of range"),
        (waits_for_what_is_cancelled, "what it waited for was cancelled"),
        (panics, "Panic: index out of range"),
        (raises_what_has_no_words, "Mute: it cannot be put into words"),
        (runs_out_of_its_own_time, "TimeoutError: the bank does not answer"),
        (RunnableLambda(waits_as_a_runnable), "what it waited for was cancelled"),
        (RunnableLambda(panics_as_a_runnable), "Panic: index out of range"),
        (raises, "KeyError: 'ships'"),
        (hangs, "no result within 0.05 seconds"),
        (says_nothing, "the agent returned nothing"),
        (leaves, "it tried to end the process"),
        (stops_the_world, "it tried to end the process"),
        (runs_out_of_items, "StopIteration"),
        (RunnableLambda(lambda _: None), "the agent returned nothing"),
        (RunnableLambda(raises), "TypeError"),
    ],
)
async def test_what_goes_wrong_in_one_agent_is_reported_and_touches_no_other(work: Any, reason: str) -> None:
    bad = AgentSpec(name="bad", role="bad", run=work, limits=Limits(timeout_s=0.05 if work is hangs else 20))
    run, events = await beside(bad)

    assert (run.status, statuses(run)) == ("complete", {"x": "done", "bad": "skipped", "y": "done"})
    assert run.tasks[1].error is not None
    assert reason in run.tasks[1].error
    assert reason in str(ended(events)["reason"])
    assert run.report is not None


async def test_a_function_that_blocks_its_thread_holds_up_nobody() -> None:
    free = threading.Event()

    def blocks(brief: Any, desk: Any) -> str:
        free.wait()
        return "too late"

    run, _ = await beside(AgentSpec(name="bad", role="bad", run=blocks, limits=Limits(timeout_s=0.05)))
    free.set()

    assert statuses(run) == {"x": "done", "bad": "skipped", "y": "done"}
    assert run.tasks[1].error == "no result within 0.05 seconds"


async def test_the_stack_of_an_exception_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "baton.agents"):
        await beside(AgentSpec(name="bad", role="bad", run=raises))

    [record] = caplog.records
    assert record.getMessage().startswith("bad failed in task bad of thread ")
    assert record.exc_info
    assert 'raise KeyError("ships")' in caplog.text


async def test_fifty_megabytes_go_to_a_file() -> None:
    async def floods(brief: Brief, desk: Any) -> str:
        return "x" * 50_000_000

    run, _ = await beside(AgentSpec(name="bad", role="bad", run=floods))

    assert statuses(run) == {"x": "done", "bad": "done", "y": "done"}
    assert [artifact.bytes for artifact in run.artifacts] == [50_000_000]
    assert len(str(run.tasks[1].result)) < 5_000


def calls(name: str, times: int) -> list[Any]:
    return [{"name": name, "args": {"expression": "1+1"}, "id": f"c{n}"} for n in range(times)]


@pytest.mark.parametrize("name", ["calculate", "hammer"])
async def test_who_calls_the_same_tool_for_ever_is_told_so_and_then_stopped(name: str) -> None:
    model = ScriptedModel(calls(name, 100))
    run, events = await beside(AgentSpec(name="bad", role="bad", tools=["calculate"]), model)

    assert statuses(run) == {"x": "done", "bad": "skipped", "y": "done"}
    assert len(model.calls) == STOPPED_FROM
    why = f"it was stopped: it called {name} {STOPPED_FROM} times with the same arguments"
    assert run.tasks[1].error == ended(events)["reason"]
    assert str(run.tasks[1].error).startswith(why)
    last = str(model.calls[-1].messages[-1].text)
    assert last.startswith(f"you have called {name} {STOPPED_FROM - 1} times with the same arguments")


async def test_who_takes_the_hint_can_still_deliver() -> None:
    model = ScriptedModel([*calls("calculate", REFUSED_FROM), "It is 2."])
    run, _ = await beside(AgentSpec(name="bad", role="bad", tools=["calculate"]), model)

    assert run.tasks[1].result == "It is 2."


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (waits_for_what_is_cancelled, "what it waited for was cancelled"),
        (panics, "Panic: index out of range"),
        (raises_what_has_no_words, "Mute: it cannot be put into words"),
    ],
)
async def test_what_goes_wrong_in_a_delegated_worker_is_told_to_who_delegated(work: Any, reason: str) -> None:
    call = {"name": "delegate_to_agent", "args": {"worker_agent": "bad", "task": "Look."}, "id": "c1"}
    model = ScriptedModel([call, "Then alone."])
    team = [AgentSpec(name="lead", role="generalist", workers=["bad"]), AgentSpec(name="bad", role="bad", run=work)]
    async with opened(*team, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.tasks[0].result) == ("complete", "Then alone.")
    assert reason in str(model.calls[-1].messages[-1].text)


@pytest.mark.parametrize(("work", "reason"), [(cancelled, "what it waited for was cancelled"), (panics, "Panic: ")])
async def test_what_goes_wrong_in_a_tool_is_told_to_its_model(work: Any, reason: str) -> None:
    async def look() -> str:
        """Look."""
        return str(await (work() if work is cancelled else work(None, None)))

    model = ScriptedModel([{"name": "look", "args": {}, "id": "c1"}, "Then without."])
    run, _ = await beside(AgentSpec(name="bad", role="bad", tools=[tool(look)]), model)

    assert run.tasks[1].result == "Then without."
    assert reason in str(model.calls[-1].messages[-1].text)


async def test_who_is_cancelled_itself_is_cancelled() -> None:
    begun = asyncio.Event()

    async def waits(brief: Brief, desk: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with opened(agent(waits)) as sup:
        running = asyncio.ensure_future(sup.start("Q", plan=plan("a"), thread_id="t"))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not [event for event in await sup.events("t") if event.kind in ("task_retried", "task_finished")]
