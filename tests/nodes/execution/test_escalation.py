"""Who takes over when an agent fails or reaches a limit, and handing a task over for good."""

from typing import Any

import pytest
from pydantic import JsonValue

from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief, Limits
from tests.runs import agent, opened, plan, statuses

LOOPS = [{"name": "calculate", "args": {"expression": f"{n}+1"}, "id": f"c{n}"} for n in range(3)]


def thinker(**fields: Any) -> AgentSpec:
    return AgentSpec(name="ada", role="generalist", tools=["calculate"], **fields)


async def breaks(brief: Brief, desk: Desk) -> str:
    raise NotImplementedError("no ships")


class Helper:
    """An agent that takes over; `briefs` is what it got."""

    def __init__(self) -> None:
        self.briefs: list[Brief] = []

    async def __call__(self, brief: Brief, desk: Desk) -> str:
        self.briefs.append(brief)
        return "helped"


async def test_an_agent_that_fails_is_relieved_by_the_one_it_names_and_by_no_other() -> None:
    helper = Helper()
    team = [agent(breaks, "ada", escalate_to="eve"), agent(name="bob"), agent(helper, "eve", "other")]
    async with opened(*team) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.tasks[0].result, run.tasks[0].agent) == ("complete", "helped", "eve")
    assert helper.briefs[0].feedback == "ada stopped: NotImplementedError: no ships; finish it in its place"


async def test_iterations_used_up_escalate_with_what_there_is() -> None:
    helper = Helper()
    model = ScriptedModel([*LOOPS[:1], "Half of it."])
    team = [thinker(limits=Limits(iterations=2), escalate_to="eve"), agent(helper, "eve", "other")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert run.tasks[0].result == "helped"
    assert "Half of it." in str(helper.briefs[0].previous)
    assert "limit of 2 model calls" in helper.briefs[0].feedback


async def test_a_limit_is_never_a_plain_success() -> None:
    model = ScriptedModel([*LOOPS[:1], "Half of it."])
    team = thinker(limits=Limits(iterations=2))
    async with opened(team, model=model, max_iterations=0, oversight="on_the_loop") as sup:
        run = await sup.start("Q", plan=plan("a"))
        events = await sup.events(run.thread_id)

    assert "stopped early" in str(run.tasks[0].result)
    assert run.tasks[0].confidence == 0.5
    [ended] = [event for event in events if event.kind == "task_finished"]
    assert ended.data["limited"] == "it reached its limit of 2 model calls"


@pytest.mark.parametrize(
    ("answer", "status", "result"),
    [
        ("approve", "complete", "Half of it."),
        ({"type": "edit", "args": {"result": "All of it, by hand."}}, "complete", "All of it, by hand."),
        ("reject: start over", "failed", ""),
    ],
)
async def test_a_human_decides_what_becomes_of_work_that_a_limit_cut_short(
    answer: JsonValue, status: str, result: str
) -> None:
    model = ScriptedModel([*LOOPS[:1], "Half of it."])
    team = [thinker(limits=Limits(iterations=2), escalate_to="human"), agent(name="bob", role="other")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        waiting = await sup.start("Q", plan=plan("a", {"id": "b", "role": "other"}))
        assert statuses(waiting) == {"a": "parked", "b": "done"}
        [question] = waiting.approvals
        assert (question.action, question.reason) == ("escalate", "it reached its limit of 2 model calls")
        run = await sup.answer(waiting.thread_id, {question.id: answer}, by="ana")

    assert run.tasks[0].status == ("done" if status == "complete" else "failed")
    assert str(run.tasks[0].result).startswith(result)
    assert len(model.calls) == 2


async def test_work_that_a_limit_cut_short_and_nobody_looked_at_is_in_doubt_for_both() -> None:
    model, clock = ScriptedModel([*LOOPS[:1], "Half of it."]), HeldClock()
    team = thinker(limits=Limits(iterations=2), escalate_to="human")
    async with opened(team, model=model, clock=clock, max_iterations=0, on_timeout={"high": "approve"}) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        clock.time += 1801
        run = await sup.resume(waiting.thread_id)

    assert (run.status, [doubt.kind for doubt in run.doubts]) == ("complete", ["limited", "silence"])


@pytest.mark.parametrize(("on_reject", "status"), [("revise", "partial"), ("fail", "failed")])
async def test_a_no_to_work_that_was_escalated_counts_as_any_other_no(on_reject: str, status: str) -> None:
    team = [agent(breaks, "ada", escalate_to="human"), agent(name="bob", role="other")]
    async with opened(*team, on_reject=on_reject) as sup:
        waiting = await sup.start("Q", plan=plan("a", {"id": "b", "role": "other"}))
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: "reject: not worth it"}, by="ana")

    assert (run.status, "ana gave it up: not worth it" in str(run.error)) == (status, True)


async def test_where_there_is_nothing_yet_a_human_may_have_it_tried_again() -> None:
    began: list[str] = []

    async def fails_once(brief: Brief, desk: Desk) -> str:
        began.append("x")
        if len(began) < 2:
            raise NotImplementedError("no ships")
        return "ships"

    async with opened(agent(fails_once, escalate_to="human")) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        assert waiting.approvals[0].reason == "NotImplementedError: no ships"
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: "approve"})

    assert (run.status, run.tasks[0].result, len(began)) == ("complete", "ships", 2)


async def test_a_used_up_budget_can_be_escalated_to_a_human() -> None:
    model = ScriptedModel([*LOOPS, "Never."])
    async with opened(thinker(escalate_to="human"), model=model, max_iterations=0, max_agent_iterations=2) as sup:
        waiting = await sup.start("Q", plan=plan("a"))
        assert waiting.status == "waiting"
        assert "max_agent_iterations" in waiting.approvals[0].reason
        answer: JsonValue = {"type": "edit", "args": {"result": "By hand."}}
        run = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: answer})

    assert (run.status, run.tasks[0].result, len(model.calls)) == ("complete", "By hand.", 2)
    assert any("max_agent_iterations" in warning for warning in run.warnings)


async def test_who_takes_a_task_over_finishes_it_in_the_others_place() -> None:
    helper = Helper()
    model = ScriptedModel([{"name": "transfer_to_agent", "args": {"agent": "eve", "note": "I counted 3."}}])
    team = [thinker(handoffs=["eve"]), agent(helper, "eve", "other")]
    async with opened(*team, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a"))
        [taken] = [event for event in await sup.events(run.thread_id) if event.kind == "task_retried"]

    assert (taken.agent, taken.data["reason"]) == ("eve", "ada handed this over: I counted 3.")
    assert (run.tasks[0].result, run.tasks[0].agent) == ("helped", "eve")
    assert helper.briefs[0].previous == "I counted 3."
    assert helper.briefs[0].feedback == "ada handed this over; finish it in its place"
    assert len(model.calls) == 1


async def test_a_task_that_is_handed_round_stops_at_the_limit() -> None:
    order: list[str] = []

    def passes_to(me: str, other: str) -> Any:
        async def work(brief: Brief, desk: Desk) -> str:
            order.append(me)
            desk.transfer(other, f"{me} was here")

        return work

    team = [
        agent(passes_to("ada", "bob"), "ada", handoffs=["bob"]),
        agent(passes_to("bob", "ada"), "bob", "other", handoffs=["ada"]),
    ]
    async with opened(*team, max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert order == ["ada", "bob"]
    assert run.status == "failed"
    assert "ada cannot take it over" in str(run.tasks[0].error)
