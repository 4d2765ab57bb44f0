"""A person stops a run, takes it over, and lets it go on; nothing is done twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.store.base import PutOp

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from nodes.runtime.rows import space
from state.agent import AgentSpec, Brief
from state.errors import BadInput
from state.signal import Pause, Resume, Signal, Takeover
from tests.journeys.steered import THREAD, Gates, happened, supervisor, under_way
from tests.runs import Turns, agent, opened, plan, statuses


async def test_pausing_stops_work_at_its_next_safe_point_and_lets_nothing_new_start() -> None:
    work = Gates("a", "b")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a", "b", "c <- a", "d")) as running:
            await work.all_came()
            await happened(sup, "task_finished")
            await sup.signal(THREAD, Pause(reason="lunch", by="ana"))
        paused = running.result()
        assert (paused.status, work.starts, work.ends) == ("paused", ["a", "b", "d"], ["d"])

        work.open()
        run = await sup.resume(THREAD)

    assert (run.status, statuses(run)) == ("complete", dict.fromkeys("abcd", "done"))
    assert sorted(work.ends) == ["a", "b", "c", "d"]


async def test_a_pause_is_on_record_with_who_asked_for_it_and_why() -> None:
    work = Gates("a")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a")):
            await work.all_came()
            await sup.signal(THREAD, Pause(reason="lunch", by="ana"))
        changes = [event.data for event in await happened(sup, "control_changed")]

    assert changes == [{"driving": "paused", "reason": "lunch", "by": "ana", "rollback": False}]


async def test_a_pause_that_is_taken_back_at_once_stops_nobody_for_good() -> None:
    work = Gates("a", "b")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a", "b", "c <- a")) as running:
            await work.all_came()
            await both_at_once(sup, Pause(), Resume())
            await happened(sup, "control_changed", times=2)
            work.open()
        run = running.result()

    assert (run.status, run.approvals, statuses(run)) == ("complete", [], dict.fromkeys("abc", "done"))


async def test_a_question_stays_in_the_inbox_while_the_run_is_paused() -> None:
    async def work(brief: Brief, desk: Desk) -> str:
        return (await desk.ask("send")).type

    async with supervisor(agent(work)) as sup:
        waiting = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        paused = await sup.signal(THREAD, Pause())
        assert (waiting.status, paused.status) == ("waiting", "paused")
        assert paused.approvals == waiting.approvals

        again = await sup.resume(THREAD)
        assert (again.status, again.approvals) == ("waiting", waiting.approvals)
        run = await sup.answer(THREAD, {waiting.approvals[0].id: "approve"})

    assert (run.status, run.tasks[0].result) == ("complete", "approve")


async def test_an_answer_given_while_paused_counts_when_the_run_goes_on() -> None:
    async def work(brief: Brief, desk: Desk) -> str:
        return (await desk.ask("send")).type

    async with supervisor(agent(work)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        paused = await sup.signal(THREAD, Pause())
        still = await sup.answer(THREAD, {paused.approvals[0].id: "reject"})
        assert still.status == "paused"
        run = await sup.resume(THREAD)

    assert (run.status, run.tasks[0].result) == ("complete", "reject")


async def test_a_worker_that_is_paused_keeps_its_conversation() -> None:
    reached, go = asyncio.Event(), asyncio.Event()

    @tool
    async def look() -> str:
        """Look."""
        reached.set()
        await go.wait()
        return "seen"

    model = ScriptedModel([{"name": "look", "args": {}, "id": "c1"}, "All seen."])
    worker = AgentSpec(name="ada", role="generalist", tools=[look])
    async with supervisor(worker, model=model, max_iterations=0) as sup:
        async with under_way(sup, plan("a")) as running:
            await reached.wait()
            await sup.signal(THREAD, Pause())
            await happened(sup, "control_changed")
            go.set()
        assert running.result().status == "paused"
        assert len(model.calls) == 1
        run = await sup.resume(THREAD)

    assert (run.status, run.tasks[0].result, len(model.calls)) == ("complete", "All seen.", 2)
    assert [message.text for message in model.calls[1].messages if not isinstance(message, AIMessage)][-1] == "seen"


async def test_a_pause_between_a_reply_and_the_call_it_asks_for_leaves_the_call_for_later() -> None:
    replied, go, looked = asyncio.Event(), asyncio.Event(), list[str]()

    class HeldBack(ScriptedModel):
        async def _astream(self, *asked: Any, **more: Any) -> AsyncIterator[ChatGenerationChunk]:
            async for chunk in super()._astream(*asked, **more):
                yield chunk
            replied.set()
            await go.wait()

    @tool
    async def look() -> str:
        """Look."""
        looked.append("seen")
        return "seen"

    model = HeldBack(script=[{"name": "look", "args": {}, "id": "c1"}, "All seen."])
    async with supervisor(AgentSpec(name="ada", role="generalist", tools=[look]), model=model, max_iterations=0) as sup:
        async with under_way(sup, plan("a")) as running:
            await replied.wait()
            await sup.signal(THREAD, Pause())
            await happened(sup, "control_changed")
            go.set()
        assert (running.result().status, looked) == ("paused", [])
        run = await sup.resume(THREAD)

    assert (run.status, run.tasks[0].result, looked) == ("complete", "All seen.", ["seen"])


async def test_taking_over_hands_out_what_a_person_needs_to_go_on() -> None:
    work = Gates("b")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a", "b <- a", "c <- b")) as running:
            await work.all_came()
            await sup.signal(THREAD, Takeover(reason="I know better", by="ana"))
        run = running.result()
        (question,) = (i for task in (await sup.graph.aget_state(_config())).tasks for i in task.interrupts)

        assert (run.status, work.ends) == ("handed_over", ["a"])
        context = question.value["context"]
        assert (context["completed_tasks"], context["pending_tasks"]) == (["a"], ["b", "c"])
        assert context["intermediate_results"] == {"a": "a: "}
        assert (context["current_step"], context["total_steps"]) == (1, 3)

        work.open()
        assert (await sup.resume(THREAD)).status == "complete"
    assert work.ends == ["a", "b", "c"]


async def both_at_once(sup: Supervisor, *signals: Signal) -> None:
    rows = [PutOp(space("signals", THREAD), str(n), signal.model_dump(mode="json")) for n, signal in enumerate(signals)]
    assert sup.graph.store is not None
    await sup.graph.store.abatch(rows)


def _config() -> dict[str, dict[str, str]]:
    return {"configurable": {"thread_id": THREAD}}


async def test_what_a_human_holds_is_not_paused_from_under_them() -> None:
    work = Turns("So.")
    async with opened(agent(work), oversight="in_command") as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await sup.signal(THREAD, Takeover(by="ana"))
        with pytest.raises(BadInput, match="the run is in a human's hands"):
            await sup.signal(THREAD, Pause(by="bob"))
        assert (await sup.view(THREAD)).status == "handed_over"
        assert (await sup.hand_back(THREAD, {"a": "mine"}, by="ana")).status in ("waiting", "complete")
