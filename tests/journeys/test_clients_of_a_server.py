"""What a client of the server may do, and what it may not: it asks and answers, and changes no rules."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from graph.address import address_of
from graph.database import open_database
from nodes.runtime.audit import Seals, read_audit
from nodes.runtime.rows import OURS
from tests.runs import plan
from tests.servers.dev import Server, client_of, serving_the_checkout
from tests.servers.mcp_client import tools_of

THREAD = "0b0ec1b5-6a2f-4d0b-9a53-3f3a3f1c5d11"
PUBLISHING = plan(
    {"id": "a", "description": "How much caffeine has tea?"},
    {"id": "b", "description": "Publish it.", "action": "publish", "depends_on": ["a"]},
)
YES = {"type": "approve", "by": "ana"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("The word is xyzzy.")
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "notes.md").write_text("Tea has 30 mg of caffeine per cup.")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "uploads").mkdir()
    with serving_the_checkout(folder, BATON_SOURCES="notes.md") as served:
        (folder / ".env").write_text("OPENAI_API_KEY=sk-of-the-server")
        yield served


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    async with client_of(server.url) as client:
        yield client


async def refused(doing: Any) -> str:
    """What the server says to what it refuses with 403 or, where the graph does, 4xx."""
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await doing
    assert caught.value.response.status_code in (400, 403, 422)
    return caught.value.response.text


async def waiting(client: LangGraphClient, **given: Any) -> tuple[str, dict[str, Any]]:
    """A thread whose run asks something, and what it asks."""
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread_id, "supervisor", input={"query": "Tea?", **given})
    return thread_id, await asked(client, thread_id)


async def asked(client: LangGraphClient, thread_id: str) -> dict[str, Any]:
    found: Any = (await client.threads.get(thread_id))["interrupts"]
    [question] = [item["value"] for items in found.values() for item in items]
    return dict(question)


@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
def test_a_foreign_page_starts_no_run_by_a_request_that_needs_no_preflight(server: Server, content_type: str) -> None:
    body = json.dumps({"assistant_id": "supervisor", "input": {"query": "Tea?"}})
    headers = {"Content-Type": content_type, "Origin": "https://evil.example"}
    done = httpx.post(f"{server.url}/runs", content=body, headers=headers, trust_env=False)

    assert (done.status_code, "access-control-allow-origin" in done.headers) == (403, False)
    assert "BATON_ORIGINS" in done.json()["detail"]


def test_a_page_that_may_use_it_is_named_and_no_other(server: Server) -> None:
    done = httpx.get(f"{server.url}/info", headers={"Origin": "https://smith.langchain.com"}, trust_env=False)

    assert done.headers["access-control-allow-origin"] == "https://smith.langchain.com"


@pytest.mark.parametrize("kind", sorted(OURS))
async def test_clients_write_no_row_of_batons(client: LangGraphClient, kind: str) -> None:
    assert "is Baton's own" in await refused(client.store.put_item([kind, THREAD], "k", {"a": 1}))
    assert "is Baton's own" in await refused(client.store.delete_item([kind, THREAD], "k"))


async def test_every_row_that_a_run_leaves_is_one_that_clients_do_not_write(
    client: LangGraphClient, server: Server
) -> None:
    await waiting(client, plan=PUBLISHING)
    async with open_database(address_of(server.db)) as database:
        found = {namespace[0] for namespace in await database.store.alist_namespaces(limit=10_000)}

    assert len(found) > 5
    assert found - OURS <= {"mine"}


async def test_they_write_rows_of_their_own_and_read_all(client: LangGraphClient) -> None:
    await client.store.put_item(["mine", "x"], "k", {"a": 1})
    assert (await client.store.get_item(["mine", "x"], "k"))["value"] == {"a": 1}
    assert (await client.store.search_items(["runs"]))["items"] is not None


@pytest.mark.parametrize(
    "source", ["/etc/passwd", "/no/such/file", "../outside0/secret.md", "link.md", ".env", "~/.ssh", "/", "\x00", ""]
)
async def test_they_name_no_source_outside_the_folders_for_it(client: LangGraphClient, source: str) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    given: Any = {"query": "Tea?", "sources": [source]}
    parts = client.runs.stream(thread_id, "supervisor", input=given)
    errors = [part.data["message"] async for part in parts if part.event == "error"]

    if source:
        assert [f"the source {source!r} is not below a folder" in error for error in errors] == [True]
    assert "xyzzy" not in json.dumps(await client.threads.get_state(thread_id))


async def test_nor_through_mcp(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as http, tools_of(http) as call:
        why, told = await call("start", query="Tea?", sources=["/etc/passwd"])

    assert (why.startswith("the source '/etc/passwd' is not below a folder"), told) == (True, {})


async def test_a_clients_policy_that_is_looser_than_the_servers_does_not_hold(client: LangGraphClient) -> None:
    looser: dict[str, Any] = {"oversight": "on_the_loop", "sensitive_actions": [], "on_timeout": {"default": "approve"}}
    thread_id, question = await waiting(client, plan=PUBLISHING, policy=looser)
    state: Any = (await client.threads.get_state(thread_id))["values"]

    assert [approval["action"] for approval in question["approvals"]] == ["publish"]
    assert state["terms"]["policy"]["oversight"] == "in_the_loop"
    assert [warning.split()[1] for warning in state["warnings"]] == list(looser)


@pytest.mark.parametrize(
    "edit",
    [
        {"decisions": {"a.0.start": YES}},
        {"terms": {"policy": {"oversight": "on_the_loop"}, "sources": ["/etc"]}},
        {"control": {"driving": "running"}},
        {"asked": None},
        {"tasks": []},
        {"draft": PUBLISHING, "phase": "executing"},
        {"started_at": 1e12},
        {"spent": {}, "worked_s": -1e9},
    ],
    ids=json.dumps,
)
async def test_an_edit_of_the_state_decides_nothing_and_changes_no_terms(
    client: LangGraphClient, edit: dict[str, Any]
) -> None:
    thread_id, before = await waiting(client, plan=PUBLISHING, policy={"oversight": "in_command"})

    assert "cannot be edited" in await refused(client.threads.update_state(thread_id, edit))
    assert await asked(client, thread_id) == before


async def test_an_edit_of_the_phase_does_not_lead_past_the_question(client: LangGraphClient) -> None:
    thread_id, _ = await waiting(client, plan=PUBLISHING, policy={"oversight": "in_command"})
    await client.threads.update_state(thread_id, {"phase": "executing"}, as_node="route")
    await client.runs.wait(thread_id, "supervisor")

    assert [one["id"] for one in (await asked(client, thread_id))["approvals"]] == ["plan.0"]


async def test_any_other_edit_is_made_and_is_on_record(client: LangGraphClient, server: Server) -> None:
    thread_id, _ = await waiting(client, plan=PUBLISHING)
    await client.threads.update_state(thread_id, {"notes": ["Mind the gap."]})
    async with open_database(address_of(server.db)) as database:
        entries, broken = await read_audit(database.store, thread_id, Seals())

    assert [(one.action, one.door, one.args) for one in entries if one.kind == "steered"] == [
        ("edit", "server", {"changed": ["notes"]})
    ]
    assert broken == ""


@pytest.mark.parametrize(
    "command",
    [
        {"update": {"decisions": {"a.0.start": YES}}},
        {"update": {"phase": "complete"}, "resume": "yes"},
        {"goto": "execute"},
        {"goto": {"node": "execute", "input": {"phase": "executing"}}},
        {"goto": ["__end__", "finish"]},
    ],
    ids=json.dumps,
)
async def test_a_command_writes_no_state_and_jumps_nowhere(client: LangGraphClient, command: Any) -> None:
    thread_id, before = await waiting(client, plan=PUBLISHING)

    said = await refused(client.runs.create(thread_id, "supervisor", command=command))
    assert "a command may resume a run" in said
    assert await asked(client, thread_id) == before


async def test_it_is_on_record_that_an_answer_came_through_the_server(client: LangGraphClient, server: Server) -> None:
    thread_id, question = await waiting(client, plan=PUBLISHING)
    [approval] = question["approvals"]
    no = {approval["id"]: {"type": "reject", "by": "ana", "door": "command line"}}
    await client.runs.wait(thread_id, "supervisor", command={"resume": no})
    async with open_database(address_of(server.db)) as database:
        entries, _ = await read_audit(database.store, thread_id, Seals())

    assert [(one.by, one.door) for one in entries if one.kind == "answered"][:1] == [("ana", "server")]


@pytest.mark.parametrize("answer", [None, {}], ids=json.dumps)
async def test_an_answer_that_says_nothing_gets_a_reason(client: LangGraphClient, answer: Any) -> None:
    thread_id, before = await waiting(client, plan=PUBLISHING)
    body = {"assistant_id": "supervisor", "command": {"resume": answer}}
    why = f"{json.dumps(answer)} is not an answer; say approve, reject or edit"

    assert why in await refused(client.http.post(f"/threads/{thread_id}/runs", json=body))
    command: Any = {"resume": answer}  # of a command, the SDK leaves out what is None
    assert why in await refused(client.runs.create(thread_id, "supervisor", command=command))
    assert await asked(client, thread_id) == before


async def said_last(client: LangGraphClient, content: Any, thread_id: str = "") -> tuple[str, str]:
    """A thread on which somebody says that, and the last message, or the error."""
    thread_id = thread_id or (await client.threads.create())["thread_id"]
    given: Any = {"messages": [{"role": "user", "content": content}]}
    parts = client.runs.stream(thread_id, "supervisor", input=given)
    errors = [part.data["message"] async for part in parts if part.event == "error"]
    state: Any = await client.threads.get_state(thread_id)
    return thread_id, errors[0] if errors else str(state["values"]["messages"][-1]["content"])


async def test_who_names_no_sources_asks_those_of_the_server_and_uploads_come_with_the_message(
    client: LangGraphClient,
) -> None:
    _, of_the_server = await said_last(client, "How much caffeine has a cup of tea?")
    ask = {"type": "text", "text": "When was the lighthouse of Cape Morrow lit?"}
    coded = b64encode(b"The lighthouse of Cape Morrow was lit in 1887. It has 214 steps.").decode()
    file = {"type": "file", "source_type": "base64", "mime_type": "text/plain", "data": coded}
    thread_id, of_the_upload = await said_last(client, [ask, {**file, "metadata": {"filename": "../light.txt"}}])
    _, later = await said_last(client, "How many steps has the lighthouse of Cape Morrow?", thread_id)
    photo = {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "aGk="}
    refused_on, damaged = await said_last(client, [ask, {**photo, "metadata": {"name": "it.png"}}])
    clip = {**photo, "type": "video", "mime_type": "video/mp4", "metadata": {"name": "it.mp4"}}
    _, why = await said_last(client, [ask, clip], refused_on)
    _, again = await said_last(client, "How much caffeine has a cup of tea?", refused_on)

    assert "30 mg" in of_the_server
    assert "1887" in of_the_upload
    assert "light.txt" in of_the_upload
    assert "214" in later
    assert damaged.startswith("the upload 'it.png' cannot be used: ")
    assert why.startswith("the upload 'it.mp4' (video/mp4) cannot be read; send text")
    assert "30 mg" in again


async def test_what_an_assistant_sets_holds_for_its_runs_within_the_servers_policy(client: LangGraphClient) -> None:
    sets: Any = {"oversight": "in_command", "max_parallel": 900, "token_budget": 5000, "sources": ["notes.md"]}
    made = (await client.assistants.create("supervisor", context=sets))["assistant_id"]
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread_id, made, input={"query": "How much caffeine has tea?"})
    terms = (await client.threads.get_state(thread_id))["values"]["terms"]  # type: ignore[call-overload]
    schema: Any = (await client.assistants.get_schemas(made))["context_schema"]
    wrong = await refused(client.assistants.create("supervisor", context={"oversigt": "auto"}))
    changed = await refused(client.assistants.update(made, context={"max_parallel": 0}))
    counted = await refused(client.assistants.update(made, context={"token_budget": True}))
    one: Any = {"input": {"query": "Tea?"}, "context": {"oversigt": "auto"}}
    of_a_run = await refused(client.runs.create(thread_id, made, **one))

    assert [one["id"] for one in (await asked(client, thread_id))["approvals"]] == ["plan.0"]
    assert (terms["policy"]["oversight"], terms["policy"]["token_budget"]) == ("in_command", 5000)
    assert terms["policy"]["max_parallel"] == 10
    assert [source.rpartition("/")[2] for source in terms["sources"]] == ["notes.md"]
    assert schema["properties"]["oversight"]["description"] == "How closely a human watches."
    assert "an assistant cannot set 'oversigt'; it can set oversight, " in wrong
    assert "an assistant cannot set 'oversigt'" in of_a_run
    assert "max_parallel: Input should be greater than or equal to 1" in changed
    assert "token_budget: true is no value for it" in counted
