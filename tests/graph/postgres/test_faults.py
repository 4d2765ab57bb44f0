"""What goes wrong with a database on a server: it is said in one line, no password in it, and runs go on afterwards."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from graph.lease import Holder
from graph.postgres import lease
from nodes.runtime.clock import SystemClock
from state.agent import Brief
from state.errors import BatonError, DatabaseUnusable, LeaseLost, ThreadBusy
from tests import postgres, runs
from tests.graph.postgres.test_queue import asks, at_work, until
from tests.runs import agent, plan, statuses

pytestmark = pytest.mark.services

opened = partial(runs.opened, clock=SystemClock())
END_ALL = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND datname = current_database()
"""

LEFT = """
WITH dead AS (INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '10 s') RETURNING id)
UPDATE procrastinate_jobs SET status = 'doing', worker_id = dead.id FROM dead WHERE args ->> 'thread_id' = 'left'
"""


class Gate:
    """An agent that stands in the task `gate` until it is let through, and notes what it began."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.is_there, self.is_open = asyncio.Event(), asyncio.Event()

    async def __call__(self, brief: Brief, desk: Any) -> str:
        self.began.append(brief.task.id)
        if brief.task.id == "gate":
            self.is_there.set()
            await self.is_open.wait()
        return "So."


def pgbouncer() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def pooled(server: str, mode: str) -> Iterator[str]:
    """The address of a pooler in front of a server."""
    program = pgbouncer()
    if program is None and not os.environ.get("CI"):
        pytest.skip("PgBouncer is missing: apt-get install pgbouncer")
    assert program
    folder = Path(tempfile.mkdtemp(prefix="pgb", dir="/tmp"))
    (folder / "users").write_text('"baton" ""\n')
    host = server.rpartition("@")[2].replace("%2F", "/")
    (folder / "ini").write_text(
        f"[databases]\n* = host={host}\n[pgbouncer]\nunix_socket_dir={folder}\nlisten_addr=\nauth_type=trust\n"
        f"auth_file={folder}/users\npool_mode={mode}\n"
    )
    if name := postgres.owner():
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, name)
    process = subprocess.Popen([program, "-q", str(folder / "ini")], user=postgres.owner(), stderr=subprocess.DEVNULL)
    try:
        while not (folder / ".s.PGSQL.6432").exists():
            assert process.poll() is None
        yield f"postgresql://baton@{str(folder).replace('/', '%2F')}:6432"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


async def test_a_pooler_of_transactions_is_refused_and_one_of_sessions_is_not(on_postgres: str) -> None:
    server, _, name = on_postgres.rpartition("/")
    why = r"shares connections between transactions.*`pool_mode = session`"
    with pooled(server, "transaction") as pooler, pytest.raises(DatabaseUnusable, match=why):
        async with opened(db=f"{pooler}/{name}"):
            pass
    with pooled(server, "session") as pooler:
        async with opened(db=f"{pooler}/{name}") as sup, opened(db=f"{pooler}/{name}") as other:
            assert (await sup.start("Q", thread_id="t", plan=plan("a", "b <- a"))).status == "complete"
            async with sup._runs.leases.hold("u"):
                with pytest.raises(ThreadBusy):
                    async with other._runs.leases.hold("u", patience_s=0):
                        pass


async def test_a_wrong_password_is_told_without_it(on_postgres: str) -> None:
    with psycopg.connect(on_postgres, autocommit=True) as connection, suppress(psycopg.errors.DuplicateObject):
        connection.execute("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'")
    for given, why in ((":wr0ng", "check the user and the password"), ("", "give a password")):
        with pytest.raises(DatabaseUnusable, match=why) as refused:
            async with opened(db=on_postgres.replace("baton@", f"guarded{given}@")):
                pass
        assert "wr0ng" not in str(refused.value)
    async with opened(db=on_postgres.replace("baton@", "guarded:right@")) as sup:
        assert (await sup.start("Q", plan=plan("a"))).status == "complete"


async def test_a_run_whose_server_goes_away_stops_and_goes_on_when_it_is_back() -> None:
    work = Gate()
    with postgres.own_server() as server:
        address = postgres.new_database(server.address, "runs")
        async with opened(agent(work), db=address) as sup:
            running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a", "gate <- a", "b <- gate")))
            await work.is_there.wait()
            await asyncio.to_thread(server.stop, "fast")
            work.is_open.set()
            with pytest.raises(BatonError) as stopped:
                await running
            with pytest.raises(DatabaseUnusable, match="`baton resume` goes on"):
                await sup.view("t")
            await asyncio.to_thread(server.start)
            run = await sup.resume("t")

    assert (run.status, work.began) == ("complete", ["a", "gate", "gate", "b"])
    assert "\n" not in str(stopped.value)


async def test_a_worker_whose_server_goes_away_takes_what_is_queued_or_left_by_a_dead_one_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("graph.worker.SWEEP_S", 1000.0)  # which would find it, later
    complaints: list[str] = []
    with postgres.own_server() as server:
        address = postgres.new_database(server.address, "runs")
        async with opened(db=address) as clerk, opened(db=address) as sup:
            working = asyncio.create_task(sup.work(drain_s=5, complain=complaints.append))
            await clerk.enqueue("Q", thread_id="before", plan=plan("a"))
            await until(clerk, "before", "complete")
            await asyncio.to_thread(server.stop, "fast")
            await asyncio.to_thread(server.start)
            await clerk.enqueue("Q", thread_id="after", plan=plan("a"))
            await clerk.enqueue("Q", thread_id="left", plan=plan("a"), at=time.time() + 3600)
            with psycopg.connect(address) as connection:
                connection.execute(LEFT)
            for name in ("after", "left"):
                assert (await until(clerk, name, "complete")).status == "complete"
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
    assert not any("\n" in one or "Database error" in one for one in complaints)


async def test_what_a_worker_says_of_an_outage_tells_nobody_to_go_on_with_what_it_goes_on_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("graph.worker.SWEEP_S", 0.05)
    complaints: list[str] = []
    gate = Gate()
    with postgres.own_server() as server:
        address = postgres.new_database(server.address, "runs")
        async with opened(agent(gate), db=address) as clerk, opened(agent(gate), db=address) as sup:
            working = asyncio.create_task(sup.work(drain_s=5, complain=complaints.append))
            await clerk.enqueue("Q", thread_id="t", plan=plan("gate"))
            await gate.is_there.wait()
            await asyncio.to_thread(server.stop)
            gate.is_open.set()
            async with asyncio.timeout(60):
                while not {"t:", "database"} <= {one.split()[0] for one in complaints}:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            await asyncio.to_thread(server.start)
            assert (await until(clerk, "t", "complete")).status == "complete"
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
    assert not any("resume" in one or "createdb" in one for one in complaints), complaints


async def test_whatever_connection_is_ended_the_runs_of_a_worker_come_to_their_end(on_postgres: str) -> None:
    async def slowly(brief: Brief, desk: Any) -> str:
        await asyncio.sleep(0.1)
        return "So."

    async with opened(agent(slowly), db=on_postgres) as clerk, opened(agent(slowly), db=on_postgres) as sup:
        names = [f"t{number}" for number in range(3)]
        for name in names:
            await clerk.enqueue("Q", thread_id=name, plan=plan("a", "b <- a", "c <- b"))
        async with at_work(sup):
            for _ in range(3):
                await asyncio.sleep(0.4)
                with psycopg.connect(on_postgres, autocommit=True) as connection:
                    connection.execute(END_ALL)
            for name in names:
                assert (await until(clerk, name, "complete")).status == "complete"
        finished = [[e.task_id for e in await clerk.events(name) if e.kind == "task_finished"] for name in names]

    assert finished == [["a", "b", "c"]] * 3


STOPS = """
import asyncio, os, signal, sys
from graph.supervisor import open_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.errors import LeaseLost

