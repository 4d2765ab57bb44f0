"""Whoever edits the state of a run, forks it or ends its thread from outside finds that it goes on, or why it does not.

The run has an approval, a recruit, a pause and a review round.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from graph.cli import main
from graph.supervisor import Supervisor, open_supervisor
from nodes.llm.scripted import ScriptedModel, Step
from nodes.policy.phases import EXITS
from state.agent import AgentSpec, Brief
from state.errors import BadInput, ThreadBusy
from state.replies import PlanDraft, Review, TaskDraft, Verdict
from state.run import Run
from state.signal import Cancel, Pause
from tests.journeys.doom import THREAD
from tests.journeys.turns import thinned
from tests.runs import agent, all_approved, opened, plan, statuses

PLAN = plan("a", {"id": "b", "role": "helper", "depends_on": ["a"]}, complexity=0.4)


@pytest.fixture(autouse=True)
def _history(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has ended can be forked where its checkpoints stay."""
    monkeypatch.setenv("BATON_KEEP_HISTORY", "true")


async def helps(brief: Brief, desk: Any) -> str:
    if brief.task.id != "b":
        return f"{brief.task.id} is done"
    await desk.recruit("helper", "Look further.")
    return str((await desk.ask("launch")).type)


def thinks(messages: list[BaseMessage], tools: list[str]) -> Step:
    system, asked = str(messages[0].text), str(messages[-1].text)
    if system.startswith("You review"):
        back = [Verdict(task_id="a", accept=False, feedback="Say more.")]
        return Review(verdicts=back if "One." in asked else [])
    if system.startswith("You are the supervisor"):
        return PlanDraft(tasks=[TaskDraft(id="n", description="Do n.", role="helper")])
    return "Two." if "<feedback>" in asked else "One."


def supervisor() -> Any:
    ada, bob = AgentSpec(name="ada", role="generalist"), agent(helps, "bob", "helper")
    return opened(ada, bob, model=ScriptedModel({lambda text: True: thinks}), max_agent_iterations=10_000)


async def on_to_its_end(sup: Supervisor) -> Run:
    """The run after everything it asks was approved, and whenever it was stopped it was let go on."""
    run = await sup.resume(THREAD)
    for _ in range(5):
        run = await all_approved(sup, run)
        if run.status in ("paused", "handed_over"):
            run = await sup.resume(THREAD)
    return run


@asynccontextmanager
async def a_run_and_its_checkpoints() -> AsyncIterator[tuple[Supervisor, list[StateSnapshot]]]:
    """The run when it is complete, and every place where it stood, from the first on."""
    async with supervisor() as sup:
        await sup.start("Q", thread_id=THREAD, plan=PLAN)
        await sup.signal(THREAD, Pause())
        run = await on_to_its_end(sup)
        assert (run.status, run.iteration, statuses(run)) == ("complete", 1, dict.fromkeys(("a", "b", "b.r1"), "done"))
        there: RunnableConfig = {"configurable": {"thread_id": THREAD}}
        places = [place async for place in sup.graph.aget_state_history(there)][::-1]
        nodes = {name for place in places for name in place.next}
        assert nodes == {"__start__", *EXITS, "finish"}
        yield sup, places


async def test_a_fork_at_every_checkpoint_completes() -> None:
    async with a_run_and_its_checkpoints() as (sup, places):
        for place in places:
            await sup.graph.ainvoke(None, place.config)
            run = await on_to_its_end(sup)
            assert (run.status, set(statuses(run).values())) == ("complete", {"done"}), place.next


async def test_an_edit_at_every_checkpoint_goes_on_from_there() -> None:
    async with a_run_and_its_checkpoints() as (sup, places):
        for place in places[1:]:
            await sup.graph.aupdate_state(place.config, {"notes": ["Be brief."]})
            is_kept = (await sup.graph.aget_state({"configurable": {"thread_id": THREAD}})).values.get("notes") == [
                "Be brief."
            ]
            assert is_kept == ("phase" in place.values)  # before that there is the input, and nothing else
            run = await on_to_its_end(sup)
            assert (run.status, set(statuses(run).values())) == ("complete", {"done"}), place.next


async def test_an_edit_before_the_input_was_taken_replaces_it_and_lacks_a_request() -> None:
    async with a_run_and_its_checkpoints() as (sup, places):
        await sup.graph.aupdate_state(places[0].config, {"notes": ["Be brief."]}, as_node="intake")
        with pytest.raises(BadInput, match="the request is empty; say what is to be done"):
            await sup.resume(THREAD)


@pytest.mark.parametrize("node", thinned(["intake", "route", "execute", "finish"], every=2))
async def test_an_edit_in_the_name_of_any_node_goes_on_by_the_phase(node: str) -> None:
    async with a_run_and_its_checkpoints() as (sup, places):
        for place in one_for_each_node(places):
            await sup.graph.aupdate_state(place.config, {"notes": ["Be brief."]}, as_node=node)
            run = await on_to_its_end(sup)
            assert (run.status, set(statuses(run).values())) == ("complete", {"done"}), place.next


@pytest.mark.parametrize(
    ("phase", "ends"),
    thinned(
        [
            ("decomposing", {"complete"}),
            ("assembling", {"complete"}),
            ("handed_over", {"complete"}),
            ("cancelled", {"cancelled"}),
        ],
        every=2,
    ),
)
async def test_an_edit_of_the_phase_leads_the_run_there(phase: str, ends: set[str]) -> None:
    async with a_run_and_its_checkpoints() as (sup, places):
        for place in one_for_each_node(places):
            await sup.graph.aupdate_state(place.config, {"phase": phase})
            run = await on_to_its_end(sup)
            assert run.status in ends, (place.next, run.error)
            assert run.report


