"""What somebody wants of a run that is about to end, or has gone on without it, is done or refused, and never lost."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from langgraph.store.base import Op, PutOp, Result

from graph.supervisor import Supervisor
from nodes.runtime.signals import read_log, waiting
from state.agent import Brief
from state.approval import Decision
from state.errors import BadInput
from state.run import Run
from state.signal import Cancel, Decide, HandBack, Pause, Recruit, Retire, SendMail, Signal, Takeover
from tests.journeys.steered import THREAD, Gates, happened, supervisor, under_way
from tests.runs import Turns, agent, plan, statuses

HAL = agent(name="hal", role="helper")
EVERY: list[Signal] = [
    Pause(),
    Takeover(),
    Cancel(rollback=True),
    Recruit(role="helper", task="more"),
    Retire(agent="hal"),
    SendMail(to="ada", text="wait"),
    HandBack(),
    Decide(approval="q", decision=Decision(type="approve")),
]


def when_it_puts(sup: Supervisor, kind: str, signals: Iterable[Signal], phase: str = "") -> list[asyncio.Task[Run]]:
    """Send signals the moment that an event is on record; whoever sent them waits in tasks of their own."""
    store, sent = sup.graph.store, list[asyncio.Task[Run]]()
    assert store is not None
    batch, left = store.abatch, list(signals)

    async def abatch(ops: Iterable[Op]) -> list[Result]:
        listed = list(ops)
        made = await batch(listed)
        rows = [op.value for op in listed if isinstance(op, PutOp) and op.value]
        if left and any(row.get("kind") == kind and phase in ("", row["phase"]) for row in rows):
            sent.extend(asyncio.create_task(sup.signal(THREAD, signal)) for signal in left)
            left.clear()
            while len(await waiting(store, THREAD)) + len(await read_log(store, THREAD)) < len(sent):  # noqa: ASYNC110
                await asyncio.sleep(0)
        return made

    store.abatch = abatch  # type: ignore[method-assign]
    return sent


async def test_what_comes_as_a_run_ends_is_refused_to_whoever_sent_it_and_stands_in_the_log() -> None:
    async with supervisor(agent(), HAL) as sup:
        sent = when_it_puts(sup, "run_finished", EVERY)
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        said = [str(error) for error in await asyncio.gather(*sent, return_exceptions=True)]
        told = [(event.data["signal"], event.data["reason"]) for event in await happened(sup, "signal_refused")]
        left = await waiting(sup.graph.store, THREAD)

    late = "came too late: the run was complete"
    assert (run.status, said, left) == ("complete", [late] * len(EVERY), [])
    assert sorted(told) == sorted((signal.kind, late) for signal in EVERY)


async def test_a_run_that_has_given_up_takes_nothing_in_but_its_cancelling() -> None:
    async with supervisor(
        agent(Turns(ValueError("no"))), HAL, max_attempts=1, failure_threshold={"default": 0.0}
    ) as sup:
        sent = when_it_puts(
            sup, "phase_entered", [Recruit(role="helper", task="more"), Takeover(), Cancel()], "assembling"
        )
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a", "b <- a"))
        recruit, takeover, cancel = await asyncio.gather(*sent, return_exceptions=True)

    assert (run.status, [task.id for task in run.tasks]) == ("cancelled", ["a", "b"])
    assert all("came too late: the run " in str(one) for one in (recruit, takeover))
    assert isinstance(cancel, Run)


async def test_what_is_handed_back_right_behind_a_takeover_is_not_done_by_agents_meanwhile() -> None:
    began, did = asyncio.Event(), list[str]()

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "a" and not began.is_set():
            began.set()
            await happened(sup, "control_changed", times=2)
            await desk.pause_point()
        did.append(brief.task.id)
        return "by an agent"

    async with supervisor(agent(work)) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id=THREAD, plan=plan("a", "b <- a", "c <- b")))
        await began.wait()
        await sup._runs.signal(THREAD, Takeover())
        await sup._runs.signal(THREAD, HandBack(results={"b": "by hand"}, plan=None))
        run = await running

    assert (run.status, did) == ("complete", ["a", "c"])
    assert [task.agent for task in run.tasks] == ["ada", "human", "ada"]


async def test_a_run_that_is_paused_right_behind_a_hand_back_is_paused_and_goes_on_with_it() -> None:
    async def asks(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch")).type)

    async with supervisor(agent(asks)) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await sup.signal(THREAD, Takeover())
        await sup._runs.signal(THREAD, HandBack(results={"a": "by hand"}))
        paused = await sup.signal(THREAD, Pause())
        run = await sup.resume(THREAD)

    assert (paused.status, run.status, run.tasks[0].result) == ("paused", "complete", "by hand")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (SendMail(to="zorro", text="hello"), "nobody called 'zorro'; give all, a task's id, an agent or a role: ada"),
        (Retire(agent="zorro"), "there is no agent 'zorro'; there are: ada, hal"),
        (Recruit(role="helper", task="t", needed_by=["z"]), "there is no task 'z' to wait for it; there are a, b"),
        (Recruit(role="helper", task="t", needed_by=["a"]), "task a has begun, and cannot wait for it any more"),
    ],
)
async def test_a_name_that_means_nobody_is_refused_with_those_there_are(sent: Signal, said: str) -> None:
    work = Gates("a")
    async with supervisor(agent(work), HAL) as sup, under_way(sup, plan("a", "b <- a")):
        await work.all_came()
        with pytest.raises(BadInput, match=said):
            await sup.signal(THREAD, sent)
        work.open()


async def test_a_person_may_name_the_tasks_that_wait_for_a_recruit() -> None:
    work = Gates("a")
    async with supervisor(agent(work), HAL) as sup:
        async with under_way(sup, plan("a", "b", "c <- a")) as running:
            await work.all_came()
            await sup.signal(THREAD, Recruit(role="helper", task="look first", by="ana", needed_by=["c"]))
            work.open()
        run = running.result()
        started = [event.task_id for event in await happened(sup, "task_started")]

    assert statuses(run) == {"a": "done", "b": "done", "c": "done", "ana.r1": "done"}
    assert started[-1] == "c"
    assert run.tasks[2].result == "c: a, ana.r1"


async def test_a_person_who_is_called_like_a_task_is_not_its_recruiter() -> None:
    work, helper = Gates("a"), Gates("a.r1")
    async with supervisor(agent(work), agent(helper, "hal", "helper")) as sup, under_way(sup, plan("a", "b <- a")):
        await work.all_came()
        await sup.signal(THREAD, Recruit(role="helper", task="on the side", by="a"))
        await helper.all_came()
        work.open()
        finished = await happened(sup, "task_finished", times=2)
        helper.open()

    assert [event.task_id for event in finished] == ["a", "b"]


async def test_mail_that_its_agent_was_not_given_is_shown_as_unread() -> None:
    work = Gates("a")
    async with supervisor(agent(work), HAL) as sup:
        async with under_way(sup, plan("a", {"id": "b", "role": "helper"})):
            await work.all_came()
            await happened(sup, "task_finished")
            await sup.signal(THREAD, SendMail(to="hal", text="one thing more", by="ana"))
            await sup.signal(THREAD, SendMail(to="ada", text="hurry", by="ana"))
            before = {member.agent: member.unread for member in await sup.team(THREAD)}
            work.open()
        after = {member.agent: member.unread for member in await sup.team(THREAD)}

    assert before == {"ada": 1, "hal": 1}
    assert after == {"ada": 0, "hal": 1}
