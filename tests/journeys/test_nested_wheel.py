"""Questions levels down when the run is paused, taken over or cancelled, or when what asked is given up."""

import asyncio
from typing import Any

import pytest

from graph.supervisor import Supervisor
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief, Limits
from state.approval import Decision
from state.errors import BadInput
from state.run import Run
from state.signal import Cancel, Decide, Pause, Resume, Signal, Takeover
from tests.journeys.below import IDS, PLAN, Levels, once, recorded, unit, until_asked
from tests.journeys.doom import THREAD
from tests.journeys.steered import PATIENCE_S, happened, under_way
from tests.runs import agent, opened, plan, statuses

MID = plan({"id": "a", "role": "mid"})


async def stopped(sup: Supervisor, levels: Levels, signal: Signal) -> Run:
    """The run that was stopped while it worked and asked on every level."""
    async with under_way(sup, PLAN) as running:
        await until_asked(sup, *IDS.values())
        await sup.signal(THREAD, signal)
    return running.result()


async def test_while_the_run_is_paused_it_is_seen_and_answered() -> None:
    levels = Levels()
    async with opened(*levels.team, max_iterations=0) as sup:
        paused = await stopped(sup, levels, Pause())
        assert (paused.status, statuses(paused)) == ("paused", dict.fromkeys(("top", "a", "busy"), "parked"))
        assert {one.id for one in paused.approvals} == set(IDS.values())
        still = await sup.answer(THREAD, {IDS["two"]: True, IDS["top"]: True}, by="ana")
        assert (still.status, [one.id for one in still.approvals]) == ("paused", [IDS["one"]])
        levels.let_go.set()
        run = await sup.signal(THREAD, Resume())
        assert (run.status, [one.id for one in run.approvals]) == ("waiting", [IDS["one"]])
        run = await sup.answer(THREAD, {IDS["one"]: True}, by="ana")
        records = await recorded(sup)

    assert (run.status, levels.said) == ("complete", dict.fromkeys(IDS, "approve by ana"))
    assert records == {name: once("ana") for name in IDS.values()}


async def test_what_a_human_did_instead_is_neither_asked_about_nor_done_below() -> None:
    levels = Levels()
    async with opened(*levels.team, max_iterations=0) as sup:
        taken = await stopped(sup, levels, Takeover(by="ana"))
        assert taken.status == "handed_over"
        assert taken.handover is not None
        assert taken.handover["pending_tasks"] == ["top", "a", "busy"]
        assert {one.id for one in taken.approvals} == set(IDS.values())
        going_on = asyncio.create_task(sup.hand_back(THREAD, {"a": "I did it"}, by="ana"))
        await until_asked(sup, IDS["top"])
        with pytest.raises(BadInput, match="no open question is called"):
            await sup.answer(THREAD, {IDS["two"]: True})
        levels.let_go.set()
        assert (await going_on).status == "waiting"
        run = await sup.answer(THREAD, {IDS["top"]: True})

    assert (run.status, run.tasks[1].result, levels.did) == ("complete", "I did it", ["top"])


async def test_a_cancelled_run_asks_nothing_any_more() -> None:
    levels = Levels()
    async with opened(*levels.team, max_iterations=0) as sup:
        run = await stopped(sup, levels, Cancel())

    assert (run.status, run.approvals, levels.did) == ("cancelled", [], [])


class Breaks:
    """In a nested supervisor one task asks while another breaks; then a substitute does the outer task."""

    def __init__(self) -> None:
        self.breaks, self.let_go, self.substitute = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def inside(self, brief: Brief, desk: Desk) -> str:
        if brief.task.id == "ask":
            return (await desk.ask("launch")).type
        await self.breaks.wait()
        raise NotImplementedError("no ships")

    async def instead(self, brief: Brief, desk: Desk) -> str:
        self.substitute.set()
        await self.let_go.wait()
        return "done instead"


async def test_what_a_nested_supervisor_asked_that_failed_is_asked_no_more() -> None:
    told = Breaks()
    mid = unit("mid", agent(told.inside), tasks=("ask", "break"), failure_threshold={"default": 0.0})
    mid = mid.model_copy(update={"escalate_to": "spare"})
    async with opened(mid, agent(told.instead, "spare", "spare"), max_iterations=0) as sup:
        async with under_way(sup, MID) as running:
            await until_asked(sup, "a.0.mid/ask.0.q1")
            told.breaks.set()
            await asyncio.wait_for(told.substitute.wait(), PATIENCE_S)
            assert (await sup.view(THREAD)).approvals == []
            with pytest.raises(BadInput, match="no open question"):
                await sup.signal(THREAD, Decide(approval="a.0.mid/ask.0.q1", decision=Decision(type="approve")))
            told.let_go.set()
        entries, _ = await sup.audit(THREAD)

    assert (running.result().status, running.result().tasks[0].result) == ("complete", "done instead")
    assert [entry.kind for entry in entries] == ["requested"]


