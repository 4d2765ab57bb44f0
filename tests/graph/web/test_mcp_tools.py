"""The server's tools for other programs' models, by the protocol's own client: start, status, answer, report."""

import asyncio
from typing import Any

import pytest

from graph.web.mcp_tools import TOOLS
from nodes.llm.scripted import ScriptedModel
from state.agent import Brief
from tests.graph.web.test_room import room
from tests.runs import agent, plan
from tests.servers.mcp_client import session_of, tools_of


async def asks(brief: Brief, desk: Any) -> str:
    """Asks before each launch."""
    answer = await desk.ask("launch", {"name": brief.task.id}, risk="high")
    return f"{answer.type}: {(answer.args or {}).get('name', '')} {answer.message}".strip()


def planning(*tasks: str) -> ScriptedModel:
    """Plans these tasks."""
    return ScriptedModel([plan(*tasks)])


async def test_a_model_finds_four_tools_which_say_what_they_take_and_give() -> None:
    async with room(agent(asks)) as (client, _), session_of(client) as session:
        tools = (await session.list_tools()).tools

    assert [tool.name for tool in tools] == [*TOOLS] == ["start", "status", "answer", "report"]
    assert [bool(tool.annotations and tool.annotations.readOnlyHint) for tool in tools] == [False, True, False, True]
    takes = {tool.name: tool.inputSchema["properties"] for tool in tools}
    assert all(field.get("description") for name in ("start", "answer") for field in takes[name].values())
    assert {tool.outputSchema["title"] for tool in tools if tool.outputSchema} == {"Standing", "Report"}


async def test_a_request_is_started_its_questions_are_answered_and_its_report_is_read() -> None:
    async with room(agent(asks), model=planning("a", "b")) as (client, sup), tools_of(client) as call:
        _, asked = await call("start", query="Launch both.", wait_s=30)
        thread = asked["thread_id"]
        while asked["status"] == "running":  # one may be asked before the other
            _, asked = await call("status", thread_id=thread)
        early, _ = await call("report", thread_id=thread)
        which, _ = await call("answer", thread_id=thread, decision="approve")
        edited = {"decision": "edit", "args": {"name": "two"}, "by": "ana"}
        _, half = await call("answer", thread_id=thread, question="a.0.q1", **edited)
        _, ended = await call("answer", thread_id=thread, decision="reject", message="not today", wait_s=30)
        text, report = await call("report", thread_id=thread)
        (entries, broken) = await sup.audit(thread)

    assert (asked["status"], asked["done"], asked["tasks"]) == ("waiting", 0, 2)
    assert [(one["title"], one["risk"], one["args"]) for one in asked["questions"]] == [
        ("Launch a?", "high", {"name": "a"}),
        ("Launch b?", "high", {"name": "b"}),
    ]
    assert early == f"the run on '{thread}' is waiting: {asked['next']}"
    assert which == f"on '{thread}' open are a.0.q1, b.0.q1: say which"
    assert [one["id"] for one in half["questions"]] == ["b.0.q1"]
    assert (ended["status"], ended["questions"], ended["next"]) == ("complete", [], "read it with `report`")
    assert (report["status"], [part in text for part in ("edit: two", "reject:  not today")]) == (
        "complete",
        [True] * 2,
    )
    assert [(one.decision, one.by) for one in entries if one.kind == "answered"] == [
        ("edit", "ana"),
        ("reject", "an MCP client"),
    ]
    assert not broken


async def test_whoever_waits_is_told_how_far_it_is_and_others_go_on_waiting() -> None:
    goes_on = asyncio.Event()

    async def works(brief: Brief, desk: Any) -> str:
        if brief.task.id == "b":
            await goes_on.wait()
        return f"{brief.task.id} is done"

    told = list[tuple[float, str | None]]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with room(agent(works), model=planning("a", "b <- a")) as (client, _), session_of(client) as session:
        started = await session.call_tool("start", {"query": "Do both.", "wait_s": 0})
        which = {"thread_id": (started.structuredContent or {})["thread_id"], "wait_s": 0.1}
        looked = started
        while (looked.structuredContent or {})["done"] == 0:
            looked = await session.call_tool("status", which)
        looked = await session.call_tool("status", which, progress_callback=hear)
        goes_on.set()
        ended = await session.call_tool("status", {**which, "wait_s": 30})

    assert (looked.structuredContent or {})["at_work"] == ["ada: Do b."]
    assert told == [(1, "1 of 2 tasks done")]
    assert (ended.structuredContent or {})["status"] == "complete"


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("start", {"query": ""}, "non-empty"),
        ("start", {"query": " "}, "the request is empty"),
        ("start", {"query": "x", "polcy": {}}, "'polcy' was unexpected"),
        ("start", {"query": "x", "sources": ["/no/such/file"]}, "/no/such/file"),
        ("status", {"thread_id": "none"}, "there is no thread 'none'"),
        ("answer", {"thread_id": "none", "decision": "approve"}, "there is no thread 'none'"),
        ("answer", {"thread_id": "none", "decision": "perhaps"}, "'perhaps' is not one of"),
        ("report", {}, "'thread_id' is a required property"),
        ("stop", {}, "there is no tool 'stop'; there are: start, status, answer, report"),
    ],
)
async def test_what_cannot_be_done_is_said_in_one_line(name: str, given: dict[str, Any], why: str) -> None:
    async with room(agent(asks)) as (client, _), tools_of(client) as call:
        text, told = await call(name, **given)

    assert why in text
    assert (told, "\n" in text.strip()) == ({}, False)


async def test_only_posts_are_answered() -> None:
    async with room() as (client, _):
        assert [(await client.request(method, "/mcp")).status_code for method in ("GET", "DELETE")] == [405, 405]
