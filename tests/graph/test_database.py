"""One SQLite file; one that cannot be used is refused in a line that says what to do."""

import asyncio
import gc
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Timer
from typing import Any, cast

import pytest
from langgraph.store.base import Op, PutOp, Result

from graph.database import open_database
from graph.reading import Reading, tell_damaged
from graph.sqlite.lease import Leases
from graph.supervisor import open_supervisor
from graph.testing import HeldClock
from nodes.runtime.audit import Seals
from state.agent import Brief
from state.errors import DatabaseUnusable
from tests.runs import agent, opened, plan

HEADER = b"SQLite format 3\x00"
VISIT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM store").fetchall()
connection.close()
"""


async def refusal_of(db: Path) -> str:
    with pytest.raises(DatabaseUnusable) as caught:
        async with opened(db=db) as sup:
            await sup.start("Q", plan=plan("a"))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.of_files
async def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    db = tmp_path / "notes.txt"
    db.write_text("my notes")

    assert "notes.txt is not a Baton database, or is damaged; give another file with --db" in await refusal_of(db)
    assert db.read_text() == "my notes"


@pytest.mark.of_files
async def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    db.write_bytes(HEADER + b"\xff" * 5000)

    assert "runs.db is not a Baton database, or is damaged" in await refusal_of(db)


@pytest.mark.of_files
async def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert f"{tmp_path} is a folder; give a file with --db" in await refusal_of(tmp_path)


@pytest.mark.of_files
async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert f"folder {tmp_path / 'no'} does not exist" in await refusal_of(tmp_path / "no" / "runs.db")


@pytest.mark.of_files
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which even root cannot write")
async def test_a_folder_that_cannot_be_written_to_is_refused() -> None:
    assert "give a file in a folder you can write to, with --db" in await refusal_of(Path("/proc/runs.db"))


@pytest.mark.of_files
async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    db.touch()
    async with opened(db=db) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.status == "complete"
    assert db.read_bytes().startswith(HEADER)


@pytest.mark.parametrize(("setting", "level"), [("NORMAL", 1), ("FULL", 2)])
async def test_every_connection_is_set_up_alike(setting: str, level: int, tmp_path: Path) -> None:
    async with open_database(tmp_path / "runs.db", setting) as database:
        for pragma, value in (("journal_mode", "wal"), ("synchronous", level), ("busy_timeout", 10_000)):
            assert database.checkpointer.conn.execute(f"PRAGMA {pragma}").fetchone() == (value,)
            assert database.store.conn.execute(f"PRAGMA {pragma}").fetchone() == (value,)


async def test_the_file_holds_langgraphs_tables_and_none_of_ours(tmp_path: Path) -> None:
    async with opened(db=tmp_path / "runs.db") as sup:
        await sup.start("Q", plan=plan("a"))
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    connection.close()

    assert {name for (name,) in rows} <= {"checkpoints", "writes", "store", "store_migrations", "store_vectors"}


async def test_a_write_whose_writer_is_cancelled_leaves_no_transaction_open(tmp_path: Path) -> None:
    async with open_database(tmp_path / "runs.db") as database:
        for number in range(20):
            writing = asyncio.create_task(database.store.abatch([PutOp(("rows",), str(number), {"n": number})]))
            for _ in range(number):
                await asyncio.sleep(0)
            writing.cancel()
            await asyncio.wait({writing})
            await database.store.abatch([PutOp(("rows",), "after", {"n": number})])
        last = await database.store.aget(("rows",), "after")

    assert last
    assert last.value == {"n": 19}


async def test_what_one_opening_writes_is_kept_when_another_is_made_and_another_process_comes_and_goes(
    tmp_path: Path,
) -> None:
    db = tmp_path / "runs.db"
    async with open_database(db) as first, open_database(db):
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", VISIT, str(db)], check=True)
        await first.store.aput(("rows",), "late", {"n": 1})
        with sqlite3.connect(db) as connection:
            rows = connection.execute("SELECT key FROM store").fetchall()
        connection.close()

    assert rows == [("late",)]


async def test_several_can_make_a_database_at_the_same_moment(tmp_path: Path) -> None:
    async def make(number: int) -> None:
        async with open_database(tmp_path / f"{number // 5}.db") as database:
            await database.store.aput(("made",), str(number), {})

    await asyncio.gather(*(make(number) for number in range(40)))


async def test_a_batch_that_fails_half_way_changes_nothing(tmp_path: Path) -> None:
    refuse = "CREATE TRIGGER refuse BEFORE INSERT ON store WHEN NEW.key = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
    async with open_database(tmp_path / "runs.db") as database:
        await database.store.aput(("rows",), "kept", {"n": 1})
        database.store.conn.execute(refuse)
        with pytest.raises(sqlite3.Error, match="no"):
            await database.store.abatch([PutOp(("rows",), "kept", None), PutOp(("rows",), "bad", {"n": 2})])
        await database.store.aput(("rows",), "after", {"n": 3})
        found = sorted(item.key for item in await database.store.asearch(("rows",)))

    assert found == ["after", "kept"]


@pytest.mark.of_files
async def test_a_run_whose_disk_fails_while_a_task_waits_for_a_human_stops_and_goes_on_later(tmp_path: Path) -> None:
    asked, fails = asyncio.Event(), asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "asks":
            return str((await desk.ask("launch")).type)
        if not fails.is_set():
            await asked.wait()
            fails.set()
            connection.execute("PRAGMA query_only=1")
        return "So."

    async with opened(agent(work), db=tmp_path / "runs.db") as sup:
        store: Any = sup.graph.store
        connection: sqlite3.Connection = store.conn
        running = asyncio.create_task(
            sup.start("Q", thread_id="t", plan=plan("asks", "b"), on_event=lambda event: hear(event, asked))
        )
        assert await asyncio.wait({running}, timeout=60) == ({running}, set())
        with pytest.raises(DatabaseUnusable, match="readonly"):
            await running
        connection.execute("PRAGMA query_only=0")
        run = await sup.resume("t")
        assert (run.status, [task.status for task in run.tasks]) == ("waiting", ["parked", "done"])


async def test_what_a_write_that_failed_has_put_off_is_done_after_the_others_though_one_of_them_waits_for_a_human(
    tmp_path: Path,
) -> None:
    async def work(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch")).type) if brief.task.id == "asks" else "So."

    async with opened(agent(work), db=tmp_path / "runs.db") as sup:
        store: Any = sup.graph.store
        abatch, failed = store.abatch, list[Op]()

        async def fails_once(ops: Sequence[Op]) -> list[Result]:
            ends = [op for op in ops if isinstance(op, PutOp) and op.value and op.value.get("kind") == "task_finished"]
            if not failed and any(op.value and op.value["task_id"] == "b" for op in ends):
                failed.extend(ends)
                raise sqlite3.OperationalError("database or disk is full")
            return cast(list[Result], await abatch(ops))

        store.abatch = fails_once
        with pytest.raises(DatabaseUnusable, match="disk is full"):
            await sup.start("Q", thread_id="t", plan=plan("b", "c <- b", "asks"))
        going_on = asyncio.create_task(sup.resume("t"))
        assert await asyncio.wait({going_on}, timeout=60) == ({going_on}, set())
        run = await going_on
        assert (run.status, [task.status for task in run.tasks]) == ("waiting", ["done", "done", "parked"])


def hear(event: dict[str, Any], asked: asyncio.Event) -> None:
    if event["kind"] == "approval_requested":
        asked.set()


async def test_the_error_of_a_write_whose_caller_was_cancelled_meanwhile_is_not_printed(tmp_path: Path) -> None:
    said, may_write = list[dict[str, Any]](), Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, what: said.append(what))
    async with open_database(tmp_path / "runs.db") as database:
        database.store.conn.execute("CREATE TRIGGER refuse BEFORE INSERT ON store BEGIN SELECT raise(ABORT, 'no'); END")
        before = asyncio.create_task(database.connection.do(may_write.wait))
        writing = asyncio.create_task(database.store.aput(("rows",), "bad", {"n": 1}))
        await asyncio.sleep(0)
        writing.cancel()
        may_write.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await before
    gc.collect()

    assert said == []


@pytest.mark.parametrize("turns", range(0, 60, 5))
async def test_runs_that_are_cut_off_leave_the_file_free_to_anybody(tmp_path: Path, turns: int) -> None:
    """What LangGraph writes in the background outlives the run that is cut off; the connection waits for it."""
    at_work, free = asyncio.Event(), asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        at_work.set()
        await free.wait()
        return "So."

    async def run(thread: str) -> None:
        async with opened(agent(work), db=tmp_path / "runs.db") as sup:
            await sup.start("Q", thread_id=thread, plan=plan("a", "b", "c"))

    running = [asyncio.create_task(run(thread)) for thread in "xyz"]
    await at_work.wait()
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in running:
        task.cancel()
    await asyncio.wait(running)

    other = sqlite3.connect(tmp_path / "runs.db", timeout=0, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # refused while somebody else is in the middle of a transaction
    other.execute("ROLLBACK")
    other.close()


async def test_opening_waits_for_whoever_makes_the_file(tmp_path: Path) -> None:
    """SQLite itself does not wait there: it says at once that the database is locked."""
    db = tmp_path / "runs.db"
    maker = sqlite3.connect(db, isolation_level=None, check_same_thread=False)
    maker.execute("BEGIN EXCLUSIVE")
    Timer(0.2, maker.execute, ["ROLLBACK"]).start()

    async with opened(db=db) as sup:
        assert (await sup.start("Q", plan=plan("a"))).status == "complete"
    maker.close()


@pytest.mark.of_files
async def test_a_file_that_cannot_be_written_to_is_looked_at_and_left_as_it_is(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    async with opened(db=db) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
    before = db.read_bytes()

    async with open_database(db, read_only=True) as database:
        reading = Reading(database, Leases(database.connection, HeldClock()), HeldClock(), ["ada"], Seals())
        runs = await reading.runs(reading.view, on_damaged=tell_damaged)
        still_open = await reading.runs(reading.view, only_open=True, on_damaged=tell_damaged)
        events = await reading.events("t")

    assert ([run.status for run in runs], still_open, events[-1].kind) == (["complete"], [], "run_finished")
    async with open_supervisor(db, [agent()], read_only=True) as sup:
        assert ([one.agent for one in await sup.team("t")], [*await sup.trust()]) == (["ada"], ["ada"])
    assert db.read_bytes() == before
    async with open_database(db, read_only=True) as database:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            await database.checkpointer.adelete_thread("t")


async def test_the_store_tells_cheaply_whether_anybody_has_written(tmp_path: Path) -> None:
    async with open_database(tmp_path / "x.db") as ours, open_database(tmp_path / "x.db") as theirs:
        before = await ours.store.changes()
        assert await ours.store.changes() == before
        await theirs.store.aput(("a",), "k", {})
        after_theirs = await ours.store.changes()
        await ours.store.aput(("a",), "k", {})
        assert len({before, after_theirs, await ours.store.changes()}) == 3
