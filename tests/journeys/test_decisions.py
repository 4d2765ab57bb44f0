"""Answers that come as signals while the run is busy: the parked task goes on there and then; the first answer wins."""

from pathlib import Path

import pytest

from nodes.runtime.desk import Desk
from nodes.runtime.rows import space
from nodes.runtime.signals import read_log, waiting
from state.agent import Brief
from state.approval import Decision
from state.errors import BadInput
from state.signal import APPLIED, Decide, Pause, Retire, refused
from tests.journeys.doom import in_another_process
from tests.journeys.steered import THREAD, Gates, happened, logged, supervisor, tell, under_way
from tests.runs import agent, plan, statuses

QUESTION = "asks.0.q1"


class Asking(Gates):
    """Waits at gates; the task `asks` asks first."""

    async def __call__(self, brief: Brief, desk: Desk) -> str:
        if brief.task.id == "asks":
            said = await desk.ask("send", {"to": "bob"}, "high")
            return f"{said.type} by {said.by}"
        return await super().__call__(brief, desk)


def decide(said: str, by: str, approval: str = QUESTION) -> Decide:
    return Decide(approval=approval, decision=Decision.model_validate({"type": said, "by": by}), by=by)


async def test_an_answer_from_another_process_unparks_a_task_while_others_work(tmp_path: Path) -> None:
    work, db = Asking("busy", "after"), tmp_path / "runs.db"
    async with supervisor(agent(work), db=db) as sup:
        async with under_way(sup, plan("asks", "busy", "after <- asks")) as running:
            await happened(sup, "approval_requested")
            assert await in_another_process(tell, db, decide("approve", "ana").model_dump(mode="json")) == 0
            await work.all_came()  # the task that builds on the answer is at work beside the other
            work.open()
        run = running.result()

    assert (run.status, run.tasks[0].result) == ("complete", "approve by ana")


async def test_of_two_answers_the_first_wins_and_the_second_is_refused_and_logged() -> None:
    work = Asking("busy")
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("asks", "busy")) as running:
            await happened(sup, "approval_requested")
            await sup.signal(THREAD, decide("reject", "ana"))
            with pytest.raises(BadInput, match="ana said reject; the first answer stands"):
                await sup.signal(THREAD, decide("approve", "ben"))
            with pytest.raises(BadInput, match=r"no open question is called 'no\.such\.question'"):
                await sup.signal(THREAD, decide("approve", "ben", "no.such.question"))
            work.open()
        log = [handled.outcome for handled in await read_log(sup.graph.store, THREAD)]
        answers = [event.data for event in await happened(sup, "approval_answered")]

    assert running.result().tasks[0].result == "reject by ana"
    assert log == [
        APPLIED,
        refused("asks.0.q1 was answered before: ana said reject; the first answer stands"),
        refused("no open question is called 'no.such.question'"),
    ]
    assert [(said["id"], said["decision"], said["by"]) for said in answers] == [(QUESTION, "reject", "ana")]


async def test_a_question_does_not_hold_up_what_does_not_need_its_answer() -> None:
    work = Asking()
    async with supervisor(agent(work), max_parallel=1) as sup:
        run = await sup.start("Q", plan=plan("asks", "free", "later <- free", "needs <- asks"))

    assert run.status == "waiting"
    assert statuses(run) == {"asks": "parked", "free": "done", "later": "done", "needs": "pending"}


async def test_signals_that_are_malformed_or_not_allowed_are_refused_and_logged() -> None:
    work = Gates("a")
    bad = {
        "1": {"kind": "explode"},
        "2": {"kind": "mail", "to": "ada"},
        "3": Pause(by="ada").model_dump(),
        "4": Retire(agent="ada", by="ada").model_dump(),
        "5": Retire(agent="nobody").model_dump(),
        "6": {"no": "kind"},
    }
    async with supervisor(agent(work)) as sup:
        async with under_way(sup, plan("a", "b <- a")) as running:
            await work.all_came()
            for key, raw in bad.items():
                await sup.graph.store.aput(space("signals", THREAD), key, raw)
            await logged(sup, len(bad))
            work.open()
        log = {handled.key: handled.outcome for handled in await read_log(sup.graph.store, THREAD)}
        left = await waiting(sup.graph.store, THREAD)

    assert (running.result().status, left) == ("complete", [])
    assert all(outcome.status == "refused" for outcome in log.values())
    assert log["3"].reason == "an agent may not send pause"
    assert log["4"].reason == "an agent may not send retire"
    assert log["5"].reason == "there is no agent 'nobody'; there are: ada"
    assert "explode" in log["1"].reason


async def test_signals_from_another_process_and_from_this_one_are_seen_while_agents_work(tmp_path: Path) -> None:
    work, db = Gates("a"), tmp_path / "runs.db"
    async with supervisor(agent(work), db=db) as sup, under_way(sup, plan("a")):
        await work.all_came()
        assert await in_another_process(tell, db, {"kind": "mail", "to": "ada", "text": "from afar"}) == 0
        await happened(sup, "mail_delivered")
        await sup.signal(THREAD, Retire(agent="ada"))
        await happened(sup, "agent_retired")
        view = await sup.view(THREAD)
        work.open()

    assert statuses(view) == {"a": "running"}  # how soon they are seen is measured by benchmarks/signals.py
