"""`langgraph dev` looks after its runs: with nobody calling, deadlines pass and what was cut off goes on."""

import asyncio
import json
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from graph.address import address_of
from graph.cli import main
from graph.database import open_database
from graph.supervisor import open_supervisor
from nodes.runtime.audit import Seals, read_audit
from nodes.runtime.rows import read_all, space
from state.approval import Entry
from state.text import Json
from tests.journeys.doom import notes
from tests.runs import plan
from tests.servers.dev import Server, client_of, serving_the_checkout
from tests.servers.pages import Shown, agent_chat_ui, agent_inbox, deep_agents_ui

PATIENCE_S = 120
TEAM = """
agents:
  - {name: ada, role: generalist, run: "crew:works"}
  - {name: bob, role: captain, run: "crew:asks"}
"""
CREW = """
import asyncio
from pathlib import Path

HERE = Path(__file__).parent

def noted(line):
    with (HERE / "log").open("a") as file:
        file.write(line + "\\n")

async def works(brief, desk):
    noted(f"start {brief.task.id}")
    while brief.task.id == "gate" and not (HERE / "open").exists():
        await asyncio.sleep(0.02)
    noted(f"end {brief.task.id}")
    return f"{brief.task.id} is done"

async def asks(brief, desk):
    decision = await desk.ask("set sail", {"to": "Cape Morrow"}, risk="low")
    noted(f"{brief.task.id}: {decision.type}")
    return f"{decision.type} by {decision.by}"
"""
ASKING: dict[str, Any] = {"tasks": [{"id": "sail", "description": "Sail.", "role": "captain"}]}
GATED = plan("before", "gate <- before")
VOYAGE: dict[str, Any] = {
    "tasks": [
        {"id": "pack", "description": "Pack."},
        {"id": "sail", "description": "Sail.", "role": "captain", "depends_on": ["pack"]},
        {"id": "tell", "description": "Tell.", "depends_on": ["sail"]},
    ]
}


