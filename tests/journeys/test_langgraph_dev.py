"""`langgraph dev` from the checkout: the supervisor is served, asks, is answered, and is seen from the command line."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_artifact_text, new_text_message
from a2a.types import Role, SendMessageRequest, StreamResponse, TaskState
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError

from graph.cli import main
from tests.journeys.talks import TALKS, Say, check, written
from tests.journeys.turns import LENGTH, chosen
from tests.servers.dev import Server, client_of, serving_the_checkout
from tests.servers.mcp_client import tools_of

QUESTION = "When was the lighthouse of Cape Morrow lit?"
NOTES = "The lighthouse of Cape Morrow was lit in 1887. It has 214 steps. Its lamp reaches 19 nautical miles.\n"
MISSING = "0b0ec1b5-6a2f-4d0b-9a53-3f3a3f1c5d11"
IN_COMMAND = {"query": QUESTION, "policy": {"oversight": "in_command"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "notes.md").write_text(NOTES, encoding="utf-8")
    with serving_the_checkout(folder) as server:
        yield server


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    async with client_of(server.url) as client:
        yield client


def sources(server: Server) -> list[str]:
    return [str(server.folder / "notes.md")]


def http_client(server: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60)


@dataclass(frozen=True)
class Heard:
    """What the stream of one run said."""

    thread_id: str
    kinds: list[str]
    """The kinds of Baton's events."""
    state: dict[str, Any]
    errors: list[str]
    question: dict[str, Any] | None
    """What the run asks a human now."""


async def run(client: LangGraphClient, thread_id: str = "", **given: Any) -> Heard:
    """One run of the server on a thread, a new one unless named."""
    thread_id = thread_id or (await client.threads.create())["thread_id"]
    kinds: list[str] = []
    errors: list[str] = []
    state: dict[str, Any] = {}
    async for part in client.runs.stream(thread_id, "supervisor", stream_mode=["custom", "values"], **given):
        if part.event == "custom":
            kinds.append(part.data["kind"])
        elif part.event == "values":
            state = part.data
        elif part.event == "error":
            errors.append(part.data["message"])
    waiting = (await client.threads.get(thread_id))["interrupts"]
    asked: list[Any] = [item["value"] for items in waiting.values() for item in items]
    return Heard(thread_id, kinds, state, errors, asked[0] if asked else None)


