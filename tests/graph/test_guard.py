"""A graph that a server drives, node by node: nobody else gets hold of a run before it waits or has ended."""

import asyncio
import json
import sqlite3
from typing import Any

import pytest
from langgraph.types import Command

from graph import server
from graph.address import address_of
from graph.builder import Graph, build_graph
from graph.composition import compose
from graph.database import open_database
from graph.guard import LeaseGuard
from graph.lease import LEASE_S
from graph.server import ServedSaver
from graph.settings import Settings
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import Brief
from state.errors import LeaseLost, ModelRejected, ThreadBusy
from state.replies import PlanDraft, TaskDraft
from state.signal import Pause
from tests.runs import agent, opened, plan
from tests.served import THREAD, config, two

DRAFT = PlanDraft(tasks=[TaskDraft(id="p", description="Do it.")])


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch")).type)


async def test_no_other_process_gets_between_the_nodes_of_a_run() -> None:
    async with two(model=ScriptedModel([DRAFT])) as both:
        seen = []
        async for node in both.nodes({"query": "Q"}):
            if node == "finish":
                break
            seen.append((node, (await both.other.view(THREAD)).status, await both.other.due()))
            with pytest.raises(ThreadBusy, match="is being run by process"):
                await both.other.resume(THREAD)

    nodes = ["intake", "decompose", "route", "execute", "assemble"]
    assert seen == [(node, "running", []) for node in nodes]


@pytest.mark.of_files
async def test_inside_a_node_the_lease_is_held_for_as_long_as_the_node_takes() -> None:
    left: list[float] = []

    def plans(*_: object) -> PlanDraft:
        (row,) = sqlite3.connect("runs.db").execute("SELECT value FROM store WHERE key = 'lease'").fetchone()
        left.append(json.loads(row)["until"] - HeldClock().time)
        return DRAFT

    async with two(model=ScriptedModel([plans])) as both:
        await both.graph.ainvoke({"query": "Q"}, config())

    assert left == [LEASE_S]  # renewed by the heartbeat, not left to lapse as between two nodes


async def test_every_node_runs_under_the_lease_and_none_where_the_facade_holds_it() -> None:
    def leased(graph: Graph) -> dict[str, bool]:
        nodes: dict[str, Any] = dict(graph.builder.nodes)
        functions = {name: node.runnable.afunc for name, node in nodes.items()}
        return {name: function.__code__.co_name == "under_lease" for name, function in functions.items()}

    async with two() as both:
        assert set(leased(both.graph).values()) == {True}
        assert set(leased(both.other.graph).values()) == {False}


async def test_a_run_that_has_ended_leaves_its_thread_to_anybody() -> None:
    async with two() as both:
        await both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        run = await both.other.start("Again", thread_id=THREAD, plan=plan("b"))

    assert run.status == "complete"


async def test_a_run_that_waits_is_answered_from_anywhere_at_once() -> None:
    async with two(agent(asks)) as both:
        await both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        waiting = await both.other.view(THREAD)
        run = await both.other.answer(THREAD, True)

    assert (waiting.status, run.status) == ("waiting", "complete")


async def test_while_an_answer_is_applied_nobody_else_has_the_run() -> None:
    async with two(agent(asks)) as both:
        await both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        free = {node: await both.can_take_it() async for node in both.nodes(Command(resume="yes"))}

    assert free == {"approve": False, "execute": False, "assemble": False, "finish": True}


async def test_a_paused_run_is_held_by_nobody_until_it_is_let_go_on() -> None:
    async with two(agent(asks)) as both:
        await both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        paused = await both.other.signal(THREAD, Pause())
        free = {node: await both.can_take_it() async for node in both.nodes(Command(resume="go on"))}

    assert paused.status == "paused"
    assert free == {"control": False, "intake": False, "__interrupt__": True}


async def test_a_run_that_failed_is_resumed_from_anywhere_at_once() -> None:
    async with two(model=ScriptedModel([ModelRejected("no such key"), DRAFT])) as both:
        with pytest.raises(ModelRejected):
            await both.graph.ainvoke({"query": "Q"}, config())
        failed = await both.other.view(THREAD)
        run = await both.other.resume(THREAD)

    assert (failed.status, run.status) == ("failed", "complete")


async def test_a_run_that_was_cut_off_is_nobodys_at_once() -> None:
    began = asyncio.Event()

    async def hangs(brief: Brief, desk: Any) -> str:
        began.set()
        await asyncio.Event().wait()
        return ""

    async with two(agent(hangs)) as both:
        running = asyncio.create_task(both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config()))
        await began.wait()
        held = await both.can_take_it()
        running.cancel()
        await asyncio.wait({running})
        both.clock.time += 0.001
        seen, free = await both.other.view(THREAD), await both.can_take_it()

    assert (held, seen.status, free) == (False, "paused", True)


