"""The desk as tools for model-driven agents: recruit, mail, team (in mode `supervisor`), delegate, transfer."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from pydantic import BaseModel, Field, create_model

from nodes.agents.delegation import NEEDS_APPROVAL, Delegations
from nodes.agents.invocation import Invocation
from nodes.policy.recruiting import may_delegate, may_transfer
from nodes.runtime.desk import Desk, Refusal
from state.agent import AgentSpec
from state.errors import ToolRefused
from state.record import Outcome


class _Recruit(BaseModel):
    role: str
    task: str
    wait: bool = False


class _Mail(BaseModel):
    to: str
    text: str
    tool_call_id: Annotated[str, InjectedToolCallId]


class _Team(BaseModel):
    pass


def coordination_tools(desk: Desk) -> list[BaseTool]:
    """The tools of one try of one task; what they take is written out, as it would be read off anew for each try."""

    @tool(args_schema=_Recruit)
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

    @tool(args_schema=_Mail)
    async def mail(to: str, text: str, tool_call_id: str) -> str:
        """Send a message to an agent, a role, the agent of a task, or `all`: they read it before their next step."""
        if problem := desk.mail(to, text, key=tool_call_id):
            raise ToolRefused(problem)
        return f"sent to {to}"

    @tool(args_schema=_Team)
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


DELEGATE = "delegate_to_agent"


def delegation_tools(invocation: Invocation, delegations: Delegations) -> list[BaseTool]:
    """What the agent gets of both: as far as it names others, the policy allows it, and there is depth left.

    Who works for another agent hands nothing over: that one waits for the result.
    """
    run = invocation.execution.run
    tools: list[BaseTool] = []
    if may_delegate(invocation.spec, invocation.chain, run.depth_limit, run.policy):
        workers = [run.services.team.agent(name) for name in invocation.spec.workers]
        tools.append(_delegate_tool(workers, delegations, asks=run.policy.delegation == "needs_approval"))
    if invocation.spec.handoffs and not invocation.chain and may_transfer(invocation.tried, run.depth_limit):
        tools.append(_transfer_tool([run.services.team.agent(name) for name in invocation.spec.handoffs], delegations))
    return tools


def _delegate_tool(workers: Sequence[AgentSpec], delegations: Delegations, *, asks: bool) -> BaseTool:
    async def delegate(worker_agent: str, task: str, tool_call_id: str, constraints: str = "") -> str:
        made = await delegations.delegate(worker_agent, task, constraints, tool_call_id, is_allowed=asks)
        if made.status != "done":
            raise ToolRefused(f"{worker_agent} did not deliver: {described(made)}")
        return described(made)

    schema = create_model(
        "DelegateToAgent",
        worker_agent=(_one_of(workers), Field(description="Who shall do it")),
        task=(str, Field(description="What to do, in words that can be understood without anything else")),
        constraints=(str, Field(default="", description="What the worker has to respect: scope, form, limits")),
        tool_call_id=(Annotated[str, InjectedToolCallId], ...),
    )
    return StructuredTool.from_function(
        coroutine=delegate,
        name=DELEGATE,
        description=(
            "Have one of your workers do a part of your task and get its result; you keep the task. Call it several "
            f"times in one turn to have parts done in parallel. Your workers:\n{_roster(workers)}"
        ),
        args_schema=schema,
        metadata={"ask": NEEDS_APPROVAL} if asks else None,
    )


def _transfer_tool(targets: Sequence[AgentSpec], delegations: Delegations) -> BaseTool:
    async def transfer(agent: str, note: str = "") -> str:
        delegations.transfer(agent, note)

    schema = create_model(
        "TransferToAgent",
        agent=(_one_of(targets), Field(description="Who shall finish the task")),
        note=(str, Field(default="", description="What you found out so far, for whoever goes on")),
    )
    return StructuredTool.from_function(
        coroutine=transfer,
        name="transfer_to_agent",
        description=f"Hand your task over for good; you get nothing back. It can go to:\n{_roster(targets)}",
        args_schema=schema,
    )


def _one_of(agents: Sequence[AgentSpec]) -> Any:
    return Literal[tuple(agent.name for agent in agents)]


def _roster(agents: Sequence[AgentSpec]) -> str:
    return "\n".join(f"- {agent.name} ({agent.role}): {agent.specialty or agent.role}" for agent in agents)
