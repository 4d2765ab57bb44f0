"""Plain async functions as agents: `async def run(brief, desk) -> str | dict`."""

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, cast

from langgraph.config import get_config
from pydantic import JsonValue, TypeAdapter, ValidationError

from nodes.agents.internals import run_of
from nodes.agents.interrupting import answering
from nodes.agents.job import Job
from nodes.agents.toolgate import ToolGate
from nodes.agents.tooluse import ToolUse
from nodes.runtime.aside import called
from nodes.runtime.desk import Desk
from state.brief import Brief
from state.errors import AgentFailed
from state.outcome import Outcome
from state.text import all_unicode
from state.usage import Usage

OUTCOME_KEYS = frozenset({"result", "confidence", "artifacts", "cost", "failed"})
"""A returned mapping with any of these is an outcome; any other is the result itself."""

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


async def run_function(job: Job, make_desk: Callable[[], Desk]) -> Outcome:
    """One try of a function agent; it gets a new desk each time it begins.

    Raises:
        Parked: it asks a human, by its desk or by LangGraph's `interrupt()`.
        AgentFailed: the function declared failure, or returned what is not an outcome; and whatever it raises itself.
    """

    async def work() -> object:
        return await called(job.spec.run, job.brief, make_desk())

    gate = ToolGate(job)
    used = ToolUse(gate, goes_on=False, own=(run_of(get_config()),))
    try:
        returned = await answering(job, work, gate, used.handlers)
    finally:
        await used.close()
    return outcome_of(returned, job.spec.name, job.brief)


def outcome_of(returned: object, agent: str, brief: Brief) -> Outcome:
    """What a function returned, as an outcome.

    Raises:
        AgentFailed: it declared failure, returned nothing, or something that is not plain JSON,
            or a cost that is none.
    """
    is_outcome = isinstance(returned, Mapping) and OUTCOME_KEYS & set(returned)
    fields: Mapping[str, Any] = cast(Mapping[str, Any], returned) if is_outcome else {"result": returned}
    if reason := fields.get("failed"):
        raise AgentFailed(str(reason), "declared")
    result = fields.get("result")
    is_nothing = result is None or (isinstance(result, str) and not result.strip())
    if is_nothing and not fields.get("artifacts"):
        raise AgentFailed("the agent returned nothing; return a text or a mapping with `result`", "invalid")
    try:
        used = Usage(cost=fields.get("cost") or 0.0)
        plain = all_unicode(_JSON.validate_python(result if result is not None else "", strict=True))
        if not 0 <= used.cost < inf:
            raise AgentFailed(f"the agent returned what is not an outcome: cost: {used.cost} is no price", "invalid")
        return Outcome(
            task_id=brief.task.id,
            agent=agent,
            status="done",
            result=plain,
            confidence=fields.get("confidence"),
            artifacts=fields.get("artifacts") or [],
            usage=used,
            iteration=brief.iteration,
        )
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'result'}: {e['msg']}" for e in error.errors()[:3])
        raise AgentFailed(f"the agent returned what is not an outcome: {wrong}", "invalid") from error
