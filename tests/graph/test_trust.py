"""Trust over runs: counted once at the end of each, taken away by incidents, and what decides the mode with `auto`."""

import asyncio
from typing import Any

import pytest

from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.policy.trust import DAY_S
from state.agent import Brief
from state.errors import AgentFailed, BadInput
from state.run import Run
from state.trust import Level, Trust
from tests.runs import Turns, agent, all_approved, opened, plan

TEN = [f"t{n}" for n in range(10)]


async def run_days(sup: Supervisor, clock: HeldClock, *days: float) -> None:
    """Ten tasks on each of these days, counted from the first; whatever is asked is approved."""
    start = clock.time
    for day in days:
        clock.time = start + day * DAY_S
        await all_approved(sup, await sup.start("Q", plan=plan(*TEN)), by="ana")


async def ada(sup: Supervisor) -> Trust:
    return (await sup.trust())["ada"]


async def test_a_new_agent_is_a_novice_who_is_told_what_is_missing() -> None:
    async with opened() as sup:
        trust = await ada(sup)

    assert (trust.level, trust.missing) == ("novice", ["0 of 50 tasks", "success rate 0% of 90%", "0 of 7 days"])


async def test_each_run_counts_at_its_end_and_42_of_50_is_said() -> None:
    clock = HeldClock()
    async with opened(clock=clock) as sup:
        await run_days(sup, clock, 0, 2, 4, 8)
        await sup.start("Q", plan=plan("x", "y"))
        trust = await ada(sup)

    assert (trust.tasks_completed, trust.level, trust.missing) == (42, "novice", ["42 of 50 tasks"])


async def asked_in(sup: Supervisor, **how: Any) -> list[str]:
    """What a run of one task asks about until its end."""
    asked: list[str] = []
    run = await sup.start("Q", plan=plan({"id": "a", "action": "publish"}), **how)
    while run.status == "waiting":
        asked += [question.subject for question in run.approvals]
        run = await sup.answer(run.thread_id, {question.id: True for question in run.approvals})
    assert run.status == "complete"
    return asked


async def test_auto_takes_the_mode_of_each_level_as_trust_grows_and_falls() -> None:
    clock = HeldClock()
    levels: list[Level] = []
    asked: list[list[str]] = []

    async def look(sup: Supervisor) -> None:
        levels.append((await ada(sup)).level)
        asked.append(await asked_in(sup))

    async with opened(clock=clock, oversight="auto") as sup:
        await look(sup)
        await run_days(sup, clock, 0, 1, 2, 3, 7)
        await look(sup)
        await run_days(sup, clock, *range(15), 30)
        await look(sup)
        await sup.incident("ada", "minor", "a typo", by="ana")
        await look(sup)
        await sup.incident("ada", "major", "it sent the wrong file", by="ana")
        await look(sup)

    assert levels == ["novice", "proficient", "expert", "proficient", "novice"]
    assert asked == [["plan", "task"], ["task"], [], ["task"], ["plan", "task"]]


async def test_a_damaged_entry_takes_trust_away_as_an_incident_would() -> None:
    clock = HeldClock()
    async with opened(clock=clock) as sup:
        await run_days(sup, clock, 0, 2, 4, 6, 8)
        before = await ada(sup)
        assert sup.graph.store
        await sup.graph.store.aput(("trust", "ada"), "run:x", {"a": 1})
        after = await ada(sup)
        asked = await asked_in(sup, policy={"oversight": "auto"})

    assert (before.level, after.level) == ("proficient", "novice")
    assert [incident.note for incident in after.incidents] == ["an entry of this book cannot be read"]
    assert asked == ["plan", "task"]


async def test_an_incident_takes_effect_on_a_run_that_is_under_way() -> None:
    clock = HeldClock()
    async with opened(clock=clock, oversight="auto") as sup:
        await run_days(sup, clock, 0, 1, 2, 3, 7)
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "publish"}, "b <- a"))
        await sup.incident("ada", "major")
        then = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: True})

    assert [question.task_id for question in then.approvals] == ["b"]
    assert then.approvals[0].reason == "every step waits for a human (oversight in_command)"


async def test_an_incident_takes_effect_between_two_tasks_of_a_run_at_work() -> None:
    clock = HeldClock()
    held: list[Supervisor] = []

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "bad":
            await held[0].incident("ada", "major")
        return "Fine."

    async with opened(agent(work), clock=clock, oversight="auto") as sup:
        held.append(sup)
        await run_days(sup, clock, 0, 1, 2, 3, 7)
        run = await sup.start("Q", plan=plan("bad", "next <- bad"))

    assert {task.id: task.status for task in run.tasks} == {"bad": "done", "next": "parked"}