async def act(brief, desk):
    print("stops", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    await desk.once("tell", print, "told")

async def main():
    team = [AgentSpec(name="ada", role="generalist", run=act)]
    async with open_supervisor(sys.argv[1], team, {}, ScriptedModel([])) as sup:
        try:
            await sup.start("Q", thread_id="t", plan={"tasks": [{"id": "gate", "description": "Do it."}]})
        except LeaseLost as lost:
            print(lost)

asyncio.run(main())
"""


def stops(db: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", STOPS, db], stdout=subprocess.PIPE, text=True)


async def test_a_process_that_stands_still_loses_its_run_and_when_it_goes_on_it_writes_nothing_and_says_who_has_it(
    on_postgres: str,
) -> None:
    work = Gate()
    first = await asyncio.to_thread(stops, on_postgres)
    assert first.stdout
    assert await asyncio.to_thread(first.stdout.readline) == "stops\n"
    async with opened(agent(work), db=on_postgres) as sup:
        while (run := await sup.view("t")).status == "running":  # noqa: ASYNC110 - until the server misses it
            await asyncio.sleep(0.1)
        assert run.waits_for == "process"
        going_on = asyncio.create_task(sup.resume("t"))
        while not work.began:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        first.send_signal(signal.SIGCONT)
        said, _ = await asyncio.to_thread(first.communicate)
        work.is_open.set()
        ended = await going_on
        events = [event.kind for event in await sup.events("t")]

    assert (first.returncode, ended.status, work.began) == (0, "complete", ["gate"])
    assert re.fullmatch(rf"thread t was taken over .*; process {os.getpid()} on \S+ has it now\n", said)
    assert events.count("task_finished") == 1


async def test_a_process_whose_event_loop_is_kept_for_long_shows_that_it_lives(
    on_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.postgres.pulse.PULSE_S", 0.1)

    def held() -> dict[str, float]:
        with psycopg.connect(on_postgres) as connection, connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            cursor.execute(lease._WHO, lease._halves(["t"]))
            [row] = cursor.fetchall()
            return row

    async with opened(db=on_postgres) as sup, sup._runs.leases.hold("t"):
        await asyncio.sleep(0.5)
        time.sleep(1.5)  # noqa: ASYNC251 - nobody hears of the event loop meanwhile
        row = held()

    assert row["quiet_s"] > 1.5
    assert row["pulse_s"] < row["quiet_s"]


class Skewed(SystemClock):
    """A clock that is so many seconds ahead."""

    def __init__(self, by_s: float) -> None:
        self.by_s = by_s

    def now(self) -> float:
        return super().now() + self.by_s


async def test_what_is_written_while_a_lease_is_given_back_is_refused_and_the_next_connection_is_whole(
    on_postgres: str,
) -> None:
    """A lease's connection that is closed while somebody waits for an answer on it lets him read the next one's."""
    is_leaving = asyncio.Event()
    async with runs.opened(db=on_postgres) as sup:
        store, leases = sup.graph.store, sup._runs.leases
        assert store

        async def writes_late() -> None:
            await is_leaving.wait()
            await store.aput(("mail", "t"), "late", {})

        async def ends_the_wait() -> None:
            await is_leaving.wait()
            for _ in range(20):  # until whoever leaves, and who comes late, stand in line
                await asyncio.sleep(0)
            await other.close()

        other = await psycopg.AsyncConnection.connect(on_postgres)
        await other.execute("LOCK TABLE store IN EXCLUSIVE MODE")
        async with leases.hold("t"):
            work = [store.aput(("mail", "t"), "1", {}), writes_late(), ends_the_wait()]
            tasks = [asyncio.create_task(one) for one in work]
            while not await (await other.execute("SELECT 1 FROM pg_locks WHERE NOT granted")).fetchall():
                pass
            is_leaving.set()
        early, late, _ = await asyncio.gather(*tasks, return_exceptions=True)

        assert (early, type(late)) == (None, LeaseLost)
        assert await leases.holder("t") is None
        assert [row.key for row in await store.asearch(("mail",))] == ["1"]


@pytest.mark.parametrize("by_s", [-120.0, 120.0])
async def test_a_worker_whose_clock_is_two_minutes_off_takes_what_others_queue(on_postgres: str, by_s: float) -> None:
    async with (
        opened(agent(asks), db=on_postgres) as clerk,
        runs.opened(agent(asks), db=on_postgres, clock=Skewed(by_s)) as sup,
    ):
        await clerk.enqueue("Q", thread_id="t", plan=plan("a"))
        async with at_work(sup) as done:
            asked = await until(clerk, "t", "waiting")
            await asyncio.sleep(1)
            looked = len(done)
            await clerk.answer("t", {asked.approvals[0].id: "approve"})
            assert (await until(clerk, "t", "complete")).tasks[0].result == "approve"

    assert looked <= 2, "nobody looks again and again at what waits"


async def test_a_deadline_passes_in_time_where_a_worker_is_two_minutes_ahead_of_the_server(
    on_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = Skewed(120.0)
    monkeypatch.setattr("graph.postgres.queue.time", SimpleNamespace(time=ahead.now))
    monkeypatch.setattr("graph.worker.SWEEP_S", 1000.0)  # which would find it, later
    soon: dict[str, Any] = {"approval_timeout_s": 0.5, "on_timeout": {"default": "reject"}}
    async with runs.opened(agent(asks), db=on_postgres, clock=ahead, **soon) as sup:
        await sup.enqueue("Q", thread_id="t", plan=plan("a"))
        async with at_work(sup):
            assert (await until(sup, "t", "complete")).tasks[0].result == "reject"


async def test_a_job_for_a_thread_that_is_not_there_is_done_with(
    on_postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(agent(), db=on_postgres) as sup:
        await sup.enqueue("Q", thread_id="gone", plan=plan("a"))
        with psycopg.connect(on_postgres, autocommit=True) as connection:
            connection.execute("DELETE FROM store")
        await sup.enqueue("Q", thread_id="next", plan=plan("a"))
        async with at_work(sup):
            await until(sup, "next", "complete")
        with psycopg.connect(on_postgres) as connection:
            jobs = connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone()

    assert jobs == (0,)
    assert [record for record in caplog.records if record.name == "graph.worker"] == []


@pytest.mark.parametrize("is_here", [True, False])
async def test_a_process_of_another_machine_with_the_same_name_is_not_taken_for_a_dead_one_of_this(
    is_here: bool, on_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(db=on_postgres) as sup, opened(db=on_postgres) as other:
        with monkeypatch.context() as there:
            me = lease._me()
            there.setattr(lease, "_me", lambda: Holder(owner="", host=me.host, pid=2**22 + 1, born="1"))
            if not is_here:
                there.setattr(sup._runs.database.server, "machine", "others")  # type: ignore[attr-defined]
            holding = sup._runs.leases.hold("t")
            await holding.__aenter__()
        try:
            async with other._runs.leases.hold("t", patience_s=0):
                is_taken = True
        except ThreadBusy:
            is_taken = False
        with suppress(BatonError):
            await holding.__aexit__(None, None, None)

    assert is_taken == is_here


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A folder that is a disk of its own, with little space."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    making = ["mount", "-t", "tmpfs", "-o", "size=120m", "none", str(folder)]
    if os.getuid() != 0 or subprocess.run(making, check=False).returncode:
        folder.rmdir()
        pytest.skip("nothing can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


async def test_a_run_whose_server_has_a_full_disk_stops_and_goes_on_when_there_is_space(small_disk: Path) -> None:
    work, filling = Gate(), small_disk / "filling"

    async def fills(brief: Brief, desk: Any) -> str:
        if brief.task.id == "gate" and not filling.exists():
            with suppress(OSError), filling.open("wb") as file:
                while True:
                    file.write(b"0" * 65536)
        await work(brief, desk)
        return "So. " * 2_000_000

    with postgres.own_server(small_disk) as server:
        address = postgres.new_database(server.address, "runs")
        work.is_open.set()
        async with opened(agent(fills), db=address) as sup:
            with pytest.raises(DatabaseUnusable, match=r"No space left on device.*; free some space on the server"):
                await sup.start("Q", thread_id="t", plan=plan("a", "gate <- a"))
            with filling.open("wb"):
                pass
            run = await sup.resume("t")
    assert statuses(run) == {"a": "done", "gate": "done"}
    assert work.began.count("a") == 1
