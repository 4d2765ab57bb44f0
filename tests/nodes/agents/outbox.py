"""Sensitive tools for tests: what was really done is in the outbox."""

from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import JsonValue

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.run import Run


class Outbox:
    """What was really done, by tools that are marked as given."""

    def __init__(self, **marks: Any) -> None:
        self.done: list[str] = []
        self.marks = {"sensitive": True, **marks}

    def tools(self) -> list[BaseTool]:
        return [self.post(), self.post_in_a_thread(), self.look()]

    def post(self) -> BaseTool:
        @tool
        async def post(to: str) -> str:
            """Post it."""
            self.done.append(f"post {to}")
            return f"posted to {to}"

        post.metadata = dict(self.marks)
        return post

    def post_in_a_thread(self) -> BaseTool:
        @tool
        def mail(to: str) -> str:
            """Mail it."""
            self.done.append(f"mail {to}")
            return f"mailed to {to}"

        mail.metadata = dict(self.marks)
        return mail

    def look(self) -> BaseTool:
        @tool
        async def look(at: str) -> str:
            """Look at it."""
            self.done.append(f"look {at}")
            return f"saw {at}"

        return look


def call(name: str, **args: str) -> dict[str, Any]:
    return {"name": name, "args": args, "id": f"{name} {' '.join(args.values())}"}


def told(model: ScriptedModel) -> list[str]:
    """What its tools have told a model, before its last call."""
    return [str(message.text) for message in model.calls[-1].messages if isinstance(message, ToolMessage)]


def own(run: Any) -> AgentSpec:
    return AgentSpec(name="own", role="own", run=run)


async def answered(sup: Supervisor, run: Run, **answers: JsonValue) -> Run:
    """The run after each question was answered by its `to`, one after the other."""
    for question in run.approvals:
        run = await sup.answer(run.thread_id, {question.id: answers[str(question.args["to"])]}, by="ana")
    return run
