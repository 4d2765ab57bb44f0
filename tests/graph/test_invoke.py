"""The graph as LangGraph's users call it: `invoke`, `stream`, `batch`, `get_state`, `update_state`, `Command`."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing
from contextvars import ContextVar
from typing import Any, Literal

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore
from langgraph.types import Command
from typing_extensions import TypedDict

from graph.app import build_supervisor
from graph.builder import Graph
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import BadInput
from tests.runs import Turns, agent, plan

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}
Saver = BaseCheckpointSaver[Any]


@pytest.fixture(params=["InMemorySaver", "SqliteSaver"])
def saver(request: pytest.FixtureRequest) -> Iterator[Saver]:
    if request.param == "InMemorySaver":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string("checkpoints.db") as made:
            yield made


@pytest.fixture(params=["InMemorySaver", "SqliteSaver", "AsyncSqliteSaver"])
async def any_saver(request: pytest.FixtureRequest) -> AsyncIterator[Saver]:
    async with AsyncExitStack() as stack:
        if request.param == "InMemorySaver":
            yield InMemorySaver()
        elif request.param == "SqliteSaver":
            yield stack.enter_context(SqliteSaver.from_conn_string("checkpoints.db"))
        else:
            yield await stack.enter_async_context(AsyncSqliteSaver.from_conn_string("checkpoints.db"))


def graph_of(*team: AgentSpec, saver: Saver | None = None, store: BaseStore | None = None, **policy: Any) -> Graph:
    team = team or (agent(),)
    return build_supervisor(team, policy=policy, model=ScriptedModel([]), checkpointer=saver, store=store)


def given(*tasks: Any, query: str = "Q") -> Any:
    return {"query": query, "plan": plan(*(tasks or ("a",)))}


async def asks(brief: Brief, desk: Any) -> str:
    return f"{(await desk.ask('launch', {'n': 1})).type} for {brief.task.id}"


def results(out: Any) -> list[str]:
    return [task["outcome"]["result"] for task in out["tasks"]]


class Held:
    """An agent that works on one task until it is cancelled, or let go."""

    def __init__(self, held: str = "b") -> None:
        self.held = held
        self.began = threading.Event()
        self.log: list[str] = []

    async def __call__(self, brief: Brief, desk: Any) -> str:
        self.log.append(brief.task.id)
        if brief.task.id == self.held:
            self.began.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.log.append("cleaned up")
        return "done"

    def press_ctrl_c(self) -> None:
        """What a terminal does, once the task is at work."""
        main = threading.main_thread().ident
        assert main is not None

        def press() -> None:
            self.began.wait()
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=press, daemon=True).start()


def test_invoke_runs_to_the_report(saver: Saver) -> None:
    out = graph_of(saver=saver).invoke(given("a", "b <- a"), THREAD)

    assert (out["phase"], results(out)) == ("complete", ["a is done", "b is done"])
    assert out["messages"][-1].text == out["report"]


def test_a_question_is_answered_with_a_command(saver: Saver) -> None:
    graph = graph_of(agent(asks), saver=saver)
    (asked,) = graph.invoke(given("a", "b"), THREAD)["__interrupt__"]
    out = graph.invoke(Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}), THREAD)

    assert [request["name"] for request in asked.value["action_requests"]] == ["launch", "Launch 1?"]
    assert results(out) == ["approve for a", "reject for b"]


def test_stream_yields_what_astream_yields(saver: Saver) -> None:
    modes: list[Literal["updates", "custom"]] = ["updates", "custom"]
    chunks = [*graph_of(saver=saver).stream(given(), THREAD, stream_mode=modes)]

    async def expected() -> list[Any]:
        return [chunk async for chunk in graph_of(saver=InMemorySaver()).astream(given(), THREAD, stream_mode=modes)]

    def shape(found: list[Any]) -> list[Any]:
        return [(mode, chunk.get("kind") or list(chunk)) for mode, chunk in found]

    assert shape(chunks) == shape(asyncio.run(expected()))
    assert ("custom", "run_finished") in shape(chunks)


def test_batch_runs_several_threads_at_once(saver: Saver) -> None:
    together = threading.Barrier(3, timeout=30)

    def meets(brief: Brief, desk: Any) -> str:
        together.wait()
        return brief.query

    graph = graph_of(agent(meets), saver=saver)  # type: ignore[arg-type] # it need not be async
    threads: list[RunnableConfig] = [{"configurable": {"thread_id": str(number)}} for number in range(3)]
    outs = graph.batch([given(query=f"Q{number}") for number in range(3)], threads)

    assert [results(out) for out in outs] == [["Q0"], ["Q1"], ["Q2"]]
    assert [graph.get_state(thread).values["goal"] for thread in threads] == ["Q0", "Q1", "Q2"]


def test_batch_raises_the_first_error_when_all_have_ended(saver: Saver) -> None:
    graph = graph_of(saver=saver)
    threads: list[RunnableConfig] = [{"configurable": {"thread_id": str(number)}} for number in range(2)]
    inputs = [{"query": " "}, given()]
    with pytest.raises(BadInput, match="empty"):
        graph.batch(inputs, threads)
    refused, out = graph.batch(inputs, threads, return_exceptions=True)

    assert graph.get_state(threads[1]).values["phase"] == "complete"
    assert isinstance(refused, BadInput)
    assert out["phase"] == "complete"


def test_the_state_says_where_a_run_stands_and_how_it_came_there(saver: Saver) -> None:
    graph = graph_of(agent(asks), saver=saver)
    graph.invoke(given(), THREAD)
    waits = graph.get_state(THREAD)
    graph.invoke(Command(resume="yes"), THREAD)
    history = [*graph.get_state_history(THREAD)]

    assert (waits.next, len(waits.interrupts)) == (("approve",), 1)
    assert (history[0].next, history[0].values["phase"]) == ((), "complete")
    assert waits.config in [snapshot.config for snapshot in history]
    assert [snapshot.metadata["step"] for snapshot in history if snapshot.metadata] == sorted(
        (snapshot.metadata["step"] for snapshot in history if snapshot.metadata), reverse=True
    )


def test_a_run_goes_on_from_a_checkpoint_of_its_history(saver: Saver) -> None:
    graph = graph_of(saver=saver)
    graph.invoke(given(), THREAD)
    before = next(snapshot for snapshot in graph.get_state_history(THREAD) if snapshot.next == ("assemble",))

    assert graph.invoke(None, before.config)["phase"] == "complete"


def test_an_edited_state_is_what_the_run_goes_on_with(saver: Saver) -> None:
    graph = graph_of(agent(asks), saver=saver)
    graph.invoke(given(), THREAD)
    graph.update_state(THREAD, {"goal": "Another"})
    edited = graph.get_state(THREAD)
    asked = graph.invoke(None, THREAD)
    out = graph.invoke(Command(resume="yes"), THREAD)

    assert (edited.next, "__interrupt__" in asked) == (("approve",), True)
    assert out["report"].startswith("# Another")


async def test_the_async_twins_take_any_saver(any_saver: Saver) -> None:
    graph = graph_of(agent(asks), saver=any_saver)
    asked = await graph.ainvoke(given(), THREAD)
    waits = await graph.aget_state(THREAD)
    updates = [chunk async for chunk in graph.astream(Command(resume="yes"), THREAD)]
    history = [snapshot async for snapshot in graph.aget_state_history(THREAD)]
    other, third = await graph.abatch([given()] * 2, [{"configurable": {"thread_id": name}} for name in "uv"])
    await graph.aupdate_state({"configurable": {"thread_id": "u"}}, {"goal": "Another"}, as_node="execute")

    assert ("__interrupt__" in asked, waits.next) == (True, ("approve",))
    assert next(iter(updates[-1])) == "finish"
    assert history[0].values["phase"] == "complete"
    assert "__interrupt__" in other
    assert "__interrupt__" in third
    assert (await graph.aget_state({"configurable": {"thread_id": "u"}})).values["goal"] == "Another"


async def test_invoke_works_where_an_event_loop_runs_already(saver: Saver) -> None:
    assert graph_of(saver=saver).invoke(given(), THREAD)["phase"] == "complete"


def test_without_a_saver_it_runs_all_the_same() -> None:
    assert graph_of().invoke(given())["phase"] == "complete"


def test_errors_are_those_of_the_async_twin(saver: Saver) -> None:
    with pytest.raises(BadInput, match="unknown task 'b'"):
        graph_of(saver=saver).invoke(given("a <- b"), THREAD)


def test_ctrl_c_cancels_the_run_and_what_was_finished_is_kept(saver: Saver) -> None:
    held = Held()
    graph = graph_of(agent(held), saver=saver)
    held.press_ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(given("a", "b <- a"), THREAD)
    log = [*held.log]
    held.held = ""

    assert log == ["a", "b", "cleaned up"]
    assert graph.invoke(None, THREAD)["phase"] == "complete"
    assert held.log == [*log, "b"]


def test_ctrl_c_cancels_all_runs_of_a_batch(saver: Saver) -> None:
    held = Held("a")
    graph = graph_of(agent(held), saver=saver)
    held.press_ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        graph.batch([given(), given()], [{"configurable": {"thread_id": name}} for name in "uv"])

    assert held.log.count("cleaned up") == held.log.count("a") > 0


def test_a_stream_that_is_closed_early_cancels_and_keeps_what_was_finished(saver: Saver) -> None:
    held = Held()
    graph = graph_of(agent(held), saver=saver)
    events: Any = graph.stream(given("a", "b <- a"), THREAD, stream_mode="custom")
    with closing(events):
        finished = next(event for event in events if event["kind"] == "task_finished")
        held.began.wait()
    held.held = ""

    assert finished["task_id"] == "a"
    assert held.log == ["a", "b", "cleaned up"]
    assert graph.invoke(None, THREAD)["phase"] == "complete"
    assert held.log.count("a") == 1


def test_the_callers_context_config_and_callbacks_reach_the_agents(saver: Saver) -> None:
    who: ContextVar[str] = ContextVar("who")
    seen: list[object] = []

    class Heard(BaseCallbackHandler):
        def on_chain_start(self, *_: Any, **more: Any) -> None:
            seen.append(more.get("name"))

    async def looks(brief: Brief, desk: Any, config: RunnableConfig | None = None) -> str:
        return who.get()

    who.set("ana")
    config: RunnableConfig = {**THREAD, "callbacks": [Heard()], "tags": ["mine"]}
    out = graph_of(agent(looks), saver=saver).invoke(given(), config)

    assert results(out) == ["ana"]
    assert "supervisor" in seen
    assert "execute" in seen


class Outer(TypedDict, total=False):
    query: str
    plan: Any
    tasks: Any
    phase: str


def test_it_is_a_node_of_a_graph_that_is_invoked(saver: Saver) -> None:
    work = Turns("So.")
    inner = graph_of(agent(work), agent(asks, name="bo", role="asker"))
    drawing = StateGraph(Outer)
    drawing.add_node("research", inner)
    drawing.add_edge(START, "research")
    drawing.add_edge("research", END)
    outer = drawing.compile(checkpointer=saver)
    asked = outer.invoke(given("a", {"id": "b", "role": "asker"}), THREAD)
    out = outer.invoke(Command(resume="yes"), THREAD)

    assert "__interrupt__" in asked
    assert results(out) == ["So.", "approve for b"]
    assert work.tasks == ["a"]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_may_invoke_a_supervisor_itself(saver: Saver, is_async: bool) -> None:
    inner = graph_of(agent(Turns("from inside")))

    def invokes(brief: Brief, desk: Any) -> str:
        return results(inner.invoke(given("x")))[0]

    async def invokes_on_the_loop(brief: Brief, desk: Any) -> str:
        return invokes(brief, desk)

    work: Any = invokes_on_the_loop if is_async else invokes
    assert results(graph_of(agent(work), saver=saver).invoke(given(), THREAD)) == ["from inside"]


def test_many_agents_that_invoke_supervisors_take_no_thread_from_each_other(saver: Saver) -> None:
    inner = graph_of()
    names = [f"t{number}" for number in range(12)]

    async def invokes(brief: Brief, desk: Any) -> str:
        return results(await asyncio.to_thread(inner.invoke, given("x")))[0]

    out = graph_of(agent(invokes), saver=saver, max_parallel=20).invoke(given(*names), THREAD)
    assert results(out) == ["x is done"] * 12


async def test_a_saver_of_another_event_loop_is_used_on_that_loop() -> None:
    async with (
        AsyncSqliteSaver.from_conn_string("checkpoints.db") as saver,
        AsyncSqliteStore.from_conn_string("store.db") as store,
    ):
        await store.setup()
        graph = graph_of(saver=saver, store=store)
        out = await asyncio.to_thread(graph.invoke, given(), THREAD)
        kept = await graph.aget_state(THREAD)

        assert (out["phase"], kept.values["phase"]) == ("complete", "complete")
        assert await store.asearch(("events", "t"))


async def test_a_saver_of_the_loop_that_waits_is_refused_in_one_line() -> None:
    async with AsyncSqliteSaver.from_conn_string("checkpoints.db") as saver:
        with pytest.raises(BadInput, match=r"^AsyncSqliteSaver works on .*: use `await graph.ainvoke\(…\)`"):
            graph_of(saver=saver).invoke(given(), THREAD)


def test_a_sync_store_keeps_the_events_of_sync_and_async_runs(saver: Saver) -> None:
    with SqliteStore.from_conn_string("store.db") as store:
        store.setup()
        graph = graph_of(saver=saver, store=store)
        graph.invoke(given(), THREAD)
        asyncio.run(graph.ainvoke(given(), {"configurable": {"thread_id": "u"}}))
        kinds = [[item.value["kind"] for item in store.search(("events", name), limit=100)] for name in "tu"]

    assert ["run_finished" in found for found in kinds] == [True, True]


def test_a_copy_is_the_same_kind_of_graph(saver: Saver) -> None:
    copied = graph_of().copy({"checkpointer": saver}).with_config(tags=["mine"])

    assert copied.invoke(given(), THREAD)["phase"] == "complete"
    assert "execute" in copied.get_graph().nodes


class Gated(InMemorySaver):
    """Notes whether an agent began while the step before it was still being written."""

    def __init__(self) -> None:
        super().__init__()
        self.began = threading.Event()
        self.overtaken = False

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        if "branch:to:execute" in new_versions and not self.began.is_set():
            self.overtaken = await asyncio.to_thread(self.began.wait, 0.2)
        return await super().aput(config, checkpoint, metadata, new_versions)


@pytest.mark.parametrize(("durability", "overtaken"), [(None, False), ("async", True)])
def test_a_step_is_on_disk_before_the_next_begins_unless_the_caller_wants_it_otherwise(
    durability: Literal["async"] | None, overtaken: bool
) -> None:
    saver = Gated()

    async def begins(brief: Brief, desk: Any) -> str:
        saver.began.set()
        return "done"

    graph_of(agent(begins), saver=saver).invoke(given(), THREAD, durability=durability)
    assert saver.overtaken is overtaken


async def test_an_agent_that_is_not_async_may_invoke_a_supervisor_below_a_saver_of_an_event_loop() -> None:
    inner = graph_of(agent(Turns("from inside")))

    def invokes(brief: Brief, desk: Any) -> str:
        return results(inner.invoke(given("x")))[0]

    work: Any = invokes
    async with AsyncSqliteSaver.from_conn_string("checkpoints.db") as saver:
        out = await graph_of(agent(work), saver=saver).ainvoke(given(), THREAD)
    assert results(out) == ["from inside"]
