"""Tool calls are told apart by what they do: ids are the model's, and prove nothing."""

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from nodes.agents.tool_calls import open_calls, with_edits
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from tests.runs import opened, plan


def said(*calls: tuple[str, dict[str, Any], str]) -> AIMessage:
    return AIMessage("", id="m", tool_calls=[{"name": n, "args": a, "id": i, "type": "tool_call"} for n, a, i in calls])


def marks(*messages: AnyMessage) -> list[str]:
    return [mark for _, mark in open_calls(messages)]


def test_the_same_call_has_the_same_mark_whatever_its_id_and_the_order_of_its_arguments() -> None:
    first = marks(said(("send", {"to": "bob", "text": "x"}, "c1")))
    assert first == marks(HumanMessage("Go."), said(("send", {"text": "x", "to": "bob"}, "c2")))
    assert first != marks(said(("send", {"to": "eve", "text": "x"}, "c1")))
    assert first != marks(said(("post", {"to": "bob", "text": "x"}, "c1")))


def test_a_call_that_comes_again_is_another_one() -> None:
    call = ("send", {"to": "bob"}, "c1")
    once = marks(said(call))
    twice = marks(said(call), ToolMessage("sent", tool_call_id="c1"), said(("send", {"to": "bob"}, "c2")))
    assert twice == [f"{once[0]}.2"]
    assert marks(said(call, ("send", {"to": "bob"}, "c2"))) == [*once, *twice]


def test_only_what_has_no_answer_is_open() -> None:
    reply = said(("send", {"to": "bob"}, "c1"), ("send", {"to": "eve"}, "c2"))
    [(call, _)] = open_calls([reply, ToolMessage("sent", tool_call_id="c1")])
    assert call["args"] == {"to": "eve"}
    assert open_calls([HumanMessage("Go.")]) == []


def test_an_edited_call_keeps_the_mark_it_was_proposed_with() -> None:
    reply = said(("send", {"to": "bob"}, "c1"))
    edited = with_edits(reply, {"c1": {"to": "eve"}})
    assert (edited.id, edited.tool_calls[0]["args"]) == ("m", {"to": "eve"})
    assert marks(edited) == marks(reply)
    proposed_again = marks(edited, ToolMessage("sent", tool_call_id="c1"), said(("send", {"to": "bob"}, "c2")))
    assert proposed_again == [f"{marks(reply)[0]}.2"]


def sender(sent: list[str]) -> BaseTool:
    @tool
    async def send_mail(to: str) -> str:
        """Send it."""
        sent.append(to)
        return f"sent to {to}"

    return send_mail


async def test_a_yes_to_one_call_is_none_to_another_with_the_same_id() -> None:
    sent: list[str] = []
    script = [{"name": "send_mail", "args": {"to": to}, "id": "c1"} for to in ("bob", "eve", "bob")]
    worker = AgentSpec(name="ada", role="generalist", tools=[sender(sent)])
    async with opened(worker, model=ScriptedModel([*script, "Done."]), max_iterations=0) as sup:
        run = await sup.start("Q", thread_id="t", plan=plan("a"))
        for before in ([], ["bob"], ["bob", "eve"]):
            assert (run.status, sent) == ("waiting", before)
            run = await sup.answer("t", {run.approvals[0].id: True})

    assert (run.status, sent) == ("complete", ["bob", "eve", "bob"])


async def test_the_conversation_shows_what_was_edited_and_not_what_was_proposed() -> None:
    sent: list[str] = []
    model = ScriptedModel([{"name": "send_mail", "args": {"to": "bob"}, "id": "c1"}, "Done."])
    worker = AgentSpec(name="ada", role="generalist", tools=[sender(sent)])
    async with opened(worker, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", thread_id="t", plan=plan("a"))
        await sup.answer("t", {run.approvals[0].id: {"type": "edit", "args": {"to": "eve"}}})

    shown = [call["args"] for message in model.calls[-1].messages if isinstance(message, AIMessage)
             for call in message.tool_calls]  # fmt: skip
    assert (sent, shown) == (["eve"], [{"to": "eve"}])