def asking(timeout_s: float) -> dict[str, Any]:
    """A run that asks, and whose question expires after so many seconds: then the policy approves."""
    return {"query": "Sail.", "plan": ASKING, "policy": {"approval_timeout_s": timeout_s}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("upkeep")
    (folder / "crew.py").write_text(CREW)
    (folder / "team.yaml").write_text(TEAM)
    (folder / "policy.yaml").write_text("approval_timeout_s: 0.5\n")
    files = {"BATON_TEAM": str(folder / "team.yaml"), "BATON_POLICY": str(folder / "policy.yaml")}
    with serving_the_checkout(folder, **files, BATON_WATCH_EVERY_S="0.2") as server:
        yield server


async def started(client: LangGraphClient, given: dict[str, Any]) -> str:
    """The thread of a new run."""
    thread_id = str((await client.threads.create())["thread_id"])
    await client.runs.create(thread_id, "supervisor", input=given)
    return thread_id


async def until(what: Callable[[], Awaitable[bool]], said: str) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + PATIENCE_S
    while not await what():
        assert time.monotonic() < end, f"{said}: it did not happen within {PATIENCE_S} seconds"
        await asyncio.sleep(0.05)


async def until_status(client: LangGraphClient, thread_id: str, status: str) -> dict[str, Any]:
    """What the server says of a thread once it has this status."""

    async def is_so() -> bool:
        return (await client.threads.get(thread_id))["status"] == status

    await until(is_so, f"{thread_id} {status}")
    found: dict[str, Any] = dict(await client.threads.get(thread_id))
    return found


async def answers(server: Server, thread_id: str) -> list[Entry]:
    """What was decided on a thread, read without applying any deadline."""
    async with open_database(address_of(server.db)) as database:
        entries, broken = await read_audit(database.store, thread_id, Seals())
    assert broken == ""
    return [entry for entry in entries if entry.kind == "answered"]


async def ten_minutes_later(server: Server, thread_id: str) -> None:
    """Make the questions of a thread as old as if the server had been down for so long."""
    async with open_database(address_of(server.db)) as database:
        for row in await read_all(database.store, space("approvals", thread_id)):
            expired = {**row.value, "expires_at": row.value["expires_at"] - 600}
            await database.store.aput(space("approvals", thread_id), row.key, expired)


async def events(server: Server, thread_id: str, kind: str) -> int:
    async with open_supervisor(server.db, model="offline") as sup:
        return sum(event.kind == kind for event in await sup.events(thread_id))


async def told_once(server: Server, thread_id: str) -> None:
    """The policy approved, once, in the audit log and among the events; and the run ended once."""
    made = [(entry.decision, entry.by, entry.door) for entry in await answers(server, thread_id)]
    assert made == [("approve", "policy", "deadline")]
    assert await events(server, thread_id, "approval_answered") == 1
    assert await events(server, thread_id, "run_finished") == 1


async def test_a_question_that_nobody_answers_is_decided_and_the_run_completes_with_nobody_calling(
    server: Server,
) -> None:
    async with client_of(server.url) as client:
        thread_id = await started(client, asking(timeout_s=1))
        await until(in_the_log(server, thread_id), "the end of the run")
        thread = await until_status(client, thread_id, "idle")

    assert (thread["values"]["phase"], thread["interrupts"]) == ("complete", {})
    assert "approve by policy" in thread["values"]["report"]
    await told_once(server, thread_id)


async def test_a_run_that_the_command_line_started_gets_its_decision_and_is_left_to_the_command_line(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = str(uuid4())  # even one that could be the server's
    team = server.folder / "team.yaml"
    monkeypatch.syspath_prepend(str(server.folder))
    async with open_supervisor(server.db, team=team, model="offline", policy={"approval_timeout_s": 1}) as sup:
        assert (await sup.start("Sail.", thread_id=thread_id, plan=ASKING)).status == "waiting"

    async def is_decided() -> bool:
        return bool(await answers(server, thread_id))

    await until(is_decided, "the deadline")
    await asyncio.sleep(1)  # some looks later the server still knows nothing of it
    async with client_of(server.url) as client:
        with pytest.raises(NotFoundError):
            await client.threads.get(thread_id)
    monkeypatch.setenv("BATON_TEAM", str(team))
    code = await asyncio.to_thread(main, ["resume", thread_id, "--db", str(server.db), "--json"])

    assert (code, json.loads(capsys.readouterr().out.splitlines()[-1])["status"]) == (0, "complete")
    await told_once(server, thread_id)


async def test_a_deadline_that_passes_while_the_server_is_down_is_applied_when_it_is_up_again(server: Server) -> None:
    async with client_of(server.url) as client:
        thread_id = await started(client, asking(timeout_s=600))
        await until_status(client, thread_id, "interrupted")
    code = await asyncio.to_thread(server.stop, signal.SIGTERM)
    assert await answers(server, thread_id) == []
    await ten_minutes_later(server, thread_id)
    await asyncio.to_thread(server.start)
    async with client_of(server.url) as client:
        thread = await until_status(client, thread_id, "idle")

    assert (code, thread["values"]["phase"]) == (-signal.SIGTERM, "complete")
    await told_once(server, thread_id)


async def test_the_runs_of_a_server_that_was_killed_go_on_by_themselves_after_its_restart(server: Server) -> None:
    async with client_of(server.url) as client:
        thread_id = await started(client, {"query": "Work.", "plan": GATED})
        await until(at_the_gate(server.folder), "the gate")
        waiting = await started(client, asking(timeout_s=600))
        await until_status(client, waiting, "interrupted")
    await asyncio.to_thread(server.stop, signal.SIGKILL)
    await asyncio.to_thread(shutil.rmtree, server.folder / ".langgraph_api")  # it is written every ten seconds only
    (server.folder / "open").touch()
    await ten_minutes_later(server, waiting)
    await asyncio.to_thread(server.start)
    async with client_of(server.url) as client:
        await until(in_the_log(server, thread_id), "the end of the run")
        thread = await until_status(client, thread_id, "idle")
        await until(in_the_log(server, waiting), "the end of the other run")
        other = await until_status(client, waiting, "idle")

    assert (thread["values"]["phase"], other["values"]["phase"]) == ("complete", "complete")
    log = notes(server.folder)
    assert [log.count(line) for line in ("start before", "start gate", "end gate")] == [1, 2, 1]
    await told_once(server, waiting)


async def test_three_chat_pages_show_a_whole_run_and_no_question_that_was_answered_elsewhere_after_a_kill(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that asks in its middle: the server is killed in the question, which the command line answers."""
    shown: list[list[Shown]] = []
    async with client_of(server.url) as client:
        thread_id = str((await client.threads.create())["thread_id"])
        said = [{"role": "user", "content": "Pack, sail and tell."}]
        given: Any = {"messages": said, "plan": VOYAGE, "policy": {"approval_timeout_s": 600}}
        told: list[Json] = []
        async for part in client.runs.stream(thread_id, "supervisor", input=given, stream_mode=["values"]):
            told += [part.data] if part.event == "values" else []
        asked = await drawn(client, thread_id, told[-1])
    await asyncio.to_thread(server.stop, signal.SIGKILL)
    await asyncio.to_thread(shutil.rmtree, server.folder / ".langgraph_api")
    await asyncio.to_thread(server.start)
    async with client_of(server.url) as client:

        async def is_listed() -> bool:
            return thread_id in [one["thread_id"] for one in await client.threads.search(status="interrupted")]

        await until(is_listed, "the question, in the list of threads")
        again = await drawn(client, thread_id)
        [[one]] = (await client.threads.get(thread_id))["interrupts"].values()
        question = one["value"]["approvals"][0]
        monkeypatch.setenv("BATON_TEAM", str(server.folder / "team.yaml"))
        monkeypatch.syspath_prepend(str(server.folder))
        answer = ["answer", thread_id, question["id"], "reject", "--message", "too windy", "--db", str(server.db)]
        assert await asyncio.to_thread(main, [*answer, "--json"]) == 0
        thread = await until_status(client, thread_id, "idle")
        phantoms = await client.threads.search(status="interrupted")
        ended = await drawn(client, thread_id)
    capsys.readouterr()
    shown += [[agent_chat_ui(values), deep_agents_ui(values)] for values in told]

    assert [page.wrong for pages in (*shown, asked, again, ended) for page in pages if page.wrong] == []
    assert {page.name for pages in shown[:-1] for page in pages} == {""}  # it asks when it asks
    assert [(page.name, dict(page.args)) for page in (*shown[-1], *asked, *again)] == [
        ("set sail", {"to": "Cape Morrow"})
    ] * 8
    assert [page.name for page in ended] == [""] * 3
    assert thread_id not in [one["thread_id"] for one in phantoms]
    assert thread["values"]["phase"] == "complete"
    replaced_in_place([one["messages"] for one in (*told, thread["values"])])
    story = ended[0].texts
    assert story[0] == "Pack, sail and tell."
    assert "1. " in story[1]
    assert story[2] == "3 of 3 done"
    assert [text for text in story if "Rejected by" in text and "too windy" in text]
    assert story[-1] == thread["values"]["report"]


async def drawn(client: LangGraphClient, thread_id: str, streamed: Json | None = None) -> list[Shown]:
    """A thread as three pages show it that are opened now, or that have followed its run."""
    head: Any = (await client.threads.get_history(thread_id, limit=1))[0]
    thread: Any = await client.threads.get(thread_id)
    values: Any = streamed or head["values"]
    return [page(values, head) for page in (agent_chat_ui, deep_agents_ui)] + [agent_inbox(thread)]


def replaced_in_place(tellings: list[list[Json]]) -> None:
    """No message that was there is gone or in another place."""
    for before, after in pairwise(tellings):
        ids = [one["id"] for one in after]
        places = [ids.index(one["id"]) for one in before]
        assert places == sorted(places)


def at_the_gate(folder: Path) -> Callable[[], Awaitable[bool]]:
    async def is_there() -> bool:
        return "start gate" in notes(folder)

    return is_there


def in_the_log(server: Server, thread_id: str) -> Callable[[], Awaitable[bool]]:
    """Whether the run has ended, by its own record."""

    async def has_ended() -> bool:
        return await events(server, thread_id, "run_finished") > 0

    return has_ended


def test_it_met_no_blocking_call_and_ended_without_a_trace(server: Server) -> None:
    code = server.stop(signal.SIGINT)
    left = server.log

    assert code in (0, -signal.SIGINT)
    assert "BlockingError" not in left
    assert "Traceback" not in left
    assert "was never" not in left
    assert "Task was destroyed" not in left
