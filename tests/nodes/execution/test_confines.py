"""What asyncio would let one agent do to everybody, and what keeps it from that without touching the program around.

The event loop, its executor, its task factory and all loggers are those of whoever embeds Baton.
"""

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from graph.app import build_supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief, Limits
from state.replies import PlanDraft, TaskDraft
from state.run import Run
from tests.nodes.agents.outbox import Outbox, call
from tests.nodes.execution import leaving
from tests.runs import Turns, agent, opened, plan, statuses
from tests.servers import forks

LEAVE = {"name": "leave", "args": {}}


@tool
async def leave() -> str:
    """Leave."""
    sys.exit(3)


@tool("leave")
def leave_from_a_thread() -> str:
    """Leave."""
    sys.exit(3)


class Form(TypedDict, total=False):
    result: str


def graph_of(node: Any) -> Any:
    builder = StateGraph(Form)
    builder.add_node("only", node)
    builder.add_edge(START, "only")
    return builder.compile()


async def leaves_in_a_node(state: Form) -> Form:
    sys.exit(3)


def leaves_in_a_thread(state: Form) -> Form:
    sys.exit(3)


async def leaves_at_once(brief: Brief, desk: Any) -> str:
    sys.exit(3)


def leaves_from_its_thread(brief: Brief, desk: Any) -> str:
    raise SystemExit


async def leaves_in_a_thread_it_made(brief: Brief, desk: Any) -> str:
    return await asyncio.to_thread(sys.exit, 3)


def leaves_from_its_input(given: Any) -> str:
    sys.exit(3)


def agent_with(bad_tool: BaseTool) -> Any:
    return create_agent(ScriptedModel([LEAVE, "never said"]), [bad_tool])


def nested() -> Any:
    model = ScriptedModel([PlanDraft(tasks=[TaskDraft(id="x", description="X.")], complexity=0.5)])
    return build_supervisor([agent(leaves_at_once)], policy={"max_iterations": 0, "max_attempts": 1}, model=model)


WAYS: dict[str, Callable[[], Any]] = {
    "a node": lambda: graph_of(leaves_in_a_node),
    "a node in a thread": lambda: graph_of(leaves_in_a_thread),
    "a tool of create_agent": lambda: agent_with(leave),
    "a tool of create_agent in a thread": lambda: agent_with(leave_from_a_thread),
    "a function": lambda: leaves_at_once,
    "a function in a thread": lambda: leaves_from_its_thread,
    "a thread of a function": lambda: leaves_in_a_thread_it_made,
    "a Runnable": lambda: RunnableLambda(leaves_from_its_input),
    "an agent of a nested supervisor": nested,
}


async def beside(run: Any, db: str = "runs.db") -> Run:
    """A run in which one agent leaves beside two that do not."""
    bad = AgentSpec(name="bad", role="bad", run=run)
    tasks = plan("x", {"id": "bad", "role": "bad", "required": False}, "y <- x")
    async with opened(agent(), bad, db=db, max_iterations=0) as sup:
        return await sup.start("Q", plan=tasks)


@pytest.mark.parametrize("way", WAYS)
async def test_the_agent_has_failed_and_the_run_goes_on(way: str) -> None:
    run = await beside(WAYS[way]())

    assert (run.status, statuses(run)) == ("complete", {"x": "done", "bad": "skipped", "y": "done"})
    assert "it tried to end the process" in str(run.tasks[1].error)
    assert run.tasks[1].attempts == 1


