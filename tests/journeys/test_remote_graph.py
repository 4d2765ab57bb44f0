"""A RemoteGraph as an agent, on a second `langgraph dev`: runs, fails, asks, times out, is cancelled."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient

from graph.testing import HeldClock
from state.agent import AgentSpec, Limits
from state.event import Event
from state.run import Run
from state.signal import Cancel
from tests.runs import agent, opened, plan, statuses
from tests.servers.dev import Server, client_of, free_port, serving

GRAPHS = """
import asyncio
from typing import Any
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

class State(MessagesState, total=False):
    task: dict[str, Any]
    result: str
    usage: dict[str, Any]
    report: str
    phase: str

def built(node):
    builder = StateGraph(State)
    builder.add_node("only", node)
    builder.add_edge(START, "only")
    return builder.compile()

async def answers(state):
    return {"result": f"remote did: {state['task']['description']}"}

async def breaks(state):
    raise ValueError("no ships there")

async def hangs(state):
    await asyncio.sleep(600)

async def asks(state):
    return {"result": interrupt({"may": "I?"})}

async def bills(state):
    used = {"input_tokens": 70, "output_tokens": 30, "calls": 2, "cost": 0.5}
    return {"messages": [("ai", "billed")], "usage": used, "report": "billed", "phase": "complete"}

async def gives_up(state):
    return {**await bills(state), "phase": "failed"}

async def mumbles(state):
    return {"result": "mumbled", "usage": {"tokens": "many"}}

billing, giving_up, mumbling = built(bills), built(gives_up), built(mumbles)
good, bad, slow, asking = built(answers), built(breaks), built(hangs), built(asks)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves four small graphs."""
    folder = tmp_path_factory.mktemp("remote")
    (folder / "graphs_there.py").write_text(GRAPHS)
    names = ("good", "bad", "slow", "asking", "billing", "giving_up", "mumbling")
    graphs = {name: f"./graphs_there.py:{name}" for name in names}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with serving(folder) as server:
        yield server


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    async with client_of(server.url) as client:
        yield client


def remote(client: LangGraphClient, name: str, **limits: float) -> AgentSpec:
    graph = RemoteGraph(name, client=client)
    return AgentSpec(name="far", role="far", run=graph, limits=Limits(**limits))  # type: ignore[arg-type]


async def beside(far: AgentSpec) -> tuple[Run, list[Event]]:
    """A run with a task for the remote agent and one that has nothing to do with it."""
    async with opened(agent(), far, max_iterations=0, max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan({"id": "a", "role": "far", "required": False}, "b"), thread_id="t")
        return run, await sup.events("t")


def kinds(events: list[Event], task_id: str = "a") -> list[str]:
    return [event.kind for event in events if event.task_id == task_id]


async def test_it_runs_there_and_its_result_comes_back(client: LangGraphClient) -> None:
    run, events = await beside(remote(client, "good"))

    assert (run.status, run.tasks[0].result, run.tasks[0].agent) == ("complete", "remote did: Do a.", "far")
    assert kinds(events) == ["task_started", "task_finished"]


@pytest.mark.parametrize(
    ("name", "used", "result"),
    [("billing", (2, 100, 0.5), "billed"), ("giving_up", (2, 100, 0.5), ""), ("mumbling", (0, 0, 0.0), "mumbled")],
)
async def test_what_it_says_it_has_used_is_on_the_runs_ledger(
    name: str, used: tuple[int, int, float], result: str, client: LangGraphClient
) -> None:
    run, _ = await beside(remote(client, name))

    assert run.tasks[0].result == result
    assert (run.usage.calls, run.usage.total_tokens, run.usage.cost) == used
    assert run.tasks[0].tokens == (used[1] if result else 0)


@pytest.mark.parametrize(
    ("name", "limits", "reason"),
    [
        ("bad", {}, "the remote run ended with status error"),
        ("slow", {"timeout_s": 3.0}, "no result within 3 seconds"),
        ("asking", {}, "the remote graph asks {'may': 'I?'}; it cannot be answered from here"),
        ("nowhere", {}, "nowhere"),
        ("giving_up", {}, "the remote supervisor ended as failed; its report says why"),
    ],
)
async def test_what_goes_wrong_there_is_reported_here(
    name: str, limits: dict[str, float], reason: str, client: LangGraphClient
) -> None:
    run, events = await beside(remote(client, name, **limits))

    assert (run.status, statuses(run)) == ("complete", {"a": "skipped", "b": "done"})
    assert reason in str(run.tasks[0].error)
    assert kinds(events) == ["task_started", "task_finished"]
    assert reason in str(events[[e.kind == "task_finished" and e.task_id == "a" for e in events].index(True)].data)
    assert await working(client) == []


async def test_a_server_that_is_not_there_is_said_in_a_line() -> None:
    # The default client tries five times, for eight seconds.
    async with LangGraphClient(httpx.AsyncClient(base_url=f"http://127.0.0.1:{free_port()}")) as nobody:
        run, _ = await beside(remote(nobody, "good"))

    assert statuses(run) == {"a": "skipped", "b": "done"}
    assert "ConnectError" in str(run.tasks[0].error)


async def test_cancelling_the_run_cancels_the_remote_one(client: LangGraphClient) -> None:
    async with opened(remote(client, "slow"), clock=HeldClock()) as sup:
        started = asyncio.create_task(sup.start("Q", plan=plan({"id": "a", "role": "far"}), thread_id="t"))
        while not await working(client):  # noqa: ASYNC110 - another process works
            await asyncio.sleep(0.05)
        await sup.signal("t", Cancel())
        run = await started
        events = await sup.events("t")

    assert (run.status, statuses(run)) == ("cancelled", {"a": "cancelled"})
    assert kinds(events) == ["task_started", "task_finished"]
    assert await working(client) == []


async def working(client: LangGraphClient) -> list[Any]:
    """Threads of the server on which a run is at work."""
    return list(await client.threads.search(status="busy"))
