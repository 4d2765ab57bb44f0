"""The same verbs without `await`."""

import asyncio
import signal
import threading
from contextlib import closing
from typing import Any

import pytest

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import Brief
from state.errors import BadInput, ThreadUnknown
from state.signal import Takeover
from tests.runs import agent, plan


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch")).type)


class PressesCtrlC:
    """An agent that is interrupted at its first turn."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def __call__(self, brief: Brief, desk: Any) -> str:
        self.log.append(brief.task.id)
        if self.log == ["a", "b"]:
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)
            try:
                await asyncio.Event().wait()
            finally:
                self.log.append("cancelled")
        return "done"


def opened(**more: Any) -> Any:
    return Supervisor.open("runs.db", model=ScriptedModel([]), clock=HeldClock(), **more)


def test_a_run_from_start_to_end() -> None:
    with opened(team=[agent()]) as sup:
        run = sup.start("Q", thread_id="t", plan=plan("a"))
        events = sup.events("t")

        assert (run.status, sup.view("t"), [one.thread_id for one in sup.runs()]) == ("complete", run, ["t"])
        assert sup.plan("t")["tasks"][0]["id"] == "a"
        assert sup.resume("t") == run
        assert sup.events("t", after=3) == events[3:]


def test_a_question_is_answered() -> None:
    with opened(team=[agent(asks)]) as sup:
        waiting = sup.start("Q", plan=plan("a"))
        run = sup.answer(waiting.thread_id, {waiting.approvals[0].id: True}, by="ana")

    assert (waiting.status, run.status, run.tasks[0].result) == ("waiting", "complete", "approve")


def test_the_wheel_is_taken_and_handed_back() -> None:
    with opened(team=[agent(asks)]) as sup:
        sup.start("Q", thread_id="t", plan=plan("a"))
        taken = sup.signal("t", Takeover(by="ana"))
        run = sup.hand_back("t", {"a": "by hand"}, by="ana")

    assert (taken.status, run.status, run.tasks[0].result) == ("handed_over", "complete", "by hand")


def test_events_are_streamed() -> None:
    with opened(team=[agent()]) as sup:
        kinds = [event["kind"] for event in sup.stream("Q", plan=plan("a"))]

    assert (kinds[0], kinds[-1]) == ("phase_entered", "run_finished")


def test_ctrl_c_cancels_the_run_and_resume_goes_on_from_what_was_finished() -> None:
    work = PressesCtrlC()
    with opened(team=[agent(work)]) as sup:
        with pytest.raises(KeyboardInterrupt):
            sup.start("Q", thread_id="t", plan=plan("a", "b <- a"))
        log = [*work.log]
        run = sup.resume("t")

    assert log == ["a", "b", "cancelled"]
    assert (run.status, work.log) == ("complete", [*log, "b"])


def test_a_stream_that_is_closed_early_cancels_the_run() -> None:
    began, log = threading.Event(), []

    async def holds(brief: Brief, desk: Any) -> str:
        log.append("start")
        if not began.is_set():
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                log.append("cancelled")
        return "done"

    with opened(team=[agent(holds)]) as sup:
        with closing(sup.stream("Q", thread_id="t", plan=plan("a"))) as events:
            next(event for event in events if event["kind"] == "task_started")
            began.wait()
        assert log == ["start", "cancelled"]
        assert sup.resume("t").status == "complete"


def test_errors_are_the_same() -> None:
    with opened(team=[agent()]) as sup:
        with pytest.raises(ThreadUnknown):
            sup.view("nope")
        with pytest.raises(BadInput, match="empty"):
            sup.start(" ")
    with pytest.raises(BadInput, match="no agents"), opened(team=[]):
        pass


async def test_it_works_where_an_event_loop_runs_already() -> None:
    with opened(team=[agent()]) as sup:
        assert sup.start("Q", plan=plan("a")).status == "complete"
