"""LangChain Runnables as agents: a chain, a chat model, anything with `ainvoke`."""

from langchain_core.language_models import BaseChatModel

from nodes.agents.functions import outcome_of
from nodes.agents.given import given_to, result_of
from nodes.agents.interrupting import answering
from nodes.agents.job import Job
from nodes.agents.metered import Metered
from nodes.agents.toolgate import ToolGate
from nodes.agents.tooluse import ToolUse
from state.outcome import Outcome


async def run_runnable(job: Job) -> Outcome:
    """One try. A chat model gets the messages, anything else `{"messages": [...], "task": {...}}`.

    Raises:
        Parked: it asks by LangGraph's `interrupt()`.
        AgentFailed: it returned what is not an outcome, or the run's budget had no room for one of its model calls.
    """
    given, metered, gate = given_to(job), Metered(job), ToolGate(job)
    used = ToolUse(gate, goes_on=False)
    told = {"callbacks": [*metered.handlers, *used.handlers]}
    try:
        entry = given["messages"] if isinstance(job.spec.run, BaseChatModel) else given
        answer = await answering(job, lambda: job.spec.run.ainvoke(entry, told), gate)
    finally:
        await metered.close()
        await used.close()
    outcome = outcome_of(result_of(answer), job.spec.name, job.brief)
    await job.floor.meter.settle(job.ledger_task, job.spec.name, outcome.usage)
    return outcome.model_copy(update={"usage": outcome.usage + metered.used})