@pytest.mark.parametrize("bad_tool", [leave, leave_from_a_thread])
async def test_a_model_reads_that_its_tool_tried_to(bad_tool: BaseTool) -> None:
    model = ScriptedModel([LEAVE, "It did not work."])
    async with opened(AgentSpec(name="ada", role="generalist", tools=[bad_tool]), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == "It did not work."
    [told] = [str(message.text) for message in model.calls[-1].messages if isinstance(message, ToolMessage)]
    assert told == "leave failed: it tried to end the process"


@pytest.mark.parametrize("way", leaving.WAYS)
async def test_in_a_task_of_its_own_it_ends_the_process_and_the_run_goes_on_in_another(way: str) -> None:
    left = await asyncio.to_thread(forks.run, leaving.begin, way)
    ran = Turns("ran")
    async with opened(agent(ran), agent(ran, "bad", "bad"), max_iterations=0) as sup:
        run = await sup.resume(leaving.THREAD)

    assert (left.returncode, run.status) == (7, "complete")
    assert ran.tasks == ["bad", "y"]


def test_who_presses_ctrl_c_ends_the_process() -> None:
    async def interrupted() -> str:
        raise KeyboardInterrupt

    async def works(brief: Brief, desk: Any) -> str:
        return await asyncio.create_task(interrupted())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(beside(works))


async def test_code_that_hangs_in_threads_leaves_room_for_everybody_else() -> None:
    free, count = threading.Event(), 40

    def hangs(state: Form) -> Form:
        free.wait()
        return {}

    async def in_a_thread(brief: Brief, desk: Any) -> str:
        return await asyncio.to_thread(str, "done")

    team = [
        AgentSpec(name="bad", role="bad", run=graph_of(hangs), limits=Limits(timeout_s=0.3)),
        agent(in_a_thread),
    ]
    bad = [{"id": f"t{n}", "role": "bad", "required": False} for n in range(count)]
    async with opened(*team, max_iterations=0, max_attempts=1, max_parallel=count + 1) as sup:
        run = await asyncio.wait_for(sup.start("Q", plan=plan(*bad, "good", "better <- good")), 30)
    free.set()

    assert statuses(run) == {**{f"t{n}": "skipped" for n in range(count)}, "good": "done", "better": "done"}


class Host:
    """A program with an event loop that it has made its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop: Any = loop
        self.executor = ThreadPoolExecutor(2, thread_name_prefix="program")
        self.made: list[str] = []
        loop.set_default_executor(self.executor)
        loop.set_task_factory(self.make)
        self.logs = [logging.getLogger(), *(logging.getLogger(name) for name in (*logging.root.manager.loggerDict,))]
        self.before = self.now()

    def make(self, loop: Any, coro: Any, **more: Any) -> Any:
        """A task, of which is noted what it does."""
        self.made.append(coro.__qualname__)
        return asyncio.Task(coro, loop=loop, **more)

    def now(self) -> dict[str, object]:
        """What an embedding program would miss if somebody changed it."""
        return {
            "executor": self.loop._default_executor,
            "task factory": self.loop.get_task_factory(),
            "exception handler": self.loop.get_exception_handler(),
            "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook),
            "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
            **{f"log {log.name}": (*heard_by(log), *log.filters, log.level) for log in self.logs},
        }


def heard_by(log: logging.Logger) -> list[logging.Handler]:
    """Without those that libraries give to their own loggers, so that they are silent."""
    return [handler for handler in log.handlers if not isinstance(handler, logging.NullHandler)]


def is_of_baton(listens: Any) -> bool:
    module = getattr(listens, "__module__", type(listens).__module__)
    return module.partition(".")[0] in ("graph", "nodes", "state")


def a_thread() -> str:
    return threading.current_thread().name


def test_a_program_around_it_finds_everything_as_it_was_before_during_and_after_a_run() -> None:
    seen: list[dict[str, object]] = []
    box, model = Outbox(), ScriptedModel([[call("post", to="bob"), call("mail", to="eve")], "Done."])

    async def program() -> tuple[Run, Host]:
        async with opened(db="warm.db") as sup:  # libraries are imported, and set up their own loggers
            await sup.start("Q", plan=plan("a"))
        host = Host(asyncio.get_running_loop())

        async def looks(brief: Brief, desk: Any) -> str:
            async def looks_from_a_task() -> str:
                seen.append(host.now())
                return await asyncio.to_thread(a_thread)

            return await asyncio.create_task(looks_from_a_task())

        def looks_from_a_thread(brief: Brief, desk: Any) -> str:
            seen.append(host.now())
            return a_thread()

        def looks_from_a_node(state: Form) -> Form:
            seen.append(host.now())
            return {"result": a_thread()}

        async def calls_a_tool(state: Form) -> Form:
            return {"result": await box.look().ainvoke({"at": "it"})}

        team = [
            AgentSpec(name=name, role=name, run=work)
            for name, work in {
                "async": looks,
                "blocking": looks_from_a_thread,
                "node": graph_of(looks_from_a_node),
                "caller": graph_of(calls_a_tool),
                "loop": create_agent(model, box.tools()),
            }.items()
        ]
        tasks = plan(*({"id": spec.name, "role": spec.name} for spec in team))
        async with opened(*team, max_iterations=0) as sup:
            run = await sup.start("Q", plan=tasks)
            for question in run.approvals:
                run = await sup.answer(run.thread_id, {question.id: "approve"})
            seen.append(host.now())
        seen.append(host.now())
        return run, host

    with asyncio.Runner() as runner:
        run, host = runner.run(program())

    assert (run.status, sorted(box.done)) == ("complete", ["look it", "mail eve", "post bob"])
    assert [{name: one[name] for name in one if one[name] != host.before[name]} for one in seen] == [{}] * 5
    logs = map(logging.getLogger, (*logging.root.manager.loggerDict,))
    assert [log.name for log in logs if any(is_of_baton(one) for one in log.filters)] == []
    results = {task.id: str(task.result) for task in run.tasks}
    assert results["async"].startswith("program")
    assert (results["blocking"], results["node"]) == ("baton-agent", "baton-agent")
    assert any("looks_from_a_task" in name for name in host.made)
