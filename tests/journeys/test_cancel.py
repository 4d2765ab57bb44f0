"""Cancelling from another process: calls in flight end, nothing new starts, and the run says so at once."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from nodes.runtime.desk import Desk
from nodes.runtime.signals import read_log
from state.agent import Brief
from state.signal import Cancel, Pause, Resume
from tests.journeys.doom import in_another_process
from tests.journeys.steered import THREAD, Gates, happened, supervisor, tell, under_way
from tests.runs import agent, opened, plan, statuses

WITHIN_S = 5.0
"""From the signal to the end of the run, on a machine with other things to do."""


class Calls:
    """An agent that is in a call for ever; `nested` tasks do it in inner work that they wait for."""

    def __init__(self, count: int, *nested: str) -> None:
        self.count, self.nested = count, nested
        self.begun: list[str] = []
        self.broken_off: list[str] = []
        self.all_in = asyncio.Event()

    async def __call__(self, brief: Brief, desk: Desk) -> str:
        call = self.call(brief.task.id)
        await (asyncio.gather(call, asyncio.create_task(self.inner(brief.task.id))) if self._nests(brief) else call)
        return "never"

    async def inner(self, name: str) -> None:
        await self.call(f"inner {name}")
        await self.call(f"after {name}")

    async def call(self, name: str) -> None:
        self.begun.append(name)
        if len(self.begun) == self.count:
            self.all_in.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.broken_off.append(name)
            raise

    def _nests(self, brief: Brief) -> bool:
        return brief.task.id in self.nested


async def test_ten_agents_in_a_call_two_of_them_nested_are_cancelled_from_another_process(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(10)]
    calls, db = Calls(12, "t0", "t1"), tmp_path / "runs.db"
    async with supervisor(agent(calls), db=db) as sup:
        async with under_way(sup, plan(*names, "late <- t0", "more")) as running:
            await calls.all_in.wait()
            assert await in_another_process(tell, db, {"kind": "cancel", "by": "ana", "reason": "enough"}) == 0
        run, events = running.result(), await sup.events(THREAD)
        (handled,) = await read_log(sup.graph.store, THREAD)

    assert (run.status, set(statuses(run).values())) == ("cancelled", {"cancelled"})
    assert sorted(calls.begun) == sorted(calls.broken_off) == sorted([*names, "inner t0", "inner t1"])
    (cancelled,) = (event for event in events if event.kind == "control_changed")
    assert cancelled.data["reason"] == "enough"
    assert not [event for event in events if event.kind == "task_started" and event.seq > cancelled.seq]
    assert events[-1].kind == "run_finished"
    assert events[-1].ts - sent_at(handled.key) < WITHIN_S


def sent_at(key: str) -> float:
    """When a signal was sent: its key sorts by time, in microseconds."""
    return int(key.split("-", maxsplit=1)[0]) / 1_000_000


async def test_what_was_finished_before_is_in_the_report_of_a_cancelled_run() -> None:
    work = Gates("b")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a", "b <- a", "c <- b")) as running:
            await work.all_came()
            await sup.signal(THREAD, Cancel())
        run = running.result()

    assert statuses(run) == {"a": "done", "b": "cancelled", "c": "cancelled"}
    assert run.report is not None
    assert "\na:\n" in run.report
    assert "`b` (cancelled)" in run.report


async def test_a_run_that_waits_or_is_paused_is_cancelled_by_the_sender_s_door() -> None:
    async def asks(brief: Brief, desk: Desk) -> str:
        return (await desk.ask("send")).type

    for first in (None, Pause()):
        thread = f"{THREAD}-{first and first.kind}"
        async with supervisor(agent(asks)) as sup:
            await sup.start("Q", thread_id=thread, plan=plan("a", "b <- a"))
            if first:
                assert (await sup.signal(thread, first)).status == "paused"
            run = await sup.signal(thread, Cancel())
            assert (run.status, set(statuses(run).values()), run.approvals) == ("cancelled", {"cancelled"}, [])


async def test_a_plan_that_waits_for_a_human_can_be_cancelled() -> None:
    work = Gates()
    async with supervisor(agent(work), oversight="in_command") as sup:
        waiting = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        assert waiting.status == "waiting"
        run = await sup.signal(THREAD, Cancel(by="ana"))

    assert (run.status, work.starts) == ("cancelled", [])


async def test_nothing_revives_a_run_that_was_cancelled() -> None:
    work = Gates("a")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a")) as running:
            await work.all_came()
            for signal in (Cancel(), Resume()):
                await sup._runs.signal(THREAD, signal)
        assert running.result().status == "cancelled"
        assert (await sup.resume(THREAD)).status == "cancelled"
        assert [event.data["driving"] for event in await happened(sup, "control_changed")] == ["cancelled"]


@pytest.mark.parametrize("how", ["its task is cancelled", "its stream is closed"])
async def test_an_agent_that_is_cut_off_may_await_while_it_cleans_up(how: str) -> None:
    began, cleaned = asyncio.Event(), asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            cleaned.set()
        return ""

    async with opened(agent(work)) as sup:
        if how == "its stream is closed":
            stream: Any = sup.stream("Q", thread_id="t", plan=plan("a"))
            async with aclosing(stream) as events:
                async for event in events:
                    if event["kind"] == "task_started":
                        await began.wait()
                        break
        else:
            running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
            await began.wait()
            running.cancel()
            await asyncio.wait({running})
        assert cleaned.is_set()