@pytest.mark.parametrize("phase", ["nonsense", 5])
async def test_an_edit_to_a_phase_that_there_is_none_of_is_refused_by_name(phase: Any) -> None:
    async with opened(agent()) as sup:
        done = await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        with pytest.raises(ValueError, match=f"there is no phase {phase!r}; a state can be edited to decomposing, "):
            await sup.graph.aupdate_state({"configurable": {"thread_id": THREAD}}, {"phase": phase}, as_node="execute")
        assert (await sup.view(THREAD)).phase == done.phase


def one_for_each_node(places: list[StateSnapshot]) -> list[StateSnapshot]:
    """The first checkpoint before each node and the last one, without those before anything was taken in."""
    return list({place.next: place for place in reversed(places) if "phase" in place.values}.values())


async def marked_as_resolved(sup: Supervisor, start: Any = PLAN, **policy: Any) -> Run:
    """A run that asks, at whose question a page has ended the thread."""
    asked = await sup.start("Q", thread_id=THREAD, plan=start, policy=policy or None)
    assert asked.status == "waiting"
    await sup.graph.aupdate_state({"configurable": {"thread_id": THREAD}}, None, as_node="__end__")
    assert (await sup.graph.aget_state({"configurable": {"thread_id": THREAD}})).next == ()
    return asked


RESOLVED = "Marked as resolved while this was asked: Launch? That counts as a no."


async def test_a_question_that_was_marked_as_resolved_is_cancelled_and_the_thread_says_so() -> None:
    async with supervisor() as sup:
        await marked_as_resolved(sup, max_iterations=0)
        assert await sup.due() == [THREAD]
        run = await sup.resume(THREAD)
        entries, broken = await sup.audit(THREAD)
        said = (await sup.graph.aget_state({"configurable": {"thread_id": THREAD}})).values["messages"]

    assert (run.status, run.tasks[1].result, run.warnings) == ("complete", "reject", [RESOLVED])
    assert RESOLVED in (run.report or "")
    assert RESOLVED in [message.text for message in said]
    [answer] = [entry for entry in entries if entry.kind == "answered"]
    assert (broken, answer.decision, answer.by, answer.door) == ("", "reject", "human", "marked as resolved")


async def test_a_plan_that_was_marked_as_resolved_is_made_again() -> None:
    async with supervisor() as sup:
        await marked_as_resolved(sup, oversight="in_command")
        run = await sup.resume(THREAD)

    assert (run.status, [question.id for question in run.approvals]) == ("waiting", ["plan.1"])
    assert run.warnings[-1].startswith("Marked as resolved while this was asked: Carry out this plan of")


async def test_a_signal_enters_a_thread_again_that_was_ended_from_outside() -> None:
    async with supervisor() as sup:
        await marked_as_resolved(sup)
        run = await sup.signal(THREAD, Cancel(by="ana"))

    assert run.status == "cancelled"


@pytest.mark.parametrize("command", [["resume", THREAD], ["watch", "--once"]], ids=["resume", "watch"])
async def test_the_command_line_enters_a_thread_again_that_a_page_marked_as_resolved(
    command: list[str], tmp_path: Path
) -> None:
    db = tmp_path / "runs.db"
    async with open_supervisor(db, policy={"oversight": "in_command"}) as sup:
        await marked_as_resolved(sup, None)
    code = await asyncio.to_thread(main, [*command, "--db", str(db)])
    async with open_supervisor(db) as sup:
        run = await sup.view(THREAD)

    assert code == {"resume": 3, "watch": 0}[command[0]]
    assert (run.status, [question.id for question in run.approvals]) == ("waiting", ["plan.1"])
    assert run.warnings[-1].startswith("Marked as resolved while this was asked: Carry out this plan of")


async def test_a_paused_run_that_was_marked_as_resolved_is_still_paused_and_its_question_open() -> None:
    async with supervisor() as sup:
        asked = await sup.start("Q", thread_id=THREAD, plan=PLAN)
        await sup.signal(THREAD, Pause())
        await sup.graph.aupdate_state({"configurable": {"thread_id": THREAD}}, None, as_node="__end__")
        paused = await sup.resume(THREAD)
        again = await sup.resume(THREAD)

    assert (paused.status, paused.warnings) == ("paused", [])
    assert (again.status, again.approvals) == ("waiting", asked.approvals)


async def test_a_request_on_a_thread_that_was_ended_from_outside_is_refused_as_work_in_flight() -> None:
    async with supervisor() as sup:
        await marked_as_resolved(sup)
        with pytest.raises(ThreadBusy, match="has work in flight"):
            await sup.start("Another", thread_id=THREAD)


async def test_what_was_open_where_somebody_edited_the_state_and_ended_the_thread_stays_open() -> None:
    async with supervisor() as sup:
        asked = await sup.start("Q", thread_id=THREAD, plan=PLAN)
        there = cast(RunnableConfig, {"configurable": {"thread_id": THREAD}})
        await sup.graph.aupdate_state(there, {"notes": ["Be brief."]}, as_node="finish")
        run = await sup.resume(THREAD)

    assert (run.status, run.approvals, run.warnings) == ("waiting", asked.approvals, [])
