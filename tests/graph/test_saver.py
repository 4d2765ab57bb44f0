import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from graph.address import address_of
from graph.app import build_supervisor
from graph.database import open_database
from graph.sqlite.saver import Saver
from nodes.runtime.clock import SystemClock
from state.agent import AgentSpec
from state.errors import DatabaseUnusable, LeaseLost
from tests.runs import plan

AnySaver = BaseCheckpointSaver[str]


@pytest.fixture
async def saver(address: str) -> AsyncIterator[AnySaver]:
    async with open_database(address_of(address)) as database:
        yield database.checkpointer


@pytest.fixture
async def file_saver(tmp_path: Path) -> AsyncIterator[Saver]:
    async with open_database(tmp_path / "baton.db") as database:
        yield database.checkpointer


def at(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


END_ALL = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'baton %'"
KEPT = "SELECT thread_id, checkpoint_ns, checkpoint_id FROM {}"


async def save(saver: AnySaver, thread: str, number: int, *, run: str = "r1", namespace: str = "") -> None:
    """A checkpoint named by its number, with a write that is pending on it."""
    config = cast(RunnableConfig, {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}})
    checkpoint = {**empty_checkpoint(), "id": f"{number:032}"}
    metadata = cast(Any, {"run_id": run, "thread_id": thread})
    saved = await saver.aput(config, cast(Any, checkpoint), metadata, {})
    await saver.aput_writes(saved, [("answer", f"{thread} {number}")], task_id=f"task {number}")


async def kept(saver: AnySaver) -> list[str]:
    """What is there, as `thread/namespace/number`, each once for the checkpoint and once for its write."""
    if isinstance(saver, Saver):
        found = [saver.conn.execute(KEPT.format(table)).fetchall() for table in ("checkpoints", "writes")]
    else:
        with psycopg.connect(cast(Any, saver)._server.address.uri) as other:
            found = [other.execute(KEPT.format(t)).fetchall() for t in ("checkpoints", "checkpoint_writes")]
    return sorted(f"{thread}/{namespace}/{int(number)}" for rows in found for thread, namespace, number in rows)


async def test_a_run_that_is_rolled_back_leaves_nothing_and_other_runs_everything(
    saver: AnySaver,
) -> None:
    for number, run in enumerate(("r1", "r1", "r2"), 1):
        await save(saver, "a", number, run=run)
    await saver.adelete_for_runs(["r2", "unknown"])
    assert await kept(saver) == ["a//1", "a//1", "a//2", "a//2"]


async def test_a_copied_thread_has_the_checkpoints_and_what_is_pending_on_them_under_its_own_name(
    saver: AnySaver,
) -> None:
    await save(saver, "a", 1)
    await save(saver, "a", 2, namespace="work:1")
    await saver.acopy_thread("a", "b")
    assert await kept(saver) == ["a//1", "a//1", "a/work:1/2", "a/work:1/2", "b//1", "b//1", "b/work:1/2", "b/work:1/2"]
    copied = await saver.aget_tuple({"configurable": {"thread_id": "b"}})
    assert copied is not None
    assert copied.pending_writes == [("task 1", "answer", "a 1")]
    assert json.loads(json.dumps(copied.metadata))["thread_id"] == "b"


async def test_pruning_keeps_the_newest_checkpoint_of_each_namespace_and_other_threads(
    saver: AnySaver,
) -> None:
    for number, namespace in enumerate(("", "work:1", "", "work:1", "work:2"), 1):
        await save(saver, "a", number, namespace=namespace)
    await save(saver, "b", 1)
    await save(saver, "b", 2)
    await saver.aprune(["a"])
    newest = ["a//3", "a/work:1/4", "a/work:2/5", "b//1", "b//2"]
    assert await kept(saver) == sorted(newest * 2)