TRY_S = 2.0
"""Of a try that is to run out of time: enough to come to its questions, two levels down, on a busy machine."""


async def test_a_try_that_ran_out_of_time_takes_its_question_along_to_the_next() -> None:
    levels = Levels()
    low = unit("low", agent(levels.work), tasks=("two", "idle"))
    mid = unit("mid", low, tasks=("m: low",)).model_copy(update={"limits": Limits(timeout_s=TRY_S)})
    async with opened(mid, max_iterations=0, max_attempts=20) as sup:
        async with under_way(sup, MID) as running:
            await happened(sup, "task_retried")
            await until_asked(sup, IDS["two"])
            await sup.answer(THREAD, {IDS["two"]: True}, by="ana")
            levels.let_go.set()
        records = await recorded(sup)

    assert running.result().status == "complete"
    assert records == {IDS["two"]: once("ana")}


async def test_what_is_still_open_when_the_next_try_takes_up_the_work_is_asked_there() -> None:
    levels, slow = Levels(), asyncio.Event()

    async def work(brief: Brief, desk: Desk) -> str:
        said = await levels.work(brief, desk)
        if brief.task.id == "two":
            await slow.wait()
        return said

    low = unit("low", agent(work), tasks=("top", "two"))
    mid = unit("mid", low, tasks=("m: low",)).model_copy(update={"limits": Limits(timeout_s=TRY_S)})
    two, top = IDS["two"], IDS["two"].replace("two", "top")
    async with opened(mid, max_iterations=0, max_attempts=20) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=MID)
        assert {one.id for one in run.approvals} == {two, top}
        going_on = asyncio.create_task(sup.answer(THREAD, {two: True}, by="ana"))
        await happened(sup, "task_retried")
        await until_asked(sup, top)
        await sup.answer(THREAD, {top: True}, by="ana")
        slow.set()
        records = await going_on, await recorded(sup)

    assert (records[0].status, records[1]) == ("complete", {two: once("ana"), top: once("ana")})


def unsure(*answers: dict[str, Any]) -> AgentSpec:
    """An agent whose results are to be looked at, one after the other."""
    left = list(answers)

    async def work(brief: Brief, desk: Desk) -> dict[str, Any]:
        return left.pop(0)

    return agent(work)


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ([True], "first"),
        ([{"type": "edit", "args": {"result": "mine"}}], "mine"),
        (["no: look again", True], "second"),
    ],
)
async def test_a_result_inside_that_is_accepted_replaced_or_sent_back_counts_inside(
    answers: list[Any], result: str
) -> None:
    ada = unsure({"result": "first", "confidence": 0.1}, {"result": "second", "confidence": 0.1})
    async with opened(
        unit("mid", unit("low", ada, tasks=("n",)), tasks=("m: low",), confidence_threshold=0.0),
        max_iterations=0,
        confidence_threshold=0.0,
    ) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=MID)
        for number, answer in enumerate(answers):
            [asked] = run.approvals
            assert (asked.id, asked.action) == (f"a.0.mid/m.0.low/n.0.result{number}", "accept result")
            run = await sup.answer(THREAD, {asked.id: answer}, by="ana")

    assert (run.status, run.tasks[0].result) == ("complete", result)


async def test_a_plan_inside_that_is_rejected_is_made_again_inside_and_nowhere_else() -> None:
    mid = unit("mid", agent(), tasks=("n",), oversight="in_command")
    async with opened(mid, max_iterations=0) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=MID)
        asked: list[str] = []
        for answer in ("no: another one", True, True):
            asked += [one.id for one in run.approvals]
            run = await sup.answer(THREAD, {run.approvals[0].id: answer}, by="ana")
        records = await recorded(sup)

    assert (run.status, statuses(run)) == ("complete", {"a": "done"})
    assert asked == [f"a.0.mid/{name}" for name in ("plan.0", "plan.1", "n.0.start")]
    assert list(records) == asked
    assert records["a.0.mid/plan.0"] == once("ana", "reject")