async def test_one_watched_agent_and_one_trusted_one_work_side_by_side() -> None:
    clock = HeldClock()
    async with opened(agent(name="ada"), agent(name="bob", role="writer"), clock=clock, oversight="auto") as sup:
        await run_days(sup, clock, 0, 1, 2, 3, 7)
        run = await sup.start("Q", plan=plan("a", {"id": "b", "role": "writer"}))
        assert [question.subject for question in run.approvals] == ["plan"]
        run = await sup.answer(run.thread_id, {run.approvals[0].id: True})

    assert {task.id: task.status for task in run.tasks} == {"a": "done", "b": "parked"}


async def test_a_run_that_is_finished_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash after the end was written and before LangGraph's own record: the last node runs again."""
    monkeypatch.setenv("BATON_KEEP_HISTORY", "true")
    async with opened() as sup:
        run = await sup.start("Q", thread_id="t", plan=plan("a"))
        snapshot = await sup.graph.aget_state({"configurable": {"thread_id": "t"}})
        before_finish = snapshot.parent_config
        assert before_finish is not None
        await sup.graph.ainvoke(None, before_finish)
        trust = await ada(sup)

    assert run.status == "complete"
    assert trust.tasks_completed == 1


async def test_the_next_run_on_the_same_thread_counts_again() -> None:
    clock = HeldClock()
    async with opened(clock=clock) as sup:
        await sup.start("Q", thread_id="t", plan=plan("a"))
        clock.time += 1
        await sup.start("Q", thread_id="t", plan=plan("a"))

        assert (await ada(sup)).tasks_completed == 2


async def test_runs_that_end_at_the_same_time_all_count() -> None:
    async with opened() as one, opened() as other:
        await asyncio.gather(*(sup.start("Q", plan=plan(*TEN)) for sup in (one, other, one, other)))

        assert (await ada(one)).tasks_completed == 40


async def test_failures_count_against_the_agent() -> None:
    work = Turns(AgentFailed("it broke", "permanent"), "Fine.")
    async with opened(agent(work), max_parallel=1, failure_threshold={"default": 1.0}) as sup:
        await sup.start("Q", plan=plan("a", "b", "c", "d"))
        trust = await ada(sup)

    assert (trust.tasks_completed, trust.tasks_failed, trust.success_rate) == (3, 1, 0.75)


async def test_what_a_human_did_not_allow_is_not_the_agents_failure() -> None:
    async with opened() as sup:
        waiting = await sup.start("Q", plan=plan({"id": "a", "action": "publish"}))
        await sup.answer(waiting.thread_id, {waiting.approvals[0].id: False})
        trust = await ada(sup)

    assert (trust.tasks_completed, trust.tasks_failed) == (0, 0)


async def test_an_incident_of_nobody_is_refused() -> None:
    async with opened() as sup:
        with pytest.raises(BadInput, match="there is no agent 'zoe'; there are: ada"):
            await sup.incident("zoe", "minor")


async def unfinished(brief: Brief, desk: Any) -> str:
    await desk.ask("launch")
    return "Fine."


async def test_a_run_that_has_not_ended_does_not_count() -> None:
    async with opened(agent(unfinished)) as sup:
        run: Run = await sup.start("Q", plan=plan("a"))
        assert run.status == "waiting"

        assert (await ada(sup)).tasks_completed == 0


async def test_who_is_delegated_to_earns_trust_as_who_has_tasks_of_the_plan() -> None:
    async def lead(brief: Brief, desk: Any) -> str:
        return " ".join([str(await desk.delegate("eve", f"part {n}")) for n in range(10)])

    clock, eve = HeldClock(), Turns(*["seen"] * 60, TypeError("blind"))
    async with opened(agent(lead, "lead", workers=["eve"]), agent(eve, "eve", "other"), clock=clock) as sup:
        for day in range(6):
            clock.time = 1e9 + 2 * day * DAY_S
            await sup.start("Q", plan=plan("a"))
        trust = (await sup.trust())["eve"]
        await sup.start("Q", plan=plan("a"))
        after = (await sup.trust())["eve"]

    assert (trust.tasks_completed, trust.tasks_failed, trust.level) == (60, 0, "proficient")
    assert (after.tasks_completed, after.tasks_failed) == (60, 10)
