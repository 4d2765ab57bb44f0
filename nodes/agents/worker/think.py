"""One model call: what to do next, or the answer."""

from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from nodes.agents.worker.bench import Bench, WorkerState
from nodes.llm.ask import ask, usage_of
from state.errors import ModelFailed, ModelUnavailable
from state.outcome import Failure
from state.supervisor import Update
from state.usage import Usage

LAST_CALL = "This is your last turn: call no more tools and answer with what you have."


async def think(state: WorkerState, runtime: Runtime[Bench]) -> Update:
    """Ask the agent's model; at its limit of iterations, for an answer without tools."""
    bench = runtime.context
    thoughts = state.get("thoughts", 0) + 1
    limit = bench.spec.limits.iterations
    last = thoughts >= limit
    messages: list[AnyMessage] = list(state["messages"])
    if last and thoughts > 1:
        messages.append(HumanMessage(LAST_CALL))
    try:
        reply = await ask(bench.model, messages, tools=[] if last and thoughts > 1 else bench.tools)
    except ModelFailed as error:
        passing = isinstance(error, ModelUnavailable)
        failure = Failure(kind="transient" if passing else "rejected", message=str(error))
        return {"failure": failure.model_dump(mode="json")}
    used = Usage.model_validate(state.get("usage") or {}) + usage_of(reply)
    limited = f"it reached its limit of {limit} model calls" if last and thoughts > 1 else ""
    return {
        "messages": [reply],
        "thoughts": thoughts,
        "usage": used.model_dump(mode="json"),
        "limited": limited,
        "failure": None,
    }


def after_think(state: WorkerState) -> Literal["act", "conclude"]:
    """Tools, if the model asked for some; otherwise it is done."""
    if state.get("failure") or state.get("limited"):
        return "conclude"
    last = state["messages"][-1]
    wants = isinstance(last, AIMessage) and bool(last.tool_calls or last.invalid_tool_calls)
    return "act" if wants else "conclude"
