import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graph.persistence import open_database
from graph.saver import Saver


@pytest.fixture
async def saver(tmp_path: Path) -> AsyncIterator[Saver]:
    async with open_database(tmp_path / "baton.db") as database:
        yield database.checkpointer


async def save(saver: Saver, thread: str, number: int, *, run: str = "r1", namespace: str = "") -> None:
    """A checkpoint named by its number, with a write that is pending on it."""
    config = cast(RunnableConfig, {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}})
    checkpoint = {**empty_checkpoint(), "id": f"{number:032}"}
    metadata = cast(Any, {"run_id": run, "thread_id": thread})
    saved = await saver.aput(config, cast(Any, checkpoint), metadata, {})
    await saver.aput_writes(saved, [("answer", f"{thread} {number}")], task_id=f"task {number}")


async def kept(saver: Saver) -> list[str]:
    """What is there, as `thread/namespace/number`, each once for the checkpoint and once for its write."""
    rows = []
    for table in ("checkpoints", "writes"):
        found = saver.conn.execute(f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM {table}")
        rows += [f"{thread}/{namespace}/{int(number)}" for thread, namespace, number in found]
    return sorted(rows)


async def test_a_run_that_is_rolled_back_leaves_nothing_and_other_runs_everything(saver: Saver) -> None:
    for number, run in enumerate(("r1", "r1", "r2"), 1):
        await save(saver, "a", number, run=run)
    await saver.adelete_for_runs(["r2", "unknown"])
    assert await kept(saver) == ["a//1", "a//1", "a//2", "a//2"]


async def test_a_copied_thread_has_the_checkpoints_and_what_is_pending_on_them_under_its_own_name(saver: Saver) -> None:
    await save(saver, "a", 1)
    await save(saver, "a", 2, namespace="work:1")
    await saver.acopy_thread("a", "b")
    assert await kept(saver) == ["a//1", "a//1", "a/work:1/2", "a/work:1/2", "b//1", "b//1", "b/work:1/2", "b/work:1/2"]
    copied = await saver.aget_tuple({"configurable": {"thread_id": "b"}})
    assert copied is not None
    assert copied.pending_writes == [("task 1", "answer", "a 1")]
    assert json.loads(json.dumps(copied.metadata))["thread_id"] == "b"


async def test_pruning_keeps_the_newest_checkpoint_of_each_namespace_and_other_threads(saver: Saver) -> None:
    for number, namespace in enumerate(("", "work:1", "", "work:1", "work:2"), 1):
        await save(saver, "a", number, namespace=namespace)
    await save(saver, "b", 1)
    await save(saver, "b", 2)
    await saver.aprune(["a"])
    newest = ["a//3", "a/work:1/4", "a/work:2/5", "b//1", "b//2"]
    assert await kept(saver) == sorted(newest * 2)


@pytest.mark.parametrize("strategy", ["delete", "delete_all"])
async def test_pruning_can_delete_a_whole_thread(saver: Saver, strategy: str) -> None:
    await save(saver, "a", 1)
    await save(saver, "b", 1)
    await saver.aprune(["a"], strategy=strategy)
    assert await kept(saver) == ["b//1", "b//1"]


async def test_an_unknown_way_to_prune_is_refused(saver: Saver) -> None:
    with pytest.raises(ValueError, match="'oldest'"):
        await saver.aprune(["a"], strategy="oldest")


async def test_after_a_failure_nothing_was_changed_and_the_saver_still_works(saver: Saver) -> None:
    await save(saver, "a", 1)
    saver.conn.execute("CREATE TRIGGER no BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(Exception, match="no"):
        await saver.adelete_for_runs(["r1"])
    assert await kept(saver) == ["a//1", "a//1"]
    await save(saver, "a", 2)


async def test_what_a_node_returned_is_kept_whole_or_not_at_all(saver: Saver) -> None:
    await save(saver, "a", 1)
    before = await kept(saver)
    saver.conn.execute(
        "CREATE TRIGGER full BEFORE INSERT ON writes WHEN NEW.channel = 'branch' "
        "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    config = cast(Any, {"configurable": {"thread_id": "a", "checkpoint_ns": "", "checkpoint_id": f"{1:032}"}})

    with pytest.raises(sqlite3.Error, match="full"):
        await saver.aput_writes(config, [("plan", "half"), ("branch", "the other half")], task_id="task x")
    await save(saver, "a", 2)

    assert await kept(saver) == sorted([*before, "a//2", "a//2"])
