"""Whatever an agent is and whatever it does, the run goes on without it and says what happened."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from graph.app import build_supervisor
from nodes.agents.worker.act import STOPPED_FROM
from nodes.llm.scripted import Delay, ScriptedModel
from state.agent import AgentSpec, Brief, Limits
from state.event import Event
from state.replies import PlanDraft, TaskDraft
from state.run import Run
from tests.runs import agent, opened, plan, statuses

BAD = {"id": "bad", "role": "bad", "required": False}
MUCH = 50_000_000
FREE = threading.Event()
SOON = Limits(timeout_s=0.5)
HAMMER = {"name": "hammer", "args": {}}
LOOK_AT_SIGNALS = {"name": "look", "args": {}}
NOTHING = "the agent returned nothing"
TOO_LATE = "no result within 0.5 seconds"
PLANNED = PlanDraft(tasks=[TaskDraft(id="inner", description="Do it.")], complexity=0.5)


@tool
def look() -> str:
    """Look."""
    return "nothing yet"


@dataclass(frozen=True)
class Case:
    """One agent that misbehaves."""

    run: Any = None
    model: Any = field(default_factory=list)
    """What the run's model says, for an agent that it drives."""
    limits: Limits = field(default_factory=Limits)
    reason: str = ""
    """What is reported; empty where it delivers all the same."""
    result: str = ""
    size: int = 0
    """Bytes of the artifact that its result goes to."""


def function(returned: Callable[[], Any]) -> Any:
    async def run(brief: Brief, desk: Any) -> Any:
        made = returned()
        return await made if asyncio.iscoroutine(made) else made

    return run


def in_a_thread(returned: Callable[[], Any]) -> Any:
    def run(brief: Brief, desk: Any) -> Any:
        return returned()

    return run


def runnable(returned: Callable[[], Any]) -> Any:
    async def run(given: Any) -> Any:
        made = returned()
        return await made if asyncio.iscoroutine(made) else made

    return RunnableLambda(run)


def graph(returned: Callable[[], Any]) -> Any:
    async def think(state: MessagesState) -> dict[str, Any]:
        made = returned()
        made = await made if asyncio.iscoroutine(made) else made
        return {"messages": [("ai", made)]} if made else {"messages": []}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_edge(START, "think")
    return builder.compile()


def made_agent(*script: Any) -> Any:
    return create_agent(ScriptedModel(list(script)), [look])


def tool_node(*script: Any) -> Any:
    model = ScriptedModel(list(script))

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile()


def nested(*script: Any, run: Any = None) -> Any:
    """A supervisor whose only agent misbehaves: a function, or one that its model drives."""
    inner = AgentSpec(name="inner", role="generalist", run=run, tools=["calculate"])
    policy: Any = {"max_iterations": 0, "max_attempts": 1}
    return build_supervisor([inner], policy=policy, model=ScriptedModel([PLANNED, *script]))


def circles() -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("round", lambda state: {"messages": []})
    builder.add_edge(START, "round")
    builder.add_edge("round", "round")
    return builder.compile().with_config({"recursion_limit": 20})


def raises() -> Any:
    raise KeyError("ships")


def hangs() -> Any:
    return asyncio.Event().wait()


def hangs_in_a_thread() -> Any:
    FREE.wait()


def nothing() -> Any:
    return None


def much() -> Any:
    return "x" * MUCH


CALCULATE = {"name": "calculate", "args": {"expression": "1+1"}}
SAME = [LOOK_AT_SIGNALS] * 40
STOPPED = f"it was stopped: it called calculate {STOPPED_FROM} times with the same arguments"
FEW = Limits(iterations=9)
LIMITED = "it reached 9 calls without an answer"

