"""What the server does besides serving: it holds the lease of a thread while the served graph executes it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from graph import app, server
from graph.address import address_of
from graph.database import open_database
from nodes.runtime.clock import SystemClock
from state.agent import Brief
from state.errors import EditRefused, ThreadBusy
from tests.runs import agent, opened, plan

THREAD: Any = {"configurable": {"thread_id": "t"}}
GONE = "1f1e6a7d-f26d-6b9e-8004-5362066bf874"


@pytest.fixture(autouse=True)
def fresh_services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    (tmp_path / "policy.yaml").write_text("oversight: on_the_loop\n")
    monkeypatch.setenv("BATON_POLICY", "policy.yaml")
    app.served.cache_clear()
    yield
    app.served.cache_clear()


@asynccontextmanager
async def serving() -> AsyncIterator[Any]:
    """The served graph, with what the server gives it."""
    async with server.checkpointer() as saver, server.store() as store:
        yield app.supervisor.copy(update={"checkpointer": saver, "store": store})


async def test_the_served_graph_does_not_execute_a_thread_that_another_process_runs() -> None:
    given = {"query": "Q", "plan": plan("a"), "policy": {"oversight": "on_the_loop"}}
    async with serving() as graph, open_database(address_of("baton.db")) as database:
        async with database.leases(SystemClock()).hold("t"):
            with pytest.raises(ThreadBusy, match="thread t is being run by process"):
                await graph.ainvoke(given, THREAD)
        done = await graph.ainvoke(given, {"configurable": {"thread_id": "u"}})
        assert done["phase"] == "complete", done["report"]
        async with database.leases(SystemClock()).hold("u"):
            pass  # it was given back


async def test_what_a_server_is_given_on_a_thread_that_another_process_runs_leaves_no_trace_there() -> None:
    began, free = asyncio.Event(), asyncio.Event()
    tasks: list[str] = []

    async def work(brief: Brief, desk: Any) -> str:
        tasks.append(brief.task.id)
        if brief.task.id == "b":
            began.set()
            await free.wait()
        return str((await desk.ask("launch", risk="medium")).type) if brief.task.id == "c" else "So."

    given: Any = {"query": "Q", "plan": plan("z"), "policy": {"oversight": "on_the_loop"}}
    other = opened(agent(work), db="baton.db", clock=SystemClock())
    async with serving() as graph, other as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t", plan=plan("a", "b <- a", "c <- b")))
        await began.wait()
        with pytest.raises(ThreadBusy, match="thread t is being run by process"):
            await graph.ainvoke(given, THREAD)
        with pytest.raises(ThreadBusy, match="thread t is being run by process"):
            await graph.aupdate_state(THREAD, {"goal": "Another."})
        free.set()
        waiting = await running
        run = await sup.answer("t", True)

    assert (waiting.status, run.status, run.query, tasks) == ("waiting", "complete", "Q", ["a", "b", "c", "c"])


async def test_an_edit_of_a_state_that_is_not_kept_takes_the_place_of_nothing() -> None:
    given = {"query": "Q", "plan": plan("a"), "policy": {"oversight": "on_the_loop"}}
    gone = {"configurable": {**THREAD["configurable"], "checkpoint_id": GONE, "checkpoint_ns": ""}}
    async with serving() as graph:
        done = await graph.ainvoke(given, THREAD)
        edits: list[Any] = [None, {"messages": []}]
        for edit in edits:
            with pytest.raises(EditRefused, match="that state of the thread is not kept"):
                await graph.aupdate_state(gone, edit, as_node="intake")
        now = await graph.aget_state(THREAD)

    assert (now.values["phase"], now.values["messages"]) == ("complete", done["messages"])


@pytest.mark.parametrize(("node", "phase"), [("finish", "nonsense"), ("finish", None), ("execute", "")])
async def test_an_edit_to_a_phase_that_there_is_none_of_is_refused_whoever_it_comes_from(node: str, phase: Any) -> None:
    async with serving() as graph:
        await graph.ainvoke({"query": "Q", "plan": plan("a"), "policy": {"oversight": "on_the_loop"}}, THREAD)
        with pytest.raises(EditRefused, match=f"there is no phase {phase!r}; a state can be edited to"):
            await graph.aupdate_state(THREAD, {"phase": phase}, as_node=node)
        now = await graph.aget_state(THREAD)

    assert now.values["phase"] == "complete"


async def test_the_server_and_the_command_line_share_one_file(tmp_path: Path) -> None:
    async with server.checkpointer() as saver, server.store() as store:
        await store.aput(("runs",), "t", {"query": "Q"})
        assert await saver.aget_tuple(THREAD) is None
    async with open_database(address_of(tmp_path / "baton.db")) as database:
        item = await database.store.aget(("runs",), "t")
    assert item is not None
