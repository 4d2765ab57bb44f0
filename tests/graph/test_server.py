"""What the server does besides serving: it holds the lease of a thread while the served graph executes it."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph import app, server
from graph.lease import Leases
from graph.persistence import connect, open_database
from nodes.runtime.clock import SystemClock
from state.errors import ThreadBusy
from tests.runs import plan

THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture(autouse=True)
def fresh_services() -> Any:
    app.served.cache_clear()
    yield
    app.served.cache_clear()


def served() -> Any:
    """The served graph, with what the server would give it."""
    return app.supervisor.copy(update={"checkpointer": InMemorySaver(), "store": InMemoryStore()})


async def test_the_served_graph_does_not_execute_a_thread_that_another_process_runs() -> None:
    given = {"query": "Q", "plan": plan("a"), "policy": {"oversight": "on_the_loop"}}
    async with server.checkpointer(), connect(Path("baton.db"), "NORMAL") as connection:
        async with Leases(connection, SystemClock()).hold("t"):
            with pytest.raises(ThreadBusy, match="thread t is being run by process"):
                await served().ainvoke(given, THREAD)
        done = await served().ainvoke(given, {"configurable": {"thread_id": "u"}})
        assert done["phase"] in ("complete", "failed")
        async with Leases(connection, SystemClock()).hold("u"):
            pass  # it was given back


async def test_the_server_and_the_command_line_share_one_file(tmp_path: Path) -> None:
    async with server.checkpointer() as saver, server.store() as store:
        await store.aput(("runs",), "t", {"query": "Q"})
        assert await saver.aget_tuple(THREAD) is None
    async with open_database(tmp_path / "baton.db") as database:
        item = await database.store.aget(("runs",), "t")
    assert item is not None
