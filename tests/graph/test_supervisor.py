"""The facade: a handful of verbs on runs."""

import threading
from pathlib import Path
from typing import Any

import pytest

from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import Brief
from state.errors import AgentFailed, BadInput, SourcesInvalid, ThreadBusy, ThreadUnknown
from state.plan import Plan
from state.replies import PlanDraft, TaskDraft
from tests.builders import make_plan
from tests.runs import Turns, agent, opened, plan, statuses

DRAFT = PlanDraft(tasks=[TaskDraft(id="p", description="Do it.")])


async def asks(brief: Brief, desk: Any) -> str:
    return str((await desk.ask("launch")).type)


async def test_a_request_with_a_plan_runs_to_its_report() -> None:
    async with opened() as sup:
        run = await sup.start("  What is new? ", thread_id="news", plan=plan("a", "b <- a"))

    assert (run.thread_id, run.status, run.phase, run.query) == ("news", "complete", "complete", "What is new?")
    assert statuses(run) == {"a": "done", "b": "done"}
    assert (run.report or "").startswith("# What is new?\n\nb is done\n")
    assert [task.route_reason for task in run.tasks] == ["best score 0.60; it is for anybody"] * 2


async def test_without_a_plan_the_model_makes_one() -> None:
    async with opened(model=ScriptedModel([DRAFT], usage=(5, 2))) as sup:
        run = await sup.start("Q")

    assert statuses(run) == {"p": "done"}
    assert (run.usage.calls, run.usage.total_tokens, run.model) == (1, 7, "scripted")


async def test_what_was_repaired_in_a_plan_is_said() -> None:
    draft = PlanDraft(tasks=[TaskDraft(id="p", description="Do it.", depends_on=["p", "the moon"])])
    async with opened(model=ScriptedModel([draft])) as sup:
        run = await sup.start("Q")

    assert run.status == "complete"
    assert [warning for warning in run.warnings if "the moon" in warning]
    assert "- Note: the plan was repaired" in (run.report or "")


