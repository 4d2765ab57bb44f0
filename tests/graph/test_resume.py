"""A run can be taken up again: after an answer, a failure, or an end of the process that ran it."""

import asyncio
from typing import Any

import pytest

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.clock import SystemClock
from nodes.runtime.signals import send
from state.agent import Brief
from state.approval import Decision
from state.errors import BadInput, ModelRejected, ModelUnavailable
from state.replies import PlanDraft, TaskDraft
from state.signal import Decide
from tests.runs import Turns, agent, opened, plan, statuses

DRAFT = PlanDraft(tasks=[TaskDraft(id="p", description="Do it.")])


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch")).type)


async def test_a_run_that_ended_or_waits_is_not_run_again_by_resume() -> None:
    work = Turns(RuntimeError("net"))
    async with opened(agent(work, role="breaks", name="bo"), agent(asks)) as sup:
        failed = await sup.start(
            "Q", thread_id="f", plan=plan({"id": "a", "role": "breaks"}), policy={"max_attempts": 1}
        )
        waiting = await sup.start("Q", thread_id="w", plan=plan("a"))

        assert await sup.resume("f") == failed
        assert await sup.resume("w") == waiting
    assert len(work.briefs) == 1


async def test_a_run_that_waits_goes_on_with_what_it_was_told_by_somebody_who_could_not_run_it() -> None:
    async with opened(agent(asks)) as sup:
        waiting = await sup.start("Q", thread_id="w", plan=plan("a"))
        assert sup.graph.store
        said = Decision(type="approve", by="ana")
        decide = Decide(approval=waiting.approvals[0].id, decision=said, by="ana")
        await send(sup.graph.store, "w", decide, SystemClock())

        assert await sup.due() == ["w"]
        run = await sup.resume("w")

    assert (run.status, run.tasks[0].result) == ("complete", "approve")


async def test_there_is_nothing_to_answer_where_nothing_was_asked() -> None:
    async with opened() as sup:
        run = await sup.start("Q", plan=plan("a"))
        with pytest.raises(BadInput, match=r"no open question \(it is complete\)"):
            await sup.answer(run.thread_id, True)


async def test_questions_survive_a_restart_of_everything() -> None:
    async with opened(agent(asks)) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
    async with opened(agent(asks)) as sup:
        seen = await sup.view(waiting.thread_id)
        run = await sup.answer(waiting.thread_id, {seen.approvals[0].id: False}, by="ana")

    assert seen == waiting
    assert (run.status, run.tasks[0].result) == ("complete", "reject")


async def test_a_model_that_rejects_the_supervisor_fails_the_run_until_it_is_resumed() -> None:
    model = ScriptedModel([ModelRejected("the server refused the key; check OPENAI_API_KEY"), DRAFT])
    async with opened(model=model) as sup:
        failed = await sup.start("Q")
        run = await sup.resume(failed.thread_id)

    assert (failed.status, failed.phase, failed.waits_for) == ("failed", "decomposing", "model")
    assert (failed.can_go_on, failed.hint, failed.has_ended) == (True, ["resume"], False)
    assert failed.error == "the server refused the key; check OPENAI_API_KEY"
    assert (run.status, run.error, statuses(run)) == ("complete", None, {"p": "done"})


async def test_a_model_that_is_busy_is_asked_again_by_the_supervisor() -> None:
    clock = HeldClock()
    model = ScriptedModel([ModelUnavailable("busy"), ModelUnavailable("busy"), DRAFT])
    async with opened(model=model, clock=clock) as sup:
        run = await sup.start("Q")

    assert run.status == "complete"
    assert clock.slept == [0.5, 1.0]


async def test_a_model_that_never_makes_a_plan_fails_the_run_in_order() -> None:
    model = ScriptedModel(["Hello!", "Hello again!", "Still here."])
    async with opened(model=model) as sup:
        run = await sup.start("Q")

    assert (run.status, len(model.calls)) == ("failed", 3)
    assert "no usable plan draft in 3 replies" in (run.error or "")


async def finished(sup: Supervisor, thread: str) -> list[str]:
    return [str(e.task_id) for e in await sup.events(thread) if e.kind == "task_finished"]


async def test_a_run_that_was_cut_off_goes_on_with_what_had_not_finished() -> None:
    began, free = asyncio.Event(), asyncio.Event()
    did: list[str] = []

    async def work(brief: Brief, desk: Any) -> str:
        did.append(brief.task.id)
        if brief.task.id == "b":
            began.set()
            await free.wait()
        return brief.task.id

    async with opened(agent(work)) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="cut", plan=plan("a", "b <- a", "c <- b")))
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        cut = await sup.view("cut")
    free.set()
    async with opened(agent(work)) as sup:
        run = await sup.resume("cut")
        ended = await finished(sup, "cut")

    assert (cut.status, cut.waits_for, cut.hint, cut.error) == ("paused", "process", ["resume"], None)
    assert (run.status, did, ended) == ("complete", ["a", "b", "b", "c"], ["a", "b", "c"])


@pytest.mark.parametrize("turns", range(0, 60, 6))
async def test_a_run_that_is_cancelled_at_any_turn_of_the_event_loop_goes_on_to_its_end(turns: int) -> None:
    async with opened() as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
        while not await sup.events("t"):  # noqa: ASYNC110 # what is awaited is in the database
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running})
        run = await sup.resume("t")

    assert (run.status, statuses(run)) == ("complete", {"a": "done"})
