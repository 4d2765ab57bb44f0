"""The desk: asking, recruiting, waiting, writing and reading, and the safe point."""

import asyncio

import pytest

from nodes.runtime.calling import Parked
from state.approval import Decision
from state.signal import Control
from tests.builders import make_outcome, make_record
from tests.nodes.runtime.executions import desk_of, make_floor

YES = Decision(type="approve", by="ana")


async def test_asking_parks_with_the_question_and_returns_the_answer_when_there_is_one() -> None:
    execution = make_floor()
    with pytest.raises(Parked) as parked:
        await desk_of(execution).ask("send", {"to": "bob"}, "high")
    (asked,) = parked.value.approvals
    assert (asked.id, asked.action, asked.args, asked.risk) == ("t1.0.q1", "send", {"to": "bob"}, "high")

    execution.signals.decide(asked.id, YES)
    desk = desk_of(execution)
    assert await desk.ask("send", {"to": "bob"}, "high") == YES
    with pytest.raises(Parked, match=r"t1\.0\.q2"):
        await desk.ask("send", {"to": "eve"})


async def test_a_refused_recruit_is_false_and_says_why() -> None:
    made = await desk_of(make_floor(recruit_roles=[])).recruit("helper", "more")
    assert (bool(made), str(made)) == (False, "role 'helper' may not be recruited; allowed are: none")


async def test_who_waits_for_a_task_gives_its_place_to_others_and_takes_it_back() -> None:
    execution = make_floor(make_record("t1", "running"), make_record("t2", "running"), max_parallel=1)
    async with execution.concurrency:
        waits = asyncio.create_task(desk_of(execution).result("t2"))
        async with asyncio.timeout(90), execution.concurrency:
            done = make_record("t2", "done", outcome=make_outcome("t2"))
            execution.records["t2"] = done
            execution.signals.changed.set()
        assert await waits == done.outcome
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await execution.concurrency.acquire()


async def test_who_waits_for_a_task_that_waits_for_a_human_stops_there() -> None:
    execution = make_floor(make_record("t1", "running"), make_record("t2", "parked"))
    async with execution.concurrency:
        with pytest.raises(Parked):
            await desk_of(execution).result("t2")
    assert execution.idle.is_set()


async def test_waiting_for_a_task_that_there_is_not_is_an_error() -> None:
    execution = make_floor()
    async with execution.concurrency:
        with pytest.raises(KeyError):
            await desk_of(execution).result("t9")


async def test_an_inbox_gives_each_message_once_and_each_try_reads_from_the_start() -> None:
    execution = make_floor()
    sender, reader = desk_of(execution, "bob", "t2"), desk_of(execution)
    sender.mail("ada", "one")
    assert [mail.text for mail in reader.inbox()] == ["one"]
    sender.mail("ada", "two")
    assert [mail.text for mail in reader.inbox()] == ["two"]
    assert reader.inbox() == []
    assert [mail.text for mail in desk_of(execution).inbox()] == ["one", "two"]


async def test_mail_of_a_try_that_is_made_again_after_a_crash_arrives_once() -> None:
    execution = make_floor()
    for _ in range(2):
        desk = desk_of(execution, "bob", "t2")
        desk.mail("ada", "one")
        desk.mail("ada", "two")
    assert [mail.text for mail in desk_of(execution).inbox()] == ["one", "two"]


async def test_a_safe_point_lets_a_running_run_pass_and_stops_in_any_other() -> None:
    execution = make_floor()
    await desk_of(execution).pause_point()
    for driving in ("paused", "handed_over"):
        execution.signals.set_control(Control(driving=driving))
        with pytest.raises(Parked):
            await desk_of(execution).pause_point()


def test_the_desk_knows_the_team() -> None:
    members = desk_of(make_floor()).team()
    assert [(member.agent, member.status) for member in members] == [
        ("ada", "running"),
        ("bob", "idle"),
        ("hal", "idle"),
    ]
