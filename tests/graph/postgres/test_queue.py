"""Runs that wait for workers: what is put into the queue, who takes it, in which order, and what comes of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest

from graph.supervisor import Supervisor
from nodes.runtime.clock import SystemClock
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from state.errors import BadInput, ThreadBusy, ThreadUnknown
from state.run import Run
from state.signal import Cancel, Pause, SendMail
from tests import runs
from tests.runs import agent, plan, says_its_task

opened = partial(runs.opened, clock=SystemClock())
PLAN = plan("a", "b")


@asynccontextmanager
async def at_work(sup: Supervisor, runs: int = 8) -> AsyncIterator[list[Run]]:
    """A worker, as long as it is needed; the runs that it was done with."""
    done: list[Run] = []
    working = asyncio.create_task(sup.work(runs, drain_s=5, on_run=done.append))
    try:
        yield done
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


async def until(sup: Supervisor, thread_id: str, *statuses: str) -> Run:
    """The run, once it stands so."""
    async with asyncio.timeout(60):
        while True:
            run = await sup.view(thread_id)
            if run.status in statuses:
                return run
            await asyncio.sleep(0.02)


async def asks(brief: Brief, desk: Desk) -> str:
    return (await desk.ask("launch")).type


@pytest.mark.of_files
async def test_a_file_has_no_queue(tmp_path: Path) -> None:
    async with opened(agent(says_its_task)) as sup:
        with pytest.raises(BadInput, match=r"runs are queued on PostgreSQL, and .* is a file; give --db postgresql://"):
            await sup.enqueue("Q")
        with pytest.raises(BadInput, match=r"workers take runs from PostgreSQL"):
            await sup.work()


@pytest.mark.services
async def test_a_queued_run_is_begun_by_a_worker_and_its_question_answered_from_elsewhere(on_postgres: str) -> None:
    async with opened(agent(asks), db=on_postgres) as clerk, opened(agent(asks), db=on_postgres) as sup:
        queued = await clerk.enqueue("Q", thread_id="t", plan=plan("a"))
        assert (queued.status, queued.waits_for, queued.hint) == ("queued", "worker", ["cancel"])
        assert [(run.thread_id, run.status) for run in await clerk.runs(only_open=True)] == [("t", "queued")]

        async with at_work(sup) as done:
            asked = await until(clerk, "t", "waiting")
            await clerk.answer("t", {asked.approvals[0].id: "approve"}, by="eve")
            ended = await until(clerk, "t", "complete")

    assert ended.tasks[0].result == "approve"
    assert done[-1].status == "complete"


@pytest.mark.services
async def test_the_highest_priority_is_begun_first_then_the_oldest(on_postgres: str) -> None:
    async with opened(agent(says_its_task), db=on_postgres) as sup:
        for name, priority in (("old", 0), ("young", 0), ("urgent", 5), ("idle", -5)):
            await sup.enqueue("Q", thread_id=name, plan=PLAN, priority=priority)
        async with at_work(sup, runs=1) as done:
            await until(sup, "idle", "complete")

    assert [run.thread_id for run in done[:3]] == ["urgent", "old", "young"]


@pytest.mark.services
async def test_a_run_that_was_answered_goes_on_before_others_begin(on_postgres: str) -> None:
    async with opened(agent(asks), db=on_postgres) as sup:
        await sup.enqueue("Q", thread_id="begun", plan=plan("a"))
        async with at_work(sup):
            asked = await until(sup, "begun", "waiting")
        await sup.enqueue("Q", thread_id="fresh", plan=plan("a"))
        answered = await sup.answer("begun", {asked.approvals[0].id: "approve"}, by="eve")
        async with at_work(sup, runs=1) as done:
            await until(sup, "fresh", "waiting")

    assert (answered.waits_for, "resume" in answered.hint) == ("worker", False)
    assert [run.thread_id for run in done[:2]] == ["begun", "fresh"]


GIVEN = """
WITH other AS (INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() + %s::interval) RETURNING id)
UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT id FROM other)
WHERE args ->> 'thread_id' = %s AND scheduled_at IS NULL
"""
"""The job of a thread, to a worker that was heard of so long ago."""


@pytest.mark.services
async def test_a_run_that_a_dead_worker_had_goes_on_before_all_others_of_its_priority(on_postgres: str) -> None:
    async with opened(agent(asks), db=on_postgres) as sup:
        for name in ("begun", "had"):
            await sup.enqueue("Q", thread_id=name, plan=plan("a"))
        async with at_work(sup):
            asked = [await until(sup, name, "waiting") for name in ("begun", "had")]
        await sup.enqueue("Q", thread_id="fresh", plan=plan("a"))
        for run in asked:
            await sup.answer(run.thread_id, {run.approvals[0].id: "approve"}, by="eve")
        with psycopg.connect(on_postgres) as connection:
            connection.execute(GIVEN, ["-2 s", "had"])
        async with at_work(sup, runs=1) as done:
            await until(sup, "fresh", "waiting")

    assert [run.thread_id for run in done[:3]] == ["had", "begun", "fresh"]


@pytest.mark.services
async def test_a_run_that_was_told_something_before_its_workers_death_was_seen_goes_on_before_others(
    on_postgres: str,
) -> None:
    async with opened(agent(asks), db=on_postgres) as sup:
        for name in ("begun", "had"):
            await sup.enqueue("Q", thread_id=name, plan=plan("a"))
        async with at_work(sup):
            asked = [await until(sup, name, "waiting") for name in ("begun", "had")]
        for run in asked:
            await sup.answer(run.thread_id, {run.approvals[0].id: "approve"}, by="eve")
        with psycopg.connect(on_postgres) as connection:
            connection.execute(GIVEN, ["-2 s", "had"])
        await sup.signal("had", SendMail(to="a", text="Soon?"))
        async with at_work(sup, runs=1) as done:
            await until(sup, "begun", "complete")

    assert [run.thread_id for run in done[:2]] == ["had", "begun"]


@pytest.mark.services
async def test_one_worker_goes_on_with_all_that_dead_ones_had_and_none_begins_more_before_there_is_room(
    on_postgres: str,
) -> None:
    had = ("one", "two", "three")
    may_end = {name: asyncio.Event() for name in ("own", *had, "fresh")}
    begun: asyncio.Queue[str] = asyncio.Queue()

    async def waits(brief: Brief, desk: Desk) -> str:
        begun.put_nowait(brief.query)
        await may_end[brief.query].wait()
        return "So."

    async with opened(agent(waits), db=on_postgres) as sup, opened(agent(waits), db=on_postgres) as other:
        await sup.enqueue("own", thread_id="own", plan=plan("a"))
        async with at_work(sup, runs=1):
            assert await begun.get() == "own"
            for name in had:
                await sup.enqueue(name, thread_id=name, plan=plan("a"))
            with psycopg.connect(on_postgres) as connection:
                for name in had:
                    connection.execute(GIVEN, ["-2 s", name])
            async with asyncio.timeout(60):
                assert {await begun.get() for _ in had} == set(had)
            await sup.enqueue("fresh", thread_id="fresh", plan=plan("a"))
            async with at_work(other, runs=1):
                for name in had:
                    assert begun.empty()
                    assert (await sup.view("fresh")).status == "queued"
                    may_end[name].set()
                    await until(sup, name, "complete")
                may_end["fresh"].set()
                await until(sup, "fresh", "complete")
                may_end["own"].set()
                await until(sup, "own", "complete")


@pytest.mark.services
async def test_a_job_that_was_given_to_another_while_its_worker_stood_still_is_the_others_to_end(
    on_postgres: str,
) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def waits(brief: Brief, desk: Desk) -> str:
        has_begun.set()
        await may_end.wait()
        return "So."

    async with opened(agent(waits), db=on_postgres) as sup:
        await sup.enqueue("Q", thread_id="t", plan=plan("a"))
        async with at_work(sup):
            await has_begun.wait()
            with psycopg.connect(on_postgres) as connection:
                connection.execute(GIVEN, ["1 h", "t"])
            may_end.set()
            await until(sup, "t", "complete")

    with psycopg.connect(on_postgres) as connection:
        assert connection.execute("SELECT status FROM procrastinate_jobs").fetchall() == [("doing",)]


@pytest.mark.services
async def test_a_run_that_is_for_later_is_left_alone_until_then(
    on_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.worker.SWEEP_S", 0.05)
    async with opened(agent(says_its_task), db=on_postgres) as sup:
        await sup.enqueue("Q", thread_id="later", plan=PLAN, at=time.time() + 3600)
        await sup.enqueue("Q", thread_id="now", plan=PLAN)
        async with at_work(sup):
            await until(sup, "now", "complete")
            await asyncio.sleep(0.5)
        assert (await sup.view("later")).status == "queued"


@pytest.mark.parametrize("at", [1e300, -1e300, float("nan"), float("inf")])
@pytest.mark.services
async def test_a_time_that_is_none_is_refused(on_postgres: str, at: float) -> None:
    async with opened(agent(says_its_task), db=on_postgres) as sup:
        with pytest.raises(BadInput, match=r"a time in seconds since the epoch, and .* is none"):
            await sup.enqueue("Q", at=at)


@pytest.mark.services
async def test_a_worker_takes_the_runs_of_its_own_team(on_postgres: str) -> None:
    eve = AgentSpec(name="eve", role="generalist", run=says_its_task)
    async with opened(agent(says_its_task), db=on_postgres) as ours, opened(eve, db=on_postgres) as theirs:
        await theirs.enqueue("Q", thread_id="theirs", plan=PLAN)
        await ours.enqueue("Q", thread_id="ours", plan=PLAN)
        async with at_work(ours):
            await until(ours, "ours", "complete")
        assert (await theirs.view("theirs")).status == "queued"


@pytest.mark.services
async def test_what_waits_can_be_cancelled_and_nothing_else(on_postgres: str) -> None:
    async with opened(agent(says_its_task), db=on_postgres) as sup:
        await sup.enqueue("Q", thread_id="t", plan=PLAN)
        with pytest.raises(ThreadBusy, match="thread t has work in flight"):
            await sup.enqueue("Q", thread_id="t", plan=PLAN)
        with pytest.raises(BadInput, match="waits for a worker, nothing of it has begun; it can be cancelled"):
            await sup.signal("t", Pause())
        assert (await sup.signal("t", Cancel())).status == "cancelled"
        with pytest.raises(ThreadUnknown):
            await sup.view("t")
        async with at_work(sup) as done:
            await sup.enqueue("Q", thread_id="next", plan=PLAN)
            await until(sup, "next", "complete")

    assert {run.thread_id for run in done} <= {"next"}


@pytest.mark.services
async def test_a_follow_up_waits_on_a_thread_that_has_ended_and_begins_once(on_postgres: str) -> None:
    async with opened(agent(says_its_task), db=on_postgres) as sup:
        first = await sup.start("Q", thread_id="t", plan=plan("a"))
        assert (await sup.enqueue("And now?", thread_id="t", plan=plan("b"))).status == "queued"
        async with at_work(sup):
            ended = await until(sup, "t", "complete")
    assert (first.query, ended.query, ended.tasks[0].id) == ("Q", "And now?", "b")


@pytest.mark.services
async def test_a_deadline_passes_with_nobody_looking_but_a_worker(on_postgres: str) -> None:
    async with opened(agent(asks), db=on_postgres, approval_timeout_s=0.5, on_timeout={"default": "reject"}) as sup:
        await sup.enqueue("Q", thread_id="t", plan=plan("a"))
        async with at_work(sup):
            ended = await until(sup, "t", "complete", "partial", "failed")
            [answer] = [event.data for event in await sup.events("t") if event.kind == "approval_answered"]
    assert ended.has_ended
    assert answer["decision"] == "reject"


@pytest.mark.services
async def test_sources_of_a_queued_run_are_where_every_worker_finds_them(
    on_postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared" / "docs").mkdir(parents=True)
    (tmp_path / "shared" / "docs" / "a.md").write_text("# A\n\nAnts are small.\n")
    async with opened(agent(says_its_task), db=on_postgres) as sup:
        with pytest.raises(BadInput, match=r"a worker may run on another machine; put the sources .* BATON_FILES"):
            await sup.enqueue("Q", [tmp_path / "shared" / "docs"])
    monkeypatch.setenv("BATON_FILES", str(tmp_path / "shared"))
    async with opened(agent(says_its_task), db=on_postgres) as sup:
        with pytest.raises(BadInput, match="put the sources of a queued run below"):
            await sup.enqueue("Q", [tmp_path])
        await sup.enqueue("Q", [tmp_path / "shared" / "docs"], "t", plan=PLAN)
        async with at_work(sup):
            assert (await until(sup, "t", "complete")).status == "complete"
