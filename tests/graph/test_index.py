"""The index of runs: who looks for what is open does not look at every run there ever was."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import Brief
from state.errors import DatabaseUnusable, ModelRejected
from tests.runs import Turns, agent, opened, plan


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch", risk="medium")).type)


@contextmanager
def reads(sup: Supervisor) -> Iterator[Counter[str]]:
    """How often the checkpoint of each thread is read inside."""
    saver, counted = sup.graph.checkpointer, Counter[str]()
    assert isinstance(saver, BaseCheckpointSaver)
    read = saver.aget_tuple

    async def aget_tuple(config: Any) -> Any:
        counted[config["configurable"]["thread_id"]] += 1
        return await read(config)

    saver.aget_tuple = aget_tuple  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        saver.aget_tuple = read  # type: ignore[method-assign]


@contextmanager
def statements(sup: Supervisor) -> Iterator[list[int]]:
    """How many rows of the Store each of its reads has found inside."""
    store, found = sup.graph.store, list[int]()
    assert store
    read = store.abatch

    async def abatch(ops: Any) -> Any:
        results = await read(ops)
        found.extend(len(result) if isinstance(result, list) else 1 for result in results)
        return results

    store.abatch = abatch  # type: ignore[method-assign]
    try:
        yield found
    finally:
        store.abatch = read  # type: ignore[method-assign]


async def an_old_file(*threads: str) -> None:
    """Forget what is known of the ends of runs, as in a file in which they were never noted."""
    async with opened() as sup:
        assert sup.graph.store
        for thread in threads:
            await sup.graph.store.adelete(("ended",), thread)
            for row in await sup.graph.store.asearch(("open", thread)):
                await sup.graph.store.adelete(("open", thread), row.key)
        await sup.graph.store.adelete(("index",), "open")


async def test_what_has_ended_is_not_looked_at_again_by_who_looks_for_work() -> None:
    failing = agent(Turns(RuntimeError("net")), role="breaks", name="bo")
    async with opened(agent(), agent(asks, role="asks", name="cy"), failing, max_attempts=1) as sup:
        await sup.start("Q", thread_id="complete", plan=plan("a"))
        await sup.start("Q", thread_id="failed", plan=plan({"id": "a", "role": "breaks"}))
        await sup.start("Q", thread_id="waiting", plan=plan({"id": "a", "role": "asks"}))
        with reads(sup) as looked_at:
            due, still_open = await sup.due(), await sup.runs(only_open=True)

    assert (due, [run.thread_id for run in still_open]) == ([], ["waiting"])
    assert set(looked_at) == {"waiting"}


async def test_all_runs_are_listed_with_one_look_at_each() -> None:
    async with opened() as sup:
        for thread in ("a", "b"):
            await sup.start("Q", thread_id=thread, plan=plan("a"))
        with reads(sup) as one_look:
            await sup.view("a")
        with reads(sup) as looks:
            found = await sup.runs()

    assert {run.thread_id for run in found} == {"a", "b"}
    assert looks == Counter(a=one_look["a"], b=one_look["a"])


async def test_runs_whose_end_nobody_noted_are_found_and_noted_at_the_first_look() -> None:
    async with opened(agent(), agent(asks, role="asks", name="cy")) as sup:
        await sup.start("Q", thread_id="complete", plan=plan("a"))
        await sup.start("Q", thread_id="waiting", plan=plan({"id": "a", "role": "asks"}))
    await an_old_file("complete", "waiting")
    async with opened() as sup:
        with reads(sup) as first:
            assert [run.thread_id for run in await sup.runs(only_open=True)] == ["waiting"]
        with reads(sup) as second:
            assert [run.thread_id for run in await sup.runs(only_open=True)] == ["waiting"]

    assert (set(first), set(second)) == ({"complete", "waiting"}, {"waiting"})


async def test_a_run_that_died_between_its_last_node_and_the_checkpoint_of_it_is_still_taken_up() -> None:
    clock = HeldClock()
    async with opened(clock=clock) as sup:
        saver = sup.graph.checkpointer
        assert isinstance(saver, BaseCheckpointSaver)
        write, write_some = saver.aput, saver.aput_writes

        async def lost(*args: Any, **kwargs: Any) -> Any:
            if any(event.kind == "run_finished" for event in await sup.events("t")):
                raise sqlite3.OperationalError("disk I/O error")
            return await (write if len(args) == 4 else write_some)(*args, **kwargs)

        saver.aput = saver.aput_writes = lost  # type: ignore[method-assign]
        with pytest.raises(DatabaseUnusable):
            await sup.start("Q", thread_id="t", plan=plan("a"))
    async with opened(clock=clock) as sup:
        due = await sup.due()
        run = await sup.resume("t")
        assert await sup.due() == []

    assert (due, run.status) == (["t"], "complete")


async def test_a_run_that_failed_on_its_model_is_still_open() -> None:
    async with opened(model=ScriptedModel([ModelRejected("no such key")])) as sup:
        await sup.start("Q", thread_id="t")
        found, due = await sup.runs(only_open=True), await sup.due()

    assert ([run.status for run in found], due) == (["failed"], [])


async def test_the_next_run_on_a_thread_is_open_again() -> None:
    async with opened(agent(asks)) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
        await sup.answer("t", True)
        assert await sup.runs(only_open=True) == []
        await sup.start("Q", thread_id="t", plan=plan("a"))  # at the very same moment of the held clock

        assert [run.status for run in await sup.runs(only_open=True)] == ["waiting"]


async def test_a_run_that_begins_while_its_predecessor_is_looked_at_is_not_taken_for_ended() -> None:
    """Who looks notes the end of the run it saw, whatever has begun on the thread since."""
    clock = HeldClock()
    async with opened(agent(asks), clock=clock) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
        ended = await sup.answer("t", True)
        clock.time += 1
        await sup.start("Q", thread_id="t", plan=plan("a"))
        await sup._runs.note_end(ended)

        assert [run.status for run in await sup.runs(only_open=True)] == ["waiting"]


async def test_a_run_is_listed_while_it_works() -> None:
    began, free = asyncio.Event(), asyncio.Event()

    async def work(brief: Brief, desk: Any) -> str:
        began.set()
        await free.wait()
        return "So."

    async with opened(agent(work)) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a")))
        await began.wait()
        found, due = await sup.runs(only_open=True), await sup.due()
        free.set()
        await running

    assert ([run.status for run in found], due) == (["running"], [])


async def test_a_look_takes_no_longer_for_runs_that_have_ended() -> None:
    async with opened(agent(), agent(asks, role="asks", name="cy")) as sup:
        await sup.start("Q", thread_id="waiting", plan=plan({"id": "a", "role": "asks"}))
        for n in range(3):
            await sup.start("Q", thread_id=f"ended {n}", plan=plan("a"))
        await sup.due()
        with statements(sup) as few:
            await sup.due()
        for n in range(3, 8):
            await sup.start("Q", thread_id=f"ended {n}", plan=plan("a"))
        with statements(sup) as many:
            await sup.due()

    assert sorted(many) == sorted(few), "what is read beside each other may come in any order"


async def test_runs_are_listed_by_page_the_newest_first() -> None:
    clock = HeldClock()
    async with opened(clock=clock) as sup:
        for n in range(5):
            await sup.start("Q", thread_id=str(n), plan=plan("a"))
            clock.time += 1
        with reads(sup) as looked_at:
            pages = [[run.thread_id for run in await sup.runs(limit=3, offset=at)] for at in (0, 3, 6)]

    assert [len(page) for page in pages] == [3, 2, 0]
    assert [sorted(page, reverse=True) for page in pages] == pages
    assert set(looked_at) == {*pages[0], *pages[1]} == set("01234")


@pytest.mark.of_files
async def test_a_row_of_the_index_without_a_readable_time_keeps_nobody_from_looking() -> None:
    async with opened(agent(asks)) as sup:
        for thread in ("good", "bad"):
            await sup.start("Q", thread_id=thread, plan=plan("a"))
    with closing(sqlite3.connect("runs.db")) as file:
        for column in ("created_at", "updated_at"):
            file.execute(f"UPDATE store SET {column} = 'soon' WHERE prefix = 'open.bad' OR key = 'bad'")
        file.commit()
    async with opened(agent(asks)) as sup:
        looks = [await sup.runs(only_open=True), await sup.runs(limit=1, offset=1) + await sup.runs(limit=1)]
        answered = await sup.answer("bad", True)

    assert [{run.thread_id for run in look} for look in looks] == [{"good", "bad"}] * 2
    assert answered.status == "complete"