@pytest.mark.parametrize("strategy", ["delete", "delete_all"])
async def test_pruning_can_delete_a_whole_thread(saver: AnySaver, strategy: str) -> None:
    await save(saver, "a", 1)
    await save(saver, "b", 1)
    await saver.aprune(["a"], strategy=strategy)
    assert await kept(saver) == ["b//1", "b//1"]


async def test_an_unknown_way_to_prune_is_refused(saver: AnySaver) -> None:
    with pytest.raises(ValueError, match="'oldest'"):
        await saver.aprune(["a"], strategy="oldest")


async def test_after_a_failure_nothing_was_changed_and_the_saver_still_works(file_saver: Saver) -> None:
    await save(file_saver, "a", 1)
    file_saver.conn.execute("CREATE TRIGGER no BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(Exception, match="no"):
        await file_saver.adelete_for_runs(["r1"])
    assert await kept(file_saver) == ["a//1", "a//1"]
    await save(file_saver, "a", 2)


async def test_what_a_node_returned_is_kept_whole_or_not_at_all(file_saver: Saver) -> None:
    await save(file_saver, "a", 1)
    before = await kept(file_saver)
    file_saver.conn.execute(
        "CREATE TRIGGER full BEFORE INSERT ON writes WHEN NEW.channel = 'branch' "
        "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    config = cast(Any, {"configurable": {"thread_id": "a", "checkpoint_ns": "", "checkpoint_id": f"{1:032}"}})

    with pytest.raises(sqlite3.Error, match="full"):
        await file_saver.aput_writes(config, [("plan", "half"), ("branch", "the other half")], task_id="task x")
    await save(file_saver, "a", 2)

    assert await kept(file_saver) == sorted([*before, "a//2", "a//2"])


STEP = "0f8fad5b-d9cd-469f-a165-70867728950e"
BELOW = f"/{STEP}/a.0.0:ada:1"
DEEPER = f"{BELOW}/{STEP}/b.0.0:eve:1"
STRANGERS = [f"a{STEP}", f"ax/{STEP}/x", f"a%/{STEP}/x", f"a%{STEP}/x", f"a/{STEP}"]
OTHERS = ["a", "a/b", "a%", "a_", "ax", "A", "ä", "a/", "a0", *STRANGERS]


async def with_threads_below(saver: AnySaver, thread: str) -> list[str]:
    """What is there beside `thread` and those below it."""
    for name in OTHERS:
        await save(saver, name, 1)
    before = [row for row in await kept(saver) if row not in (f"{thread}//1", f"{thread}/{STEP}/x//1")]
    for name in (thread, f"{thread}{BELOW}", f"{thread}{DEEPER}"):
        for number in (1, 2):
            await save(saver, name, number)
    return before


@pytest.mark.parametrize("thread", ["a", "a%", "a_", "ä", "a'b", 'a"b', "a[b]*?", "a/b", f"a/{STEP}", "a:b c"])
@pytest.mark.parametrize("way", ["adelete_thread", "delete", "delete_all"])
async def test_a_thread_is_forgotten_with_those_below_it_and_no_others(saver: AnySaver, thread: str, way: str) -> None:
    others = await with_threads_below(saver, thread)
    if way == "adelete_thread":
        await saver.adelete_thread(thread)
    else:
        await saver.aprune([thread], strategy=way)

    assert await kept(saver) == others


async def test_pruning_reaches_the_threads_below(saver: AnySaver) -> None:
    others = await with_threads_below(saver, "a_")
    await saver.aprune(["a_"])

    newest = [f"a_{below}//2" for below in ("", BELOW, DEEPER)]
    assert await kept(saver) == sorted([*others, *newest, *newest])


async def test_a_thread_is_copied_with_those_below_it(saver: AnySaver) -> None:
    others = await with_threads_below(saver, "ä")
    await saver.acopy_thread("ä", "ü/b")
    await saver.adelete_thread("ä")

    copied = [f"ü/b{below}//{number}" for below in ("", BELOW, DEEPER) for number in (1, 2)]
    assert await kept(saver) == sorted([*others, *copied, *copied])
    found = await saver.aget_tuple({"configurable": {"thread_id": f"ü/b{DEEPER}"}})
    assert found is not None
    assert (json.loads(json.dumps(found.metadata))["thread_id"], found.pending_writes) == (
        f"ü/b{DEEPER}",
        [("task 2", "answer", f"ä{DEEPER} 2")],
    )


async def test_a_run_that_waits_in_one_of_its_graphs_can_be_answered_in_a_copy(address: str) -> None:
    ran: list[str] = []

    def first(state: dict[str, str]) -> dict[str, str]:
        ran.append("first")
        return {"result": ""}

    def second(state: dict[str, str]) -> dict[str, str]:
        return {"result": f"said {interrupt('may I?')}"}

    builder: Any = StateGraph(dict)
    builder.add_sequence([first, second]).add_edge(START, "first")
    team = [AgentSpec(name="ada", role="generalist", run=builder.compile())]
    async with open_database(address_of(address)) as database:
        graph: Any = build_supervisor(
            team, checkpointer=database.checkpointer, store=database.store, policy={"max_iterations": 0}
        )
        named = [{"configurable": {"thread_id": name}} for name in ("one", "two")]
        await graph.ainvoke({"query": "Q", "plan": plan("a")}, named[0])
        await database.checkpointer.acopy_thread("one", "two")
        await database.checkpointer.adelete_thread("one")
        ended = await graph.ainvoke(Command(resume="yes"), named[1])

    assert (ended["phase"], ended["tasks"][0]["outcome"]["result"], ran) == ("complete", "said True", ["first"])


async def begun_writes(saver: AnySaver, *values: object) -> list["asyncio.Task[None]"]:
    """Writes of as many steps on one checkpoint, on their way."""
    saved = await saver.aput(at("a"), cast(Any, empty_checkpoint()), cast(Any, {}), {})
    writing = [
        asyncio.create_task(saver.aput_writes(saved, [("answer", value)], task_id=f"task {number}"))
        for number, value in enumerate(values)
    ]
    await asyncio.sleep(0)
    return writing


@asynccontextmanager
async def at_work(address: str) -> AsyncIterator[AnySaver]:
    """The saver, for the work of a run."""
    async with open_database(address_of(address)) as database, database.leases(SystemClock()).hold("a"):
        yield database.checkpointer


@pytest.fixture
def no_moment_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.sqlite.connection.MOMENT_S", 3600)
    monkeypatch.setattr("graph.postgres.session.MOMENT_S", 3600)


@pytest.mark.usefixtures("no_moment_passes")
async def test_whoever_reads_sees_the_writes_before_that_were_put_off(address: str) -> None:
    async with at_work(address) as saver:
        writing = await begun_writes(saver, "one", "two")
        assert not any(write.done() for write in writing)

        found = await saver.aget_tuple(at("a"))

        assert found is not None
        assert found.pending_writes == [("task 0", "answer", "one"), ("task 1", "answer", "two")]
        await asyncio.gather(*writing)


@pytest.mark.usefixtures("no_moment_passes")
async def test_writes_that_were_put_off_are_kept_with_the_next(address: str) -> None:
    async with at_work(address) as saver:
        writing = await begun_writes(saver, "one")
        await saver.aput(at("b"), cast(Any, empty_checkpoint()), cast(Any, {}), {})
        await asyncio.gather(*writing)

    async with open_database(address_of(address)) as database:
        found = await database.checkpointer.aget_tuple(at("a"))
    assert found is not None
    assert found.pending_writes == [("task 0", "answer", "one")]


@pytest.mark.usefixtures("no_moment_passes")
async def test_writes_that_were_put_off_are_on_disk_when_the_database_is_closed(tmp_path: Path) -> None:
    async with open_database(tmp_path / "baton.db") as database:
        writing = await begun_writes(database.checkpointer, "one")
    await asyncio.gather(*writing)

    async with open_database(tmp_path / "baton.db") as database:
        found = await database.checkpointer.aget_tuple(at("a"))
    assert found is not None
    assert found.pending_writes == [("task 0", "answer", "one")]


@pytest.mark.usefixtures("no_moment_passes")
async def test_of_writes_that_are_done_together_only_the_one_that_fails_fails(address: str) -> None:
    async with at_work(address) as saver:
        lost, kept_one = await begun_writes(saver, object(), "two")

        found = await saver.aget_tuple(at("a"))

        with pytest.raises(TypeError):
            await lost
        await kept_one
    assert found is not None
    assert found.pending_writes == [("task 1", "answer", "two")]


async def test_what_is_written_after_a_checkpoint_is_not_on_disk_before_it(address: str) -> None:
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"rows": [*range(500_000)]}}
    async with open_database(address_of(address)) as database:
        async with database.leases(SystemClock()).hold("a"):
            putting = asyncio.create_task(database.checkpointer.aput(at("a"), checkpoint, cast(Any, {}), {"rows": "1"}))
            await asyncio.sleep(0)
            await database.store.aput(("rows",), "later", {"a": 1})
        async with open_database(address_of(address)) as other:
            assert await other.checkpointer.aget_tuple(at("a")) is not None
        await putting


