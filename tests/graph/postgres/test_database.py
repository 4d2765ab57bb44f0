"""What PostgreSQL does that a file does not: users, passwords, connections that end, and several who make tables."""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from graph.cli import main
from graph.postgres.database import COLUMNS
from graph.postgres.lease import number
from graph.postgres.session import POOL
from graph.supervisor import open_supervisor
from state.agent import AgentSpec
from state.errors import DatabaseUnusable, ExtraMissing, SettingsInvalid
from tests.runs import agent, opened, plan, says_its_task

pytestmark = pytest.mark.services


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "graph.postgres.database", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    async def opening() -> None:
        async with opened(db="postgresql://db/runs"):
            pass

    with pytest.raises(ExtraMissing, match="databases on PostgreSQL need the extra `postgres`: pip install"):
        asyncio.run(opening())


async def test_six_who_open_a_new_database_at_once_make_its_tables_once(empty_postgres: str) -> None:
    async def one(number: int) -> str:
        async with opened(db=empty_postgres) as sup:
            return (await sup.start("Q", thread_id=f"t{number}", plan=plan("a"))).status

    assert await asyncio.gather(*map(one, range(6))) == ["complete"] * 6
    with psycopg.connect(empty_postgres) as connection:
        assert connection.execute("SELECT version FROM baton").fetchall() == [(3,)]