async def status(server: Server, thread_id: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `baton status` says."""
    capsys.readouterr()
    command = ["status", thread_id, "--db", str(server.db), "--json"]
    assert await asyncio.to_thread(main, command) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


@pytest.mark.parametrize("given", [{"query": QUESTION}, {"messages": [{"role": "user", "content": QUESTION}]}])
async def test_a_question_is_answered_on_a_thread_and_the_command_line_sees_it(
    given: dict[str, Any], server: Server, client: LangGraphClient, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = await run(client, input={**given, "sources": sources(server)})

    assert (heard.errors, heard.question) == ([], None)
    assert (heard.kinds[0], heard.kinds[-1]) == ("phase_entered", "run_finished")
    assert {"task_started", "task_finished"} <= set(heard.kinds)
    assert heard.state["phase"] == "complete"
    assert "1887" in heard.state["report"]
    assert "notes.md" in heard.state["report"]
    assert [message["type"] for message in heard.state["messages"]] == ["human", "ai"]
    assert heard.state["messages"][-1]["content"] == heard.state["report"]
    seen = await status(server, heard.thread_id, capsys)
    assert (seen["status"], seen["report"]) == ("complete", heard.state["report"])


@pytest.mark.parametrize(
    "answer",
    [
        {"decisions": [{"type": "approve"}]},
        [{"type": "accept", "args": None}],
        "yes",
        {"plan.0": {"type": "approve"}},
    ],
    ids=["chat page", "inbox", "studio", "code"],
)
async def test_an_approved_plan_is_carried_out_whoever_approves_it(
    answer: Any, server: Server, client: LangGraphClient
) -> None:
    asked = await run(client, input={**IN_COMMAND, "sources": sources(server)})
    assert asked.question
    assert [request["name"] for request in asked.question["action_requests"]] == ["Carry out this plan of 1 task?"]

    heard = await run(client, asked.thread_id, command={"resume": answer})

    assert heard.kinds[0] == "approval_answered"
    assert heard.state["phase"] in ("waiting", "complete")  # each task asks in its turn


async def test_a_rejected_plan_is_made_again_and_an_unreadable_answer_leaves_it_open(
    server: Server, client: LangGraphClient, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = await run(client, input={**IN_COMMAND, "sources": sources(server)})
    rejected = await run(
        client, asked.thread_id, command={"resume": {"decisions": [{"type": "reject", "message": "look again"}]}}
    )
    assert rejected.question
    assert [approval["id"] for approval in rejected.question["approvals"]] == ["plan.1"]

    unread = await run(client, asked.thread_id, command={"resume": {"no such question": "yes"}})
    assert unread.question
    assert "could not be read" in unread.question["error"]
    assert (await status(server, asked.thread_id, capsys))["status"] == "waiting"


@pytest.mark.parametrize("is_kept", [True, False], ids=["passed", "not kept"])
async def test_a_page_that_shows_what_was_answered_meanwhile_changes_nothing_and_loses_nothing(
    is_kept: bool, server: Server, client: LangGraphClient
) -> None:
    asked = await run(client, input={**IN_COMMAND, "sources": sources(server)})
    shown: Any = (await client.threads.get_state(asked.thread_id))["checkpoint"]
    if not is_kept:
        shown = {**shown, "checkpoint_id": MISSING}
    await run(client, asked.thread_id, command={"resume": {"decisions": [{"type": "reject", "message": "again"}]}})
    before: Any = await client.threads.get_state(asked.thread_id)
    with pytest.raises(ConflictError, match="answered meanwhile"):
        await run(client, asked.thread_id, command={"resume": {"decisions": [{"type": "approve"}]}}, checkpoint=shown)

    after: Any = await client.threads.get_state(asked.thread_id)
    assert (after["values"], after["checkpoint"]) == (before["values"], before["checkpoint"])
    noted = await run(
        client, asked.thread_id, input={"messages": [{"role": "user", "content": "yes"}]}, checkpoint=shown
    )
    told = [one["content"] for one in noted.state["messages"]]
    assert "Taken as your answer to “Carry out this plan of 1 task?”: approved." in told


async def test_bad_input_comes_back_as_one_line_that_says_what_to_do(client: LangGraphClient) -> None:
    assert (await run(client, input={"query": " "})).errors == ["the request is empty; say what is to be done"]


async def test_a_thread_can_be_copied_and_goes_on_with_another_question(client: LangGraphClient) -> None:
    first = await run(client, input={"query": "What is 12 times 3?"})
    answer = await client.http.post(f"/threads/{first.thread_id}/copy", json=None)  # the SDK's own drops the answer
    second = await run(client, answer["thread_id"], input={"query": "What is 7 times 7?"})

    assert "36" in first.state["report"]
    assert "49" in second.state["report"]
    assert [message["type"] for message in second.state["messages"]] == ["human", "ai", "human", "ai"]


@pytest.mark.parametrize("asked", ["graph", "graph?xray=true", "schemas", "subgraphs", "subgraphs?recurse=true"])
async def test_pages_get_the_drawing_the_schemas_and_the_subgraphs_of_the_supervisor(
    asked: str, server: Server, client: LangGraphClient
) -> None:
    [assistant] = await client.assistants.search(graph_id="supervisor")
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as pages:
        answer = await pages.get(f"/assistants/{assistant['assistant_id']}/{asked}")

    assert (answer.status_code, bool(answer.json())) == (200, True)


@pytest.mark.campaign
async def test_a_question_that_a_page_marks_as_resolved_is_cancelled_and_the_run_goes_on_by_itself(
    client: LangGraphClient, server: Server
) -> None:
    asked = await run(client, input={**IN_COMMAND, "sources": sources(server)})
    await client.threads.update_state(asked.thread_id, None, as_node="__end__")
    async with asyncio.timeout(60):
        while not (waiting := (await client.threads.get(asked.thread_id))["interrupts"]):  # noqa: ASYNC110 # another process
            await asyncio.sleep(0.2)
    state: Any = (await client.threads.get_state(asked.thread_id))["values"]

    [[question]] = waiting.values()
    assert [approval["id"] for approval in question["value"]["approvals"]] == ["plan.1"]
    assert [text for text in state["warnings"] if text.startswith("Marked as resolved while this was asked: Carry out")]
    assert state["warnings"][-1] in [one["content"] for one in state["messages"]]


def test_the_server_met_no_blocking_call_and_misses_no_method_of_ours(server: Server) -> None:
    assert "Using custom checkpointer: ServedSaver" in server.log
    assert "BlockingError" not in server.log
    assert "checkpointer missing" not in server.log


@pytest.mark.campaign
async def test_follow_ups_are_typed_into_the_same_thread(server: Server, client: LangGraphClient) -> None:
    docs = str(written(server.folder / "docs"))

    async def talked(talk: tuple[Say, ...]) -> None:
        thread_id = ""
        for say in talk:
            given = {
                "messages": [{"role": "user", "content": say.request}],
                **({} if thread_id else {"sources": [docs]}),
            }
            heard = await run(client, thread_id, input=given)
            thread_id = heard.thread_id
            assert (heard.errors, heard.state["phase"]) == ([], "complete")
            check(say, heard.state["report"], [task["task"]["description"] for task in heard.state["tasks"]])

    await asyncio.gather(*map(talked, chosen(TALKS.values(), LENGTH)))


async def test_an_answer_comes_as_data_over_http_and_mcp_to_who_asks_for_it(
    server: Server, client: LangGraphClient
) -> None:
    lit = {"type": "object", "properties": {"lit_in": {"type": "integer"}}, "required": ["lit_in"]}
    asked: Any = {"query": QUESTION, "sources": [str(server.folder / "lamps.csv")], "schema": lit}
    (server.folder / "lamps.csv").write_text("lighthouse,lit in\nCape Morrow,1887\n", encoding="utf-8")
    async with http_client(server) as http, tools_of(http) as call:
        _, started = await call("start", **asked, wait_s=60)
        text, by_mcp = await call("report", thread_id=started["thread_id"])
    by_http = (await run(client, input=asked)).state

    assert "1887" in text
    for answered in (by_mcp, by_http):
        assert answered["data"] == {"lit_in": 1887}
        [lit_in] = answered["fields"]
        assert (lit_in["path"], lit_in["citations"][0]["place"]) == ("/lit_in", "r1")


@pytest.mark.parametrize("streaming", [True, pytest.param(False, marks=pytest.mark.campaign)])
async def test_an_agent_of_another_program_reads_what_we_do_and_is_asked_and_answers(
    streaming: bool, server: Server, client: LangGraphClient
) -> None:
    context: Any = {"sources": sources(server), "oversight": "in_the_loop"}
    assistant = await client.assistants.create("supervisor", name="Harbour", context=context)
    async with http_client(server) as http:
        cards = A2ACardResolver(http, server.url)
        own = await cards.get_agent_card()
        card = await cards.get_agent_card(f"/a2a/{assistant['assistant_id']}/.well-known/agent-card.json")
        other = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)

        async def says(text: str, **to: str) -> tuple[list[str], dict[str, str], str]:
            """The states it goes through, what to answer to, and the text of what it delivers."""
            message = new_text_message(text, role=Role.ROLE_USER, **to)
            parts = [part async for part in other.send_message(SendMessageRequest(message=message))]
            return read(parts)

        asked, task, _ = await says("When was the lighthouse of Cape Morrow lit? Then publish a note about it.")
        done, _, report = await says("yes", **task)
        _, _, later = await says("How many steps has it?", context_id=task["context_id"])

    assert (own.name, card.name) == ("Baton", "Harbour")
    assert {"answer", "researcher", "publisher"} <= {skill.id for skill in own.skills}
    assert (asked[-1], done[-1]) == ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED")
    assert ("1887" in report, "214 steps" in later) == (True, True)


def read(parts: list[StreamResponse]) -> tuple[list[str], dict[str, str], str]:
    """What an A2A client is told: states, the ids to answer to, the text of artifacts."""
    tasks = [part.task for part in parts if part.HasField("task")]
    changes = [part.status_update for part in parts if part.HasField("status_update")]
    made = [one for task in tasks for one in task.artifacts]
    made += [part.artifact_update.artifact for part in parts if part.HasField("artifact_update")]
    states = [TaskState.Name(one.state) for one in (*(task.status for task in tasks), *(one.status for one in changes))]
    ids = {"task_id": tasks[0].id, "context_id": tasks[0].context_id}
    return states, ids, "".join(map(get_artifact_text, made))


async def test_an_assistant_that_is_not_there_has_no_card(server: Server) -> None:
    async with http_client(server) as http:
        told = await http.get(f"/a2a/{MISSING}/.well-known/agent-card.json")

    assert (told.status_code, told.json()["detail"]) == (
        404,
        f"there is no assistant '{MISSING}'; leave it out for Baton's own",
    )