@pytest.mark.services
@pytest.mark.usefixtures("no_moment_passes")
async def test_what_the_server_refuses_of_writes_that_are_done_together_fails_alone(on_postgres: str) -> None:
    async with at_work(on_postgres) as saver:
        [kept_one] = await begun_writes(saver, "one")
        config = cast(Any, {"configurable": {"thread_id": "a", "checkpoint_ns": "", "checkpoint_id": f"{1:032}"}})
        lost = asyncio.create_task(saver.aput_writes(config, [("answer", "lost")], task_id="nul \0"))
        await asyncio.sleep(0)

        await saver.aput(at("b"), cast(Any, empty_checkpoint()), cast(Any, {}), {})

        with pytest.raises(DatabaseUnusable, match="NUL"):
            await lost
        await kept_one
        assert await saver.aget_tuple(at("b")) is not None
        found = await saver.aget_tuple(at("a"))
    assert found is not None
    assert found.pending_writes == [("task 0", "answer", "one")]


@pytest.mark.usefixtures("no_moment_passes")
async def test_writes_that_were_put_off_are_kept_where_whoever_comes_next_is_cancelled(address: str) -> None:
    async def reads(saver: AnySaver) -> None:
        _ = [each async for each in saver.alist(at("a"))]

    async with at_work(address) as saver:
        for turns in range(12):
            writing = await begun_writes(saver, "one")
            reading = asyncio.create_task(reads(saver))
            for _ in range(turns):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait({reading})
            found = await saver.aget_tuple(at("a"))
            async with asyncio.timeout(30):
                await asyncio.gather(*writing)
            assert found is not None
            assert found.pending_writes == [("task 0", "answer", "one")]


@pytest.mark.services
@pytest.mark.usefixtures("no_moment_passes")
async def test_writes_that_were_put_off_are_refused_with_the_lease(on_postgres: str) -> None:
    writing = []

    async def works() -> None:
        async with at_work(on_postgres) as saver:
            writing.extend(await begun_writes(saver, "one"))
            with psycopg.connect(on_postgres, autocommit=True) as other:
                other.execute(END_ALL)
            await saver.aget_tuple(at("a"))

    with pytest.raises(LeaseLost):
        await works()
    with pytest.raises(LeaseLost):
        await writing[0]


async def test_nobody_waits_longer_than_a_moment(address: str) -> None:
    async with at_work(address) as saver:
        await asyncio.gather(*await begun_writes(saver, "one"))
