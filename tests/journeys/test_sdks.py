"""langgraph-sdk in Python and in JavaScript on a live `langgraph dev`: each tells the same story of the server."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sdks.story import MODES, Story
from tests.servers.dev import Server, client_of, serving_the_checkout

pytestmark = pytest.mark.services

CLIENTS = Path(__file__).parents[1] / "sdks"
TEAM = """
agents:
  - {name: ada, role: generalist, run: "crew:works"}
  - {name: bob, role: captain, run: "crew:asks"}
"""
CREW = """
import asyncio
from pathlib import Path

HERE = Path(__file__).parent

async def works(brief, desk):
    with (HERE / "log").open("a") as file:
        file.write(f"start {brief.task.id}\\n")
    while brief.task.id.startswith("gate") and not (HERE / brief.task.id).exists():
        await asyncio.sleep(0.02)
    return f"{brief.task.id} is done"

async def asks(brief, desk):
    decision = await desk.ask("set sail", {"to": "Cape Morrow"}, risk="low")
    return f"{decision.type}: {(decision.args or {}).get('to')}"
"""
PARTS: dict[str, list[str]] = {
    **{str(mode): ["metadata", mode] for mode in MODES},
    "messages": ["messages/complete", "messages/metadata", "messages/partial", "metadata"],
    "messages-tuple": ["messages", "metadata"],
    "all": ["metadata", *(mode for mode in MODES if mode != "messages-tuple")],
}
"""What streams of each mode have, subgraphs included: Baton's own events are all the run's, and none has an error."""
ONCE = {"code": 200, "phase": "complete", "noted": [], "first": 1, "second": 1}
DOUBLED: dict[str, dict[str, Any]] = {
    "reject": {**ONCE, "code": 409, "asked": ["First"], "second": 0},
    "enqueue": {**ONCE, "asked": ["First", "Second"]},
    "interrupt": {**ONCE, "asked": ["First"], "noted": ["Second"], "second": 0},
    "rollback": {**ONCE, "asked": ["Second"]},
}
"""What becomes of a second request in the middle of the first: what the first had finished is never done again."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "crew.py").write_text(CREW)
    (folder / "team.yaml").write_text(TEAM)
    with serving_the_checkout(folder, BATON_TEAM=str(folder / "team.yaml")) as server:
        yield server


async def in_python(server: Server, _: Path) -> dict[str, Any]:
    async with client_of(server.url) as client:
        return await Story(client, server.folder).tell()


async def in_javascript(server: Server, folder: Path) -> dict[str, Any]:
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm, "install npm"
    assert node, "install node"
    shutil.copytree(CLIENTS, folder / "sdks", ignore=shutil.ignore_patterns("node_modules"))

    def run() -> str:
        install = [npm, "ci", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(install, cwd=folder / "sdks", check=True, timeout=300)
        command = [node, "story.mjs", server.url, str(server.folder)]
        done = subprocess.run(command, cwd=folder / "sdks", check=False, timeout=300, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told: dict[str, Any] = json.loads(await asyncio.to_thread(run))
    return told


@pytest.mark.parametrize("client", [in_python, in_javascript])
async def test_a_client_sees_what_the_server_promises(
    client: Callable[[Server, Path], Coroutine[Any, Any, dict[str, Any]]], server: Server, tmp_path: Path
) -> None:
    told = await client(server, tmp_path)

    assert told["modes"] == {name: sorted(parts) for name, parts in PARTS.items()}
    unknown, too_few, in_a_run = told["assistants"].pop("wrong")
    assert told["assistants"] == {
        "phase": "waiting",
        "policy": ["in_command", 10],  # within the server's policy
        "about": "How closely a human watches.",
        "nodes": True,
        "parts": ["execute"],
        "versions": [2, 1],
        "found": 1,
        "gone": 404,
    }
    assert [one[0] for one in (unknown, too_few, in_a_run)] == [422, 422, 422]
    assert all("an assistant cannot set 'oversigt'; it can set oversight" in one[1] for one in (unknown, in_a_run))
    assert "max_parallel: Input should be greater than or equal to 1" in too_few[1]
    assert told["doubled"] == DOUBLED
    assert told["forked"] == {
        "asked": ["set sail"],
        "again": ["approve"],
        "settled": 422,
        "next": [],
        "notes": ["Mind the gap."],
        "sailed": True,
        "packed": 1,
    }
    assert [(code, "is Baton's own" in text) for code, text in told["stored"].pop("wrong")] == [(403, True)] * 2
    assert told["stored"] == {"kept": {"a": 1}, "rows": 1, "places": [["mine", "py" if client is in_python else "js"]]}
    assert told["ran"] == {
        "cancelled": "interrupted",
        "onward": "complete",
        "cut": [1, 2],
        "phase": "complete",
        "kinds": ["phase_entered", "run_finished"],
        "alone": "complete",
        "unasked": True,
        "batch": 2,
        "crons": 1,
        "copied": "complete",
        "gone": 404,
    }


async def test_the_threads_own_stream_tells_of_questions_and_takes_their_answers(server: Server) -> None:
    asking = {"tasks": [{"id": "own", "description": "Sail.", "role": "captain"}]}
    async with client_of(server.url) as client, client.threads.stream(assistant_id="supervisor") as thread:
        await thread.run.start(input={"query": "Sail", "plan": asking})
        async with asyncio.timeout(60):
            seen = [one async for one in until_asked(thread.events)]
        state: Any = await client.threads.get_state(thread.thread_id)
        await client.runs.wait(thread.thread_id, "supervisor", command={"resume": "yes"})
        after: Any = await client.threads.get_state(thread.thread_id)

    assert "values" in seen
    assert state["next"] == ["approve"]
    assert (after["values"]["phase"], after["next"]) == ("complete", [])


async def until_asked(events: AsyncIterator[Any]) -> AsyncIterator[str]:
    """The kinds of events up to the one that says that a human is asked."""
    async for event in events:
        yield event["method"]
        if event["method"] == "input.requested":
            return
