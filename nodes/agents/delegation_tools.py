"""Delegating and handing over as tools, for agents that a chat model drives."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from pydantic import Field, create_model

from nodes.agents.coordination import described
from nodes.agents.delegation import NEEDS_APPROVAL, Delegations
from nodes.agents.job import Job
from nodes.policy.delegating import may_delegate, may_transfer
from state.agent import AgentSpec
from state.errors import ToolRefused

DELEGATE = "delegate_to_agent"


def delegation_tools(job: Job, delegations: Delegations) -> list[BaseTool]:
    """What the agent gets of both: as far as it names others, the policy allows it, and there is depth left.

    Who works for another agent hands nothing over: that one waits for the result.
    """
    run = job.floor.run
    tools: list[BaseTool] = []
    if may_delegate(job.spec, job.chain, run.ceiling, run.policy):
        workers = [run.services.team.agent(name) for name in job.spec.workers]
        tools.append(_delegate_tool(workers, delegations, asks=run.policy.delegation == "needs_approval"))
    if job.spec.handoffs and not job.chain and may_transfer(job.tried, run.ceiling):
        tools.append(_transfer_tool([run.services.team.agent(name) for name in job.spec.handoffs], delegations))
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
