"""Tools of MCP servers, tried on a real one."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from langchain_core.messages import ToolMessage

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, McpServer
from tests.conftest import ROOT
from tests.runs import opened, plan
from tests.servers.dev import free_port

SERVER = str(ROOT / "tests" / "servers" / "mcp_server.py")


def on_stdio(folder: Path) -> McpServer:
    return McpServer(command=sys.executable, args=[SERVER, str(folder)])


def keeper(server: McpServer) -> AgentSpec:
    return AgentSpec(name="ada", role="generalist", mcp={"notes": server})


def told(model: ScriptedModel) -> list[str]:
    return [str(message.text) for message in model.calls[-1].messages if isinstance(message, ToolMessage)]


async def test_an_agent_uses_the_tools_of_a_server_and_reads_its_errors(tmp_path: Path) -> None:
    calls = [{"name": "add", "args": {"a": 2, "b": 3}}, {"name": "fail", "args": {}}, {"name": "add", "args": {"a": 1}}]
    model = ScriptedModel([calls, "It is 5."])
    async with opened(keeper(on_stdio(tmp_path)), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == "It is 5."
    assert model.calls[0].tools == ["add", "delete_note", "wipe", "fail"]
    first, second, third = told(model)
    assert first == "5"
    assert "the notes are locked" in second
    assert "b" in third


async def test_tools_that_destroy_ask_first_by_their_name_or_by_the_servers_word(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    calls = [{"name": "delete_note", "args": {"name": "old"}, "id": "c1"}, {"name": "wipe", "args": {}, "id": "c2"}]
    model = ScriptedModel([calls, "Done."])
    async with opened(keeper(on_stdio(tmp_path)), model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        assert [question.action for question in waiting.approvals] == ["delete_note", "wipe"]
        assert (tmp_path / "old").exists()
        answers = dict(zip((question.id for question in waiting.approvals), ("approve", "reject"), strict=True))
        run = await sup.answer(waiting.thread_id, answers)

    assert run.status == "complete"
    assert not (tmp_path / "old").exists()


@pytest.fixture
def on_http(tmp_path: Path) -> Iterator[McpServer]:
    port = free_port()
    process = subprocess.Popen([sys.executable, SERVER, str(tmp_path), str(port)])
    try:
        until = time.monotonic() + 90
        while time.monotonic() < until:
            try:
                httpx.get(f"http://127.0.0.1:{port}/mcp", trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.1)  # another process starts
        yield McpServer(url=f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        process.wait(timeout=90)


async def test_a_server_may_be_a_url(on_http: McpServer) -> None:
    model = ScriptedModel([{"name": "add", "args": {"a": 2, "b": 3}}, "It is 5."])
    async with opened(keeper(on_http), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.tasks[0].result, told(model)) == ("It is 5.", ["5"])


async def test_a_server_that_does_not_answer_fails_the_task_with_its_name(tmp_path: Path) -> None:
    server = McpServer(command=str(tmp_path / "nothing"))
    async with opened(keeper(server), max_iterations=0, max_attempts=1) as sup:
        run = await asyncio.wait_for(sup.start("Q", plan=plan("a")), 30)

    assert run.status == "failed"
    assert "the MCP server 'notes' does not answer" in str(run.tasks[0].error)
