"""What a graph's tools have done is undone with the rest, where the team has the tool that undoes it."""

from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, tool

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.signal import Cancel
from tests.journeys.acts import sender
from tests.journeys.doom import THREAD, note, notes
from tests.runs import opened, plan

SENT = "sent hello to bob"


def unsender(folder: Path) -> BaseTool:
    @tool
    async def unsend(to: str) -> str:
        """Take a note back."""
        note(folder, f"unsent {to}")
        return f"taken back from {to}"

    return unsend


@pytest.mark.parametrize(("has_undo", "log"), [(True, [SENT, "unsent bob"]), (False, [SENT])])
async def test_it_is_taken_back_if_the_team_can(tmp_path: Path, has_undo: bool, log: list[str]) -> None:
    turns = [{"name": "send_note", "args": {"to": "bob"}}, {"name": "send_note", "args": {"to": "eve"}}, "Done."]
    graph = create_agent(ScriptedModel(turns), [sender(tmp_path)])
    tools = [unsender(tmp_path)] if has_undo else []
    async with opened(AgentSpec(name="ada", role="generalist", run=graph, tools=tools), max_iterations=0) as sup:
        first = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        waiting = await sup.answer(THREAD, {first.approvals[0].id: "approve"}, by="ana")
        assert (waiting.status, notes(tmp_path)) == ("waiting", [SENT])
        run = await sup.signal(THREAD, Cancel(rollback=True, by="ana"))

    assert (run.status, notes(tmp_path)) == ("cancelled", log)