async def test_sources_may_be_none_or_a_single_path(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Tea is green.")
    async with opened() as sup:
        runs = [await sup.start("Q", given, plan=plan("a")) for given in (None, str(tmp_path), tmp_path / "a.md")]

    assert [run.status for run in runs] == ["complete"] * 3
    with pytest.raises(SourcesInvalid, match="nowhere"):
        async with opened() as sup:
            await sup.start("Q", str(tmp_path / "nowhere"), plan=plan("a"))


@pytest.mark.parametrize("given", [make_plan("a", "b <- a"), plan("a", "b <- a")])
async def test_the_plan_in_use_can_be_read_and_given_again(given: Plan | dict[str, Any]) -> None:
    async with opened() as sup:
        await sup.start("Q", thread_id="one", plan=given)
        read = await sup.plan("one")
        again = await sup.start("Q", thread_id="two", plan=read)

    assert Plan.model_validate(read).task("b").depends_on == ["a"]
    assert statuses(again) == {"a": "done", "b": "done"}


async def test_a_thread_that_is_not_there_is_unknown() -> None:
    async with opened() as sup:
        for verb in (sup.view, sup.plan, sup.resume):
            with pytest.raises(ThreadUnknown, match=r"'nope'.*`baton runs`"):
                await verb("nope")
        with pytest.raises(ThreadUnknown):
            await sup.answer("nope", True)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"query": " \n"}, "the request is empty"),
        ({"query": "x" * 100_001}, "100001 characters"),
        ({"thread_id": "   "}, "cannot name a thread"),
        ({"thread_id": "a\nb"}, "cannot name a thread"),
        ({"thread_id": "x" * 201}, "cannot name a thread"),
        ({"policy": {"max_paralel": 3}}, "max_paralel"),
        ({"policy": {"max_parallel": 0}}, "max_parallel"),
        ({"plan": plan("a <- a")}, "depends on itself"),
        ({"plan": {"tasks": []}}, "at least 1 item"),
        ({"sources": ["nowhere"]}, "nowhere"),
        ({"sources": ["empty"]}, "empty"),
    ],
)
async def test_what_cannot_be_used_is_refused_before_anything_starts(
    fields: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    given = {"query": "Q", "plan": plan("a"), **fields}
    async with opened() as sup:
        with pytest.raises(BadInput, match=complaint) as caught:
            await sup.start(**given)
        assert await sup.runs() == []

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("thread", ["a.b", "a%2Eb", "50 %", "Zoë / ∞", ".", "runs"])
async def test_any_printable_name_can_name_a_thread(thread: str) -> None:
    async with opened() as sup:
        run = await sup.start("Q", thread_id=thread, plan=plan("a"))
        events = await sup.events(thread)
        threads = [one.thread_id for one in await sup.runs()]

    assert (run.status, run.thread_id, threads) == ("complete", thread, [thread])
    assert {event.thread_id for event in events} == {thread}


async def test_runs_are_listed_newest_first() -> None:
    clock = HeldClock()
    async with opened(clock=clock) as sup:
        for name in ("old", "new"):
            clock.time += 10
            await sup.start(f"About {name}", thread_id=name, plan=plan("a"))
        found = await sup.runs()

    assert [(run.thread_id, run.query) for run in found] == [("new", "About new"), ("old", "About old")]


async def test_a_policy_given_with_the_request_changes_this_run_only() -> None:
    work = Turns(RuntimeError("net"))
    async with opened(agent(work)) as sup:
        await sup.start("Q", plan=plan("a"), policy={"max_attempts": 1})
        first = len(work.briefs)
        await sup.start("Q", plan=plan("a"))

    assert (first, len(work.briefs)) == (1, 4)


async def test_a_policy_is_frozen_when_the_run_starts() -> None:
    async def work(brief: Brief, desk: Any) -> str:
        await desk.ask("launch")
        raise RuntimeError("net")

    async with opened(agent(work), max_attempts=2) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
    async with opened(agent(work), max_attempts=9, oversight="in_command") as sup:
        run = await sup.answer(waiting.thread_id, True)

    async with opened(agent(work)) as sup:
        events = await sup.events(waiting.thread_id)

    assert (run.status, run.tasks[0].error) == ("failed", "RuntimeError: net")
    assert [event.data["attempt"] for event in events if event.kind == "task_retried"] == [2]


async def test_input_on_a_thread_with_work_in_flight_is_refused() -> None:
    async with opened(agent(asks)) as sup:
        waiting = await sup.start("Q", thread_id="busy", plan=plan("a"))
        with pytest.raises(ThreadBusy, match="`baton resume busy`"):
            await sup.start("Something else", thread_id="busy", plan=plan("b"))
        after = await sup.view("busy")

    assert after == waiting


async def test_input_on_a_thread_that_has_ended_starts_anew() -> None:
    work = Turns("First.", "Second.")
    async with opened(agent(work)) as sup:
        await sup.start("One", thread_id="talk", plan=plan("a"))
        run = await sup.start("Two", thread_id="talk", plan=plan("a"))

    assert (run.query, run.tasks[0].result, work.tasks) == ("Two", "Second.", ["a", "a"])


async def test_a_request_goes_to_the_agent_that_is_named_instead_of_a_plan() -> None:
    bo = Turns("By Bo.")
    async with opened(agent(), agent(bo, "bo", "diver", skills={"kinds": {"dive": 0.1}})) as sup:
        run = await sup.start("Count the ships.", to="bo")
        with pytest.raises(BadInput, match="there is no agent 'zoe' in the team; there are: ada, bo"):
            await sup.start("Q", to="zoe")
        with pytest.raises(BadInput, match="give a plan or the agent who does all of it"):
            await sup.start("Q", to="bo", plan=plan("a"))
        with pytest.raises(BadInput, match="task 'a' is for 'zoe'; there are: ada, bo"):
            await sup.start("Q", plan=plan({"id": "a", "to": "zoe"}))

    assert (run.status, run.tasks[0].agent, run.tasks[0].result) == ("complete", "bo", "By Bo.")
    assert (run.tasks[0].description, run.tasks[0].route_reason) == ("Count the ships.", "it is for bo")


async def test_nobody_else_tries_what_is_for_one_agent() -> None:
    bo, ada = Turns(AgentFailed("no", "permanent")), Turns("By Ada.")
    async with opened(agent(bo, "bo"), agent(ada)) as sup:
        run = await sup.start("Count the ships.", to="bo")

    assert (run.status, ada.briefs) == ("failed", [])


async def test_the_files_of_a_queued_run_are_looked_at_beside_the_event_loop() -> None:
    looked: list[int] = []

    class Source(str):
        __slots__ = ()

        def __str__(self) -> str:
            looked.append(threading.get_ident())
            return "notes.md"

    async with opened(agent()) as sup:
        with pytest.raises(BadInput, match=r"notes\.md: a worker may run on another machine"):
            await sup.enqueue("Q", [Source()])

    assert looked
    assert threading.get_ident() not in looked
