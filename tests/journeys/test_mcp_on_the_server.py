"""An agent with an MCP server over stdio on a real `langgraph dev`; its model speaks OpenAI's protocol."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.conftest import ROOT
from tests.runs import plan
from tests.servers.dev import Server, client_of, serving_the_checkout
from tests.servers.openai_stub import Behaviour, OpenAIStub, Request, Say

ARGS = {"a": 19, "b": 23}
NO_ROUNDS = {"max_iterations": 0}


def clerk(request: Request) -> Behaviour:
    """Adds and forgets a note, in one turn; then says what its tools said."""
    told = [block["text"] for one in request.body["messages"] if one["role"] == "tool" for block in one["content"]]
    if not told:
        return Say(calls=[("add", ARGS), ("delete_note", {"name": "old"})])
    return Say(f"They said: {' / '.join(told)}\nConfidence: 0.9")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves the checkout with two agents: the notes of one lie in the server's folder, those of the other nowhere."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "old").touch()
    command = [str(ROOT / "tests" / "servers" / "mcp_server.py"), str(folder)]
    notes = {"command": sys.executable, "args": command}
    nowhere = {"command": str(folder / "nothing")}
    agents = [
        {"name": "ada", "role": "generalist", "mcp": {"notes": notes}},
        {"name": "bob", "role": "lost", "mcp": {"nowhere": nowhere}},
    ]
    (folder / "team.yaml").write_text(json.dumps({"agents": agents}), encoding="utf-8")
    with (
        OpenAIStub(clerk) as stub,
        serving_the_checkout(
            folder, BATON_TEAM=str(folder / "team.yaml"), OPENAI_BASE_URL=stub.url, BATON_MODEL="stub-model"
        ) as served,
    ):
        yield served


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    async with client_of(server.url) as client:
        yield client


async def asked(client: LangGraphClient, thread_id: str) -> Any:
    """What the thread asks now."""
    waiting: Any = (await client.threads.get(thread_id))["interrupts"]
    found = [item["value"] for items in waiting.values() for item in items]
    return found[0] if found else None


async def test_its_tools_are_called_and_those_that_destroy_ask_first(server: Server, client: LangGraphClient) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    given: Any = {"query": "What is 19 and 23?", "plan": plan("a"), "policy": NO_ROUNDS}
    await client.runs.wait(thread_id, "supervisor", input=given)
    question = await asked(client, thread_id)
    assert [request["name"] for request in question["action_requests"]] == ["delete_note"]
    assert (server.folder / "old").exists()
    ended: Any = await client.runs.wait(
        thread_id, "supervisor", command={"resume": {"decisions": [{"type": "approve"}]}}
    )

    assert ended["phase"] == "complete"
    [task] = ended["tasks"]
    assert task["outcome"]["result"] == "They said: 42 / old is gone"
    assert not (server.folder / "old").exists()
    assert "BlockingError" not in server.log


async def test_a_server_that_does_not_start_fails_the_task_in_a_line(server: Server, client: LangGraphClient) -> None:
    given: Any = {"query": "Q", "plan": plan({"id": "b", "role": "lost"}), "policy": {**NO_ROUNDS, "max_attempts": 1}}
    ended: Any = await client.runs.wait(None, "supervisor", input=given)

    assert "the MCP server 'nowhere' does not answer" in ended["tasks"][0]["outcome"]["failure"]["message"]
    assert "BlockingError" not in server.log