async def test_tables_of_a_newer_baton_are_left_alone(on_postgres: str) -> None:
    async with opened(db=on_postgres):
        pass
    with psycopg.connect(on_postgres, autocommit=True) as connection:
        connection.execute("INSERT INTO baton VALUES (99)")

    with pytest.raises(DatabaseUnusable, match="is of a newer Baton \\(tables 99, this one knows 3\\); update Baton"):
        async with opened(db=on_postgres):
            pass


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("/baton@", "/nobody:s3cret@"), "create.*user|role"),
        (("/test", "/no-such-test"), "createdb"),
        (("@%2Ftmp", "@%2Fnowhere"), "No such file"),
        (("?", "?"), ""),
    ],
)
async def test_what_cannot_be_connected_to_is_told_without_a_password(
    on_postgres: str, change: tuple[str, str], why: str
) -> None:
    if not why:
        address, why = f"{on_postgres}?port=s3cret", "the address of the database cannot be read"
    else:
        address = on_postgres.replace(*change)

    with pytest.raises(DatabaseUnusable, match=why) as refused:
        async with opened(db=address):
            pass

    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_user_without_rights_is_told_what_to_grant(empty_postgres: str) -> None:
    with psycopg.connect(empty_postgres, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")

    with pytest.raises(DatabaseUnusable, match=r"permission denied.*; grant this user the right to make"):
        async with opened(db=empty_postgres.replace("//baton@", "//guest@")):
            pass


async def test_a_user_who_may_only_read_can_look_and_is_told_what_to_grant_where_that_is_not_enough(
    on_postgres: str,
) -> None:
    async with opened(db=on_postgres) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
    with psycopg.connect(on_postgres, autocommit=True) as connection:
        with suppress(psycopg.errors.DuplicateObject):
            connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")

    async with opened(db=on_postgres.replace("//baton@", "//reader@")) as sup:
        assert (await sup.view("t")).status == "complete"
        for refused in (sup.start("Q", plan=plan("a")), sup.enqueue("Q", plan=plan("a")), sup.work()):
            with pytest.raises(DatabaseUnusable, match=r"permission denied for .*; grant this user the right to make"):
                await refused


@pytest.mark.parametrize(
    ("lost", "says"),
    [
        (
            "DROP TABLE procrastinate_jobs CASCADE; DROP INDEX baton_writes",
            "has lost procrastinate_jobs, baton_writes, procrastinate_fetch_job_v2; restore the database from a backup",
        ),
        ("ALTER TABLE store DROP COLUMN value", "has lost store.value; restore"),
        ("ALTER TABLE checkpoints DROP COLUMN metadata, DROP COLUMN type", "checkpoints.type, checkpoints.metadata;"),
        ("DROP TABLE store, checkpoint_blobs", "has lost store, checkpoint_blobs; restore"),
        ("DROP TABLE baton", "has lost baton; restore"),
        ("DROP TRIGGER baton_signals ON store", "has lost baton_signals; restore"),
        ("ALTER TABLE store DROP CONSTRAINT store_pkey", "has lost store_pkey; restore"),
    ],
)
def test_the_doctor_names_what_is_lost_of_the_tables(
    on_postgres: str, capsys: pytest.CaptureFixture[str], lost: str, says: str
) -> None:
    assert main(["doctor", "--db", on_postgres, "--json"]) == 0
    with psycopg.connect(on_postgres, autocommit=True) as connection:
        connection.execute(lost.encode())
    capsys.readouterr()
    assert main(["doctor", "--db", on_postgres, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    [said] = [one["says"] for one in found if one["about"] == "database" and not one["ok"]]
    assert says in said


def test_the_doctor_says_that_a_database_is_empty_and_what_to_do(
    on_postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(on_postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    assert main(["doctor", "--db", on_postgres, "--json"]) == 0
    assert "is empty, with no tables of Baton's yet; `baton migrate` makes them" in capsys.readouterr().out


def test_the_doctor_knows_every_column_of_new_tables(on_postgres: str) -> None:
    with psycopg.connect(on_postgres) as connection:
        there = connection.execute(
            "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name !~ '_migrations$' GROUP BY 1"
        ).fetchall()
    assert {name: {*columns} for name, columns in there} == {
        name: {*columns.split()} for name, columns in COLUMNS.items()
    }


async def test_nul_and_lone_surrogates_end_no_run_and_are_replacement_characters_in_rows(on_postgres: str) -> None:
    async def says(brief: object, desk: object) -> str:
        return "left \x00 right \ud800 end \\u0000"

    async with opened(agent(says), db=on_postgres) as sup:
        run = await sup.start("What \x00?", thread_id="t", plan=plan("a"))
        assert sup.graph.store
        await sup.graph.store.aput(("mail", "t"), "1", {"text": "left \x00 right \ud800 end \\u0000"})
        row = await sup.graph.store.aget(("mail", "t"), "1")

    assert run.status == "complete"
    assert row is not None
    assert row.value == {"text": "left \ufffd right \ufffd end \\u0000"}


async def test_connections_of_the_pool_that_were_ended_are_made_anew(on_postgres: str) -> None:
    async with opened(db=on_postgres) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
        with psycopg.connect(on_postgres, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND datname = current_database()"
            )
        assert (await sup.view("t")).status == "complete"


async def test_who_lists_checkpoints_keeps_no_connection_from_others_that_do(on_postgres: str) -> None:
    async with opened(db=on_postgres) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
        saver, thread = sup.graph.checkpointer, RunnableConfig(configurable={"thread_id": "t"})
        assert isinstance(saver, BaseCheckpointSaver)
        listings = [saver.alist(thread) for _ in range(POOL + 1)]
        firsts = [await anext(listing) for listing in listings]
        last = await saver.aget_tuple(thread)

    assert last
    assert {first.config["configurable"]["checkpoint_id"] for first in firsts} == {last.checkpoint["id"]}


async def test_a_call_that_is_cancelled_twice_costs_no_lease(on_postgres: str) -> None:
    async with opened(db=on_postgres) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
        saver, store = sup.graph.checkpointer, sup.graph.store
        assert isinstance(saver, BaseCheckpointSaver)
        assert store
        last = await saver.aget_tuple({"configurable": {"thread_id": "t"}})
        assert last
        other = await psycopg.AsyncConnection.connect(on_postgres)
        async with sup._runs.leases.hold("t"):
            await other.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
            asking = asyncio.create_task(saver.aget_tuple(last.config))
            while not await (await other.execute("SELECT 1 FROM pg_locks WHERE NOT granted")).fetchall():
                pass
            for _ in range(2):
                asking.cancel()
                await asyncio.sleep(0)
            await other.close()
            await asyncio.wait({asking})
            await store.aput(("mail", "t"), "1", {})

    assert asking.cancelled()


async def test_encryption_is_refused_rather_than_done_half(on_postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "0123456789abcdef")
    with pytest.raises(SettingsInvalid, match="encrypts checkpoints in SQLite files alone"):
        async with opened(db=on_postgres):
            pass


def test_the_command_line_works_on_it(on_postgres: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("The pump delivers 40 litres a minute.\n")
    asked = ["How much does the pump deliver?", "--sources", "notes.md", "--oversight", "on_the_loop"]

    assert main(["run", *asked, "--thread", "t", "--model", "offline", "--db", on_postgres]) == 0
    assert main(["status", "t", "--db", on_postgres]) == 0
    assert main(["doctor", "--db", on_postgres, "--json"]) == 0
    assert main(["doctor", "--db", f"{on_postgres}x", "--json"]) == 1
    assert main(["doctor", "--db", on_postgres, "--save", "copy.db"]) == 2
    assert main(["prune", "--keep-days", "0", "--db", on_postgres]) == 0
    assert main(["status", "t", "--db", on_postgres]) != 0

    told = capsys.readouterr()
    assert "complete: thread t, 1 of 1 task" in told.out
    assert "1 run forgotten" in told.err
    assert f'"ok": true, "says": "{on_postgres}: 1 thread"' in told.out
    assert "does not exist; check the name" in told.out
    assert "`baton doctor --save` needs an SQLite file" in told.err


async def test_a_run_leaves_only_its_last_checkpoint(on_postgres: str) -> None:
    async with open_supervisor(on_postgres, [AgentSpec(name="ada", role="generalist", run=says_its_task)], {}) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a", "b <- a"))
    with psycopg.connect(on_postgres) as connection:
        counted = connection.execute(
            "SELECT (SELECT count(*) FROM checkpoints), (SELECT count(*) FROM checkpoint_writes), "
            "(SELECT count(*) FROM checkpoint_blobs b WHERE NOT EXISTS (SELECT 1 FROM checkpoints c "
            "WHERE c.checkpoint -> 'channel_versions' ->> b.channel = b.version))"
        ).fetchone()
        held = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()

    assert (counted, held) == ((1, 0, 0), (0,))
    assert number("t") != number("u")


async def test_tables_of_the_version_before_are_brought_to_this_one(on_postgres: str) -> None:
    with psycopg.connect(on_postgres, autocommit=True) as connection:
        connection.execute("DROP INDEX baton_checkpoints, baton_blobs, baton_writes")
        connection.execute("UPDATE baton SET version = 2")
    async with opened(db=on_postgres) as sup:
        assert (await sup.start("Q", plan=plan("a"))).status == "complete"
    with psycopg.connect(on_postgres) as connection:
        assert connection.execute("SELECT max(version), count(to_regclass('baton_writes')) FROM baton").fetchone() == (
            3,
            2,
        )


async def test_rows_are_found_by_their_index_however_many_there_come_to_be(on_postgres: str) -> None:
    server, _, name = on_postgres.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:  # a collation that sorts as people do
        connection.execute(f"CREATE DATABASE {name}i TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'".encode())
    async with opened(db=f"{on_postgres}i") as sup:
        store = sup.graph.store
        assert store
        await sup.start("Q", thread_id="t", plan=plan("a"))
        for _ in range(20):
            await store.asearch(("events", "t"))
        with psycopg.connect(f"{on_postgres}i", autocommit=True) as connection:
            connection.execute(
                "INSERT INTO store (prefix, key, value) SELECT 'events.r' || g % 10000, g::text, '{}' "
                "FROM generate_series(1, 100000) g"
            )
            connection.execute(
                "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint) "
                "SELECT 'r' || g, g::text, '{}' FROM generate_series(1, 20000) g"
            )
        for _ in range(5):
            assert await store.asearch(("events", "t"))
        await sup.start("Q", thread_id="u", plan=plan("a"))
    with psycopg.connect(f"{on_postgres}i") as connection:
        read = "SELECT relname, seq_tup_read FROM pg_stat_user_tables WHERE relname IN ('store', 'checkpoints')"
        rows: dict[str, int] = dict(connection.execute(read).fetchall())
    assert {name: many < 20_000 for name, many in rows.items()} == {"store": True, "checkpoints": True}, rows
