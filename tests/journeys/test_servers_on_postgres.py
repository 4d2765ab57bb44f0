"""Several `langgraph dev` and a worker on one PostgreSQL: what one begins is seen, answered and ended by another."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from graph.supervisor import open_supervisor
from tests.runs import plan
from tests.servers.dev import Server, client_of, serving_the_checkout

pytestmark = pytest.mark.services

PATIENCE_S = 120
TEAM = 'agents:\n  - {name: ada, role: generalist, run: "crew:works"}\n'
CREW = """
import asyncio
from pathlib import Path

HERE = Path(__file__).parent

async def works(brief, desk):
    with (HERE / "log").open("a") as log:
        log.write(f"{brief.task.id}\\n")
    while brief.task.id == "gate" and not (HERE / "open").exists():
        await asyncio.sleep(0.02)
    if brief.task.id == "asks":
        return (await desk.ask("launch")).type
    return f"{brief.task.id} is done"
"""


@pytest.fixture
def servers(on_postgres: str, tmp_path: Path) -> Iterator[list[Server]]:
    """Two servers of the same team, each in its own folder."""
    (tmp_path / "crew.py").write_text(CREW)
    (tmp_path / "team.yaml").write_text(TEAM)
    set_up = {"BATON_DB": on_postgres, "BATON_TEAM": str(tmp_path / "team.yaml"), "BATON_WATCH_EVERY_S": "0.2"}
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("one", "other")]
        for folder in folders:
            folder.mkdir()
        yield [stack.enter_context(serving_the_checkout(folder, **set_up)) for folder in folders]


async def until(what: Callable[[], Awaitable[bool]], said: str) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + PATIENCE_S
    while not await what():
        assert time.monotonic() < end, f"{said}: it did not happen within {PATIENCE_S} seconds"
        await asyncio.sleep(0.05)


async def shown(server: Server, thread_id: str) -> dict[str, Any]:
    """What a server's control room says of a run."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as http:
        found: dict[str, Any] = (await http.get(f"/api/runs/{thread_id}")).json()["run"]
        return found


async def test_what_one_server_began_another_answers_and_goes_on_with_when_the_first_is_killed(
    servers: list[Server], on_postgres: str, tmp_path: Path
) -> None:
    one, other = servers
    async with client_of(one.url) as client:
        thread_id = str((await client.threads.create())["thread_id"])
        given: dict[str, Any] = {"query": "Q", "plan": plan("before", "gate <- before", "asks <- gate", "last <- asks")}
        await client.runs.create(thread_id, "supervisor", input=given)

        async def at_the_gate() -> bool:
            log = tmp_path / "log"
            return log.exists() and log.read_text().split() == ["before", "gate"]

        await until(at_the_gate, "the gate is reached")
    seen = await shown(other, thread_id)
    async with httpx.AsyncClient(base_url=other.url, trust_env=False, timeout=60) as http:
        refused = await http.post(f"/api/runs/{thread_id}/resume", json={})
    assert one.process
    one.process.send_signal(signal.SIGKILL)
    one.process.wait()
    one.process = None
    (tmp_path / "open").touch()

    async def asks() -> bool:
        return str((await shown(other, thread_id))["status"]) == "waiting"

    await until(asks, "the other server goes on")
    [question] = (await shown(other, thread_id))["approvals"]
    async with httpx.AsyncClient(base_url=other.url, trust_env=False, timeout=60) as http:
        answer = {"answers": {question["id"]: {"type": "approve"}}, "by": "eve"}
        (await http.post(f"/api/runs/{thread_id}/answer", json=answer)).raise_for_status()

    async def ended() -> bool:
        return str((await shown(other, thread_id))["status"]) == "complete"

    await until(ended, "the run ends")
    async with open_supervisor(on_postgres, str(tmp_path / "team.yaml"), model="offline") as sup:
        finished = [event.task_id for event in await sup.events(thread_id) if event.kind == "task_finished"]

    assert (seen["status"], refused.status_code) == ("running", 409)
    assert finished == ["before", "gate", "asks", "last"]
    assert (tmp_path / "log").read_text().split() == ["before", "gate", "gate", "asks", "asks", "last"]
    assert "BlockingError" not in other.log
    assert "checkpointer missing" not in other.log