async def test_a_process_that_stops_between_two_nodes_is_found_to_be_gone_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    async with two() as both:
        async for _ in both.nodes({"query": "Q", "plan": plan("a")}):
            break
        soon = await both.other.view(THREAD)
        both.a_step_is_late(monkeypatch)
        later, due = await both.other.view(THREAD), await both.other.due()

    assert (soon.status, later.status, due) == ("running", "paused", [THREAD])


@pytest.mark.parametrize(("work", "end"), [(asks, "waiting"), (None, "complete")])
async def test_a_run_whose_last_step_is_not_written_down_yet_is_not_taken_for_dead(work: Any, end: str) -> None:
    """The node is through, the lease given back, and the checkpoint that says so still on its way."""
    on_its_way, written = asyncio.Event(), asyncio.Event()

    def slow(write: Any) -> Any:
        async def slowly(config: Any, content: Any, *args: Any, **kwargs: Any) -> Any:
            if "__interrupt__" in str(content) or "'complete'" in str(content):
                on_its_way.set()
                await written.wait()
            return await write(config, content, *args, **kwargs)

        return slowly

    async with two(agent(work)) as both:
        saver: Any = both.database.checkpointer
        saver.aput, saver.aput_writes = slow(saver.aput), slow(saver.aput_writes)
        running = asyncio.create_task(both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config()))
        await on_its_way.wait()
        seen, due, is_free = await both.other.view(THREAD), await both.other.due(), await both.can_take_it()
        written.set()
        await running
        after = await both.other.view(THREAD)

    assert (seen.status, due, is_free, after.status) == ("running", [], True, end)


async def test_an_answer_counts_that_comes_while_the_question_is_still_being_written_down() -> None:
    on_its_way, written = asyncio.Event(), asyncio.Event()
    async with two(agent(asks)) as both:
        saver: Any = both.database.checkpointer
        write = saver.aput_writes

        async def slowly(at: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
            if "__interrupt__" in str(writes) and not on_its_way.is_set():
                on_its_way.set()
                await written.wait()
            await write(at, writes, *args, **kwargs)

        saver.aput_writes = slowly
        running = asyncio.create_task(both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config()))
        await on_its_way.wait()
        run = await both.other.answer(THREAD, True, by="ana")
        written.set()
        await running

    assert (run.status, run.tasks[0].result) == ("complete", "approve")


async def test_an_agent_that_is_a_supervisor_runs_under_the_lease_of_the_outer_run() -> None:
    """The served graph may be an agent itself, in a run that the command line drives."""
    guard, clock = LeaseGuard(), HeldClock()
    async with open_database(address_of("runs.db")) as database:
        inner = build_graph(compose(Settings(), team=[agent()], model=ScriptedModel([DRAFT])), guard=guard)
        async with opened(agent(inner, name="inner"), clock=clock) as sup:  # type: ignore[arg-type]
            with guard.leasing(database.leases(clock)):
                run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
                assert sup.graph.store
                leases = await sup.graph.store.asearch(("leases",))

    assert (run.status, leases) == ("complete", [])


@pytest.mark.parametrize("stands_at", ["what the node returned", "the checkpoint after it"])
async def test_a_server_that_stood_still_between_two_nodes_writes_nothing_once_another_process_has_the_run(
    stands_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands, goes_on = asyncio.Event(), asyncio.Event()

    class Standing(ServedSaver):
        """Stands still, with the whole process, before it writes that the plan was made."""

        async def aput(self, config: Any, checkpoint: Any, *args: Any, **kwargs: Any) -> Any:
            await self._stand(stands_at == "the checkpoint after it" and checkpoint["channel_values"].get("tasks"))
            return await super().aput(config, checkpoint, *args, **kwargs)

        async def aput_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
            await self._stand(stands_at == "what the node returned" and "tasks" in dict(writes))
            await super().aput_writes(config, writes, *args, **kwargs)

        async def _stand(self, here: bool) -> None:
            if here:
                stands.set()
            if stands.is_set():
                await goes_on.wait()

    async with two(saver=Standing) as both:
        monkeypatch.setattr(server, "guard", both.guard)
        running = asyncio.create_task(both.graph.ainvoke({"query": "Q", "plan": plan("a", "b <- a")}, config()))
        await stands.wait()
        both.a_step_is_late(monkeypatch)
        run = await both.other.resume(THREAD)
        before = await both.rows()
        goes_on.set()
        with pytest.raises(LeaseLost, match="was taken over by another process"):
            await running
        after, rows = await both.other.view(THREAD), await both.rows()

    assert (run.status, after.status, rows) == ("complete", "complete", before)


async def test_a_thread_that_others_ran_meanwhile_is_run_by_the_server_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with two(agent(asks), saver=ServedSaver) as both:
        monkeypatch.setattr(server, "guard", both.guard)
        await both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        await both.other.answer(THREAD, True)
        await both.graph.ainvoke({"query": "Q", "plan": plan("a")}, config())
        out = await both.graph.ainvoke(Command(resume="yes"), config())
        await both.graph.aupdate_state(config(), {"report": "Mine."})

    assert out["phase"] == "complete"
