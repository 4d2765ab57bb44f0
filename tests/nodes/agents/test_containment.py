"""What is told of an agent that was contained, and what it is told itself (`test_misbehaviour` has the table)."""

import logging
from typing import Any

import pytest

from nodes.agents.worker.loops import REFUSED_FROM, STOPPED_FROM
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.brief import Brief
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


async def test_the_stack_of_an_exception_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "baton.agents"):
        await beside(AgentSpec(name="bad", role="bad", run=raises))

    [record] = caplog.records
    assert record.getMessage().startswith("bad failed in task bad of thread ")
    assert record.exc_info
    assert 'raise KeyError("ships")' in caplog.text


def calls(name: str, times: int) -> list[Any]:
    return [{"name": name, "args": {"expression": "1+1"}, "id": f"c{n}"} for n in range(times)]


@pytest.mark.parametrize("tool", ["calculate", "hammer"])
async def test_who_calls_the_same_tool_for_ever_is_told_so_and_then_stopped(tool: str) -> None:
    model = ScriptedModel(calls(tool, 100))
    run, events = await beside(AgentSpec(name="bad", role="bad", tools=["calculate"]), model)

    assert statuses(run) == {"x": "done", "bad": "skipped", "y": "done"}
    assert len(model.calls) == STOPPED_FROM
    why = f"it was stopped: it called {tool} {STOPPED_FROM} times with the same arguments"
    assert (run.tasks[1].error, ended(events)["reason"]) == (why, why)
    last = str(model.calls[-1].messages[-1].text)
    assert last.startswith(f"you have called {tool} {STOPPED_FROM - 1} times with the same arguments")


async def test_who_takes_the_hint_can_still_deliver() -> None:
    model = ScriptedModel([*calls("calculate", REFUSED_FROM), "It is 2."])
    run, _ = await beside(AgentSpec(name="bad", role="bad", tools=["calculate"]), model)

    assert run.tasks[1].result == "It is 2."