CASES: dict[str, Callable[[], Case]] = {
    "a function that raises": lambda: Case(function(raises), reason="KeyError: 'ships'"),
    "a function in a thread that raises": lambda: Case(in_a_thread(raises), reason="KeyError: 'ships'"),
    "a Runnable that raises": lambda: Case(runnable(raises), reason="KeyError: 'ships'"),
    "a graph that raises": lambda: Case(graph(raises), reason="KeyError: 'ships'"),
    "create_agent that raises": lambda: Case(made_agent(KeyError("ships")), reason="KeyError: 'ships'"),
    "a supervisor that raises": lambda: Case(nested(run=function(raises)), reason="KeyError: 'ships'"),
    "a worker that raises": lambda: Case(model=[KeyError("ships")], reason="ships"),
    "a function that hangs": lambda: Case(function(hangs), limits=SOON, reason=TOO_LATE),
    "a function in a thread that hangs": lambda: Case(in_a_thread(hangs_in_a_thread), limits=SOON, reason=TOO_LATE),
    "a Runnable that hangs": lambda: Case(runnable(hangs), limits=SOON, reason=TOO_LATE),
    "a graph that hangs": lambda: Case(graph(hangs), limits=SOON, reason=TOO_LATE),
    "create_agent that hangs": lambda: Case(made_agent(Delay(600, "late")), limits=SOON, reason=TOO_LATE),
    "a supervisor that hangs": lambda: Case(nested(run=function(hangs)), limits=SOON, reason=TOO_LATE),
    "a worker that hangs": lambda: Case(model=[Delay(600, "late")], limits=SOON, reason=TOO_LATE),
    "a function that returns nothing": lambda: Case(function(nothing), reason=NOTHING),
    "a function in a thread that returns nothing": lambda: Case(in_a_thread(nothing), reason=NOTHING),
    "a function that returns an empty text": lambda: Case(function(lambda: " \n"), reason=NOTHING),
    "a Runnable that returns nothing": lambda: Case(runnable(nothing), reason=NOTHING),
    "a graph that says nothing": lambda: Case(graph(lambda: " "), reason=NOTHING),
    "create_agent that returns nothing": lambda: Case(made_agent(""), reason=NOTHING),
    "a supervisor that returns nothing": lambda: Case(nested(run=function(nothing)), reason=NOTHING),
    "a worker that returns nothing": lambda: Case(model=[""], reason="the agent gave an empty answer"),
    "a function that returns 50 MB": lambda: Case(function(much), size=MUCH),
    "a function in a thread that returns 50 MB": lambda: Case(in_a_thread(much), size=MUCH),
    "a Runnable that returns 50 MB": lambda: Case(runnable(much), size=MUCH),
    "a graph that returns 50 MB": lambda: Case(graph(much), size=MUCH),
    "create_agent that returns 50 MB": lambda: Case(made_agent("x" * MUCH), size=MUCH),
    "a supervisor that returns 50 MB": lambda: Case(nested(run=function(much)), size=MUCH),
    "a worker that returns 50 MB": lambda: Case(model=["x" * MUCH], size=MUCH),
    "a worker that states a million things": lambda: Case(
        model=["- a [f#L1]\n" * 1_000_000], size=10_999_999, limits=Limits(timeout_s=120)
    ),
    "a graph that calls a tool that does not exist": lambda: Case(tool_node(HAMMER, "So."), result="So."),
    "create_agent that calls a tool that does not exist": lambda: Case(made_agent(HAMMER, "So."), result="So."),
    "a supervisor that calls a tool that does not exist": lambda: Case(nested(HAMMER, "So."), result="So."),
    "a worker that calls a tool that does not exist": lambda: Case(model=[HAMMER, "So."], result="So."),
    "a graph that calls the same tool forever": lambda: Case(tool_node(*SAME), limits=FEW, reason=LIMITED),
    "create_agent that calls the same tool forever": lambda: Case(made_agent(*SAME), limits=FEW, reason=LIMITED),
    "a supervisor that calls the same tool forever": lambda: Case(nested(*[CALCULATE] * 40), reason=STOPPED),
    "a worker that calls the same tool forever": lambda: Case(model=[CALCULATE] * 40, reason=STOPPED),
    "a graph that goes in circles": lambda: Case(circles(), reason="its graph went on without end"),
}


async def beside(case: Case) -> tuple[Run, list[Event]]:
    """A run in which an agent misbehaves beside two that do not."""
    bad = AgentSpec(name="bad", role="bad", run=case.run, tools=["calculate"], limits=case.limits)
    model = ScriptedModel(case.model)
    async with opened(agent(), bad, model=model, max_iterations=0, max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan("x", BAD, "y <- x"))
        return run, await sup.events(run.thread_id)


LARGE = ("50 MB", "a million things")
"""What takes seconds: `make test` tries one of them, a function's."""


def _marked(name: str) -> Any:
    is_long = name.endswith(LARGE) and name != "a function that returns 50 MB"
    return pytest.param(name, marks=pytest.mark.campaign) if is_long else name


@pytest.mark.parametrize("name", [_marked(name) for name in CASES])
async def test_it_is_contained_and_reported_and_touches_no_other(name: str) -> None:
    case = CASES[name]()
    run, events = await beside(case)

    [ended] = [event for event in events if event.kind == "task_finished" and event.task_id == "bad"]
    status = "skipped" if case.reason else "done"
    assert (run.status, statuses(run)) == ("complete", {"x": "done", "bad": status, "y": "done"})
    assert case.reason in str(run.tasks[1].error)
    assert case.reason in str(ended.data.get("reason"))
    assert case.result in str(run.tasks[1].result)
    assert [artifact.bytes for artifact in run.artifacts] == ([case.size] if case.size else [])
    assert len(str(run.tasks[1].result)) < 5_000


async def test_a_model_is_told_which_tools_there_are() -> None:
    model = ScriptedModel([HAMMER, "So."])
    await beside(Case(create_agent(model, [look])))

    [told] = [str(message.text) for message in model.calls[-1].messages if isinstance(message, ToolMessage)]
    assert told == "Error: hammer is not a valid tool, try one of [look]."
