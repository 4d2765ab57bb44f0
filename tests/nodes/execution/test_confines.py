"""What asyncio would let one agent do to everybody: end the process, use up the threads."""

import asyncio
import inspect
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
from tests.runs import agent, opened, plan, statuses

LEAVE = {"name": "leave", "args": {}}


@tool
async def leave() -> str:
    """Leave."""
    sys.exit(3)


@tool("leave")
def leave_from_a_thread() -> str:
    """Leave."""
    sys.exit(3)


async def leaves() -> str:
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


async def leaves_in_a_task(brief: Brief, desk: Any) -> str:
    return await asyncio.create_task(leaves())


async def leaves_in_a_group(brief: Brief, desk: Any) -> str:
    return str(await asyncio.gather(asyncio.sleep(0), leaves()))


async def leaves_in_a_thread_it_made(brief: Brief, desk: Any) -> str:
    return await asyncio.to_thread(sys.exit, 3)


def leaves_from_its_input(given: Any) -> str:
    sys.exit(3)


def agent_with(leaving: BaseTool) -> Any:
    return create_agent(ScriptedModel([LEAVE, "never said"]), [leaving])


def nested() -> Any:
    model = ScriptedModel([PlanDraft(tasks=[TaskDraft(id="x", description="X.")], complexity=0.5)])
    return build_supervisor([agent(leaves_in_a_task)], policy={"max_iterations": 0, "max_attempts": 1}, model=model)


WAYS: dict[str, Callable[[], Any]] = {
    "a node": lambda: graph_of(leaves_in_a_node),
    "a node in a thread": lambda: graph_of(leaves_in_a_thread),
    "a tool of create_agent": lambda: agent_with(leave),
    "a tool of create_agent in a thread": lambda: agent_with(leave_from_a_thread),
    "a function": lambda: leaves_at_once,
    "a function in a thread": lambda: leaves_from_its_thread,
    "a task of a function": lambda: leaves_in_a_task,
    "a group of tasks of a function": lambda: leaves_in_a_group,
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


@pytest.mark.parametrize("leaving", [leave, leave_from_a_thread])
async def test_a_model_reads_that_its_tool_tried_to(leaving: BaseTool) -> None:
    model = ScriptedModel([LEAVE, "It did not work."])
    async with opened(AgentSpec(name="ada", role="generalist", tools=[leaving]), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == "It did not work."
    [told] = [str(message.text) for message in model.calls[-1].messages if isinstance(message, ToolMessage)]
    assert told == "leave failed: it tried to end the process"


async def test_a_task_that_nobody_waits_for_ends_nothing_either(caplog: pytest.LogCaptureFixture) -> None:
    async def lets_go(brief: Brief, desk: Any) -> str:
        left = asyncio.create_task(leaves())
        await asyncio.wait({left})
        return "let go"

    run = await beside(lets_go)

    assert run.tasks[1].result == "let go"


def test_who_presses_ctrl_c_ends_the_process() -> None:
    async def interrupted() -> str:
        raise KeyboardInterrupt

    async def works(brief: Brief, desk: Any) -> str:
        return await asyncio.create_task(interrupted())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(beside(works))


async def test_the_task_factory_of_the_loop_stays_in_use_and_is_there_again_afterwards() -> None:
    made: list[str] = []

    def counting(loop: Any, coro: Any, **more: Any) -> Any:
        made.append(coro.__name__)
        return asyncio.Task(coro, loop=loop, **more)

    async def looks(brief: Brief, desk: Any) -> str:
        async def state() -> str:
            task: Any = asyncio.current_task()
            return inspect.getcoroutinestate(task.get_coro())

        return await asyncio.create_task(state())

    loop: Any = asyncio.get_running_loop()
    loop.set_task_factory(counting)
    run, other = await asyncio.gather(beside(looks), beside(looks, "other.db"))

    assert run.tasks[1].result == other.tasks[1].result == inspect.CORO_RUNNING
    assert made.count("state") == 2
    assert loop.get_task_factory() is counting


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


async def test_threads_of_the_program_around_it_stay_as_they_are() -> None:
    def mine() -> str:
        return threading.current_thread().name

    async def its_own(brief: Brief, desk: Any) -> str:
        return await asyncio.to_thread(mine)

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1, thread_name_prefix="program"))
    run = await beside(its_own)

    assert run.tasks[1].result == "baton-agent"
    assert (await asyncio.to_thread(mine)).startswith("program")
