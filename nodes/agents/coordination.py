"""The desk as tools, for agents that a chat model drives: recruit, mail, team. Only in mode `supervisor`."""

from typing import Annotated

from langchain_core.tools import BaseTool, InjectedToolCallId, tool

from nodes.runtime.desk import Desk, Refusal
from state.errors import ToolRefused
from state.outcome import Outcome


def coordination_tools(desk: Desk) -> list[BaseTool]:
    """The tools of one try of one task."""

    @tool
    async def recruit(role: str, task: str, wait: bool = False) -> str:
        """Get somebody of a role to do an additional task, beside what is running.

        Use it when the task needs work that nobody on the team is doing. `wait`: come back with the result.
        """
        made = await desk.recruit(role, task)
        if isinstance(made, Refusal):
            raise ToolRefused(f"not recruited: {made!s}")
        return (
            described(await desk.result(made)) if wait else f"task {made} was given to a {role}; it runs beside yours"
        )

    @tool
    async def mail(to: str, text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Send a message to an agent, a role, the agent of a task, or `all`: they read it before their next step."""
        if problem := desk.mail(to, text, key=tool_call_id):
            raise ToolRefused(problem)
        return f"sent to {to}"

    @tool
    async def team() -> str:
        """List the team: who there is, what they do, and whether they are busy."""
        return "\n".join(f"{m.agent} ({m.role}): {m.status}, tasks: {', '.join(m.tasks) or '-'}" for m in desk.team())

    return [recruit, mail, team]


def described(outcome: Outcome) -> str:
    """What came of a task, for a model to read."""
    if outcome.status == "done":
        return outcome.text
    why = outcome.failure.message if outcome.failure else outcome.status
    return f"task {outcome.task_id} was not done: {why}"
