"""A question has thirty minutes. Who applies that is whoever is there: the run, a door, or the next process."""

import asyncio
from typing import Any

import pytest
from langgraph.types import Command

from graph.app import build_supervisor
from graph.supervisor import Supervisor
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from nodes.policy.approvals import NOBODY_ANSWERS
from state.agent import Brief
from state.approval import Approval, Decision
from state.errors import BadInput, PolicyInvalid
from state.policy import Policy, merged_policy
from state.run import Run
from state.signal import Decide
from tests.runs import agent, opened, plan, statuses

MINUTE = 60.0


def asking(risk: str) -> Any:
    async def work(brief: Brief, desk: Any) -> str:
        decision = await desk.ask("launch", {"n": 1}, risk=risk)
        return f"{decision.type} by {decision.by}: {decision.message}"

    return work


async def waiting_run(sup: Supervisor, *tasks: str) -> Run:
    run = await sup.start("Q", thread_id="t", plan=plan(*(tasks or ("a",))))
    assert run.status == "waiting"
    return run


async def until_asked(sup: Supervisor) -> Approval:
    """The first question of a run that is at work."""
    while not (asked := (await sup.view("t")).approvals):  # noqa: ASYNC110 # what is awaited is in the database
        await asyncio.sleep(0)
    return asked[0]


async def decisions(sup: Supervisor) -> list[tuple[str, str, str]]:
    entries, broken = await sup.audit("t")
    assert broken == ""
    return [(entry.decision, entry.by, entry.door) for entry in entries if entry.kind == "answered"]


async def test_a_question_says_when_it_will_be_decided_without_an_answer() -> None:
    clock = HeldClock()
    async with opened(agent(asking("low")), clock=clock) as sup:
        waiting = await waiting_run(sup)

    assert (waiting.approvals[0].asked_at, waiting.approvals[0].expires_at) == (clock.time, clock.time + 30 * MINUTE)


@pytest.mark.parametrize(("risk", "verb"), [("low", "approve"), ("medium", "reject"), ("critical", "reject")])
async def test_no_process_was_up_at_the_deadline_and_the_next_applies_it_by_risk(risk: str, verb: str) -> None:
    clock = HeldClock()
    policy: Any = {"on_timeout": {"low": "approve", "critical": "approve", "default": "reject"}}
    async with opened(agent(asking(risk)), clock=clock, **policy) as sup:
        await waiting_run(sup)
    clock.time += 30 * MINUTE
    async with opened(agent(asking(risk)), clock=clock, **policy) as sup:
        run = await sup.resume("t")
        made = await decisions(sup)

    assert run.status == "complete"
    assert run.tasks[0].result == (
        f"{verb} by policy: nobody answered within 30 minutes: "
        f"{'approved' if verb == 'approve' else 'rejected'} by policy ({risk} risk)"
    )
    assert made == [(verb, "policy", "deadline")]


async def test_a_second_before_the_deadline_nothing_is_decided() -> None:
    clock = HeldClock()
    async with opened(agent(asking("low")), clock=clock) as sup:
        await waiting_run(sup)
        clock.time += 30 * MINUTE - 1
        assert (await sup.resume("t")).status == "waiting"
        assert await decisions(sup) == []


async def test_looking_decides_and_starts_no_work() -> None:
    clock = HeldClock()
    async with opened(agent(asking("low")), clock=clock) as sup:
        await waiting_run(sup)
        clock.time += 30 * MINUTE
        seen = await sup.view("t")
        listed = await sup.runs()
        again = await sup.view("t")
        made = await decisions(sup)
        due = await sup.due()
        run = await sup.resume("t")

    assert (seen.status, seen.approvals, statuses(seen)) == ("paused", [], {"a": "parked"})
    assert (seen.waits_for, seen.can_go_on, seen.hint) == ("resume", True, ["resume"])
    assert seen == again == listed[0]
    assert made == [("approve", "policy", "deadline")]
    assert due == ["t"]
    assert run.status == "complete"


async def test_an_answer_that_comes_after_the_deadline_is_told_that_it_was_too_late() -> None:
    clock = HeldClock()
    async with opened(agent(asking("medium")), clock=clock) as sup:
        waiting = await waiting_run(sup)
        clock.time += 30 * MINUTE
        with pytest.raises(BadInput, match="was answered before: policy said reject"):
            await sup.answer("t", {waiting.approvals[0].id: True}, by="ana")
        run = await sup.resume("t")
        made = await decisions(sup)

    assert str(run.tasks[0].result).startswith("reject by policy")
    assert made == [("reject", "policy", "deadline")]


async def test_an_answer_in_time_stands_when_the_deadline_comes() -> None:
    clock = HeldClock()
    async with opened(agent(asking("medium")), clock=clock) as sup:
        waiting = await waiting_run(sup)
        clock.time += 30 * MINUTE - 1
        run = await sup.answer("t", {waiting.approvals[0].id: True}, by="ana", door="control room")
        clock.time += 1
        await sup.view("t")
        made = await decisions(sup)

    assert run.tasks[0].result == "approve by ana: "
    assert made == [("approve", "ana", "control room")]


async def test_what_is_open_besides_stays_open_and_what_was_decided_goes_on() -> None:
    clock = HeldClock()

    async def work(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch", risk=brief.task.id)).type)

    timeouts: Any = {"high": "escalate", "default": "approve"}
    async with opened(agent(work), clock=clock, on_timeout=timeouts) as sup:
        await waiting_run(sup, "low", "high")
        clock.time += 30 * MINUTE
        half = await sup.resume("t")
        assert (half.status, statuses(half)) == ("waiting", {"low": "done", "high": "parked"})
        clock.time += 30 * MINUTE
        run = await sup.resume("t")

    assert [task.result for task in run.tasks] == ["approve", "reject"]


class Postbox:
    """Keeps what is told to whom."""

    def __init__(self) -> None:
        self.told: list[tuple[bool, str]] = []

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        self.told.append((escalated, title))
        return True


async def test_somebody_else_is_told_with_a_new_deadline_before_it_is_rejected() -> None:
    clock, postbox = HeldClock(), Postbox()
    async with opened(agent(asking("high")), clock=clock, notifier=postbox, on_timeout={"high": "escalate"}) as sup:
        await waiting_run(sup)
        clock.time += 30 * MINUTE
        passed_on = await sup.view("t")
        clock.time += 29 * MINUTE
        still = await sup.view("t")
        clock.time += MINUTE
        run = await sup.resume("t")
        entries, _ = await sup.audit("t")

    title = "Baton asks: Launch 1? (high risk, thread t)"
    assert postbox.told == [(False, title), (True, title)]
    assert (passed_on.status, passed_on.approvals[0].escalated) == ("waiting", True)
    assert still.approvals[0].expires_at == clock.time
    assert str(run.tasks[0].result).startswith("reject by policy")
    assert [entry.kind for entry in entries] == ["requested", "escalated", "answered"]


async def test_the_running_process_applies_a_deadline_while_others_work() -> None:
    clock, done = HeldClock(), asyncio.Event()
    held: list[Supervisor] = []

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "a":
            decision = await desk.ask("launch", risk="low")
            done.set()
            return f"{decision.type} by {decision.by}"
        await until_asked(held[0])
        clock.time += 30 * MINUTE
        await done.wait()
        return "Fine."

    async with opened(agent(work), clock=clock) as sup:
        held.append(sup)
        run = await asyncio.wait_for(sup.start("Q", thread_id="t", plan=plan("a", "b")), 10)

    assert [task.result for task in run.tasks] == ["approve by policy", "Fine."]


@pytest.mark.parametrize(("sent_after", "by"), [(-1, "ana"), (0, "policy")])
async def test_of_an_answer_and_a_deadline_in_the_same_second_the_first_wins(sent_after: float, by: str) -> None:
    """Both are there when the run looks: the answer counts if it was sent before the deadline."""
    clock, done = HeldClock(), asyncio.Event()
    held: list[Supervisor] = []

    async def work(brief: Brief, desk: Any) -> str:
        if brief.task.id == "a":
            decision = await desk.ask("launch", risk="medium")
            done.set()
            return f"{decision.by}"
        question = await until_asked(held[0])
        clock.time += 30 * MINUTE + sent_after
        decide = Decide(approval=question.id, decision=Decision(type="approve", by="ana"))
        await held[0]._runs.signal("t", decide)
        clock.time += 30 * MINUTE
        await done.wait()
        return "Fine."

    async with opened(agent(work), clock=clock, max_parallel=2) as sup:
        held.append(sup)
        run = await asyncio.wait_for(sup.start("Q", thread_id="t", plan=plan("a", "b")), 10)
        made = await decisions(sup)

    assert run.tasks[0].result == by
    assert [who for _, who, _ in made] == [by]


async def test_a_plan_that_nobody_approves_in_time_is_not_carried_out() -> None:
    clock = HeldClock()
    async with opened(clock=clock, oversight="in_command") as sup:
        await waiting_run(sup)
        clock.time += 30 * MINUTE
        run = await sup.resume("t")

    assert run.status == "failed"
    assert run.error == (
        "the plan was not carried out: nobody answered within 30 minutes: rejected by policy (medium risk)"
    )


async def test_a_result_that_nobody_looks_at_in_time_is_accepted_where_the_risk_is_low() -> None:
    clock = HeldClock()

    async def work(brief: Brief, desk: Any) -> dict[str, Any]:
        return {"result": "Perhaps.", "confidence": 0.1}

    async with opened(agent(work), clock=clock) as sup:
        await waiting_run(sup)
        clock.time += 30 * MINUTE
        run = await sup.resume("t")

    assert (run.status, run.tasks[0].result) == ("complete", "Perhaps.")


async def test_a_page_that_answers_after_the_deadline_is_too_late_too() -> None:
    """LangGraph's own resume, as a chat page sends it: no door of ours is in between."""
    clock = HeldClock()
    async with opened(agent(asking("medium")), clock=clock) as sup:
        await waiting_run(sup)
        clock.time += 30 * MINUTE
        from_page: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
        await sup.graph.ainvoke(from_page, {"configurable": {"thread_id": "t"}})
        made = await decisions(sup)

    assert made == [("reject", "policy", "deadline")]


async def test_deadlines_go_by_risk_and_whoever_asks_may_set_its_own() -> None:
    async def work(brief: Brief, desk: Any) -> str:
        own = MINUTE if brief.task.id == "own" else None
        risk = "high" if brief.task.id == "high" else "medium"
        return str((await desk.ask("launch", risk=risk, timeout=own)).message)

    clock = HeldClock()
    async with opened(agent(work), clock=clock, approval_timeout_s={"high": 300, "default": 900}) as sup:
        run = await waiting_run(sup, "high", "other", "own")
        assert {q.task_id: (q.expires_at or 0) - clock.time for q in run.approvals} == {
            "high": 300, "other": 900, "own": 60,
        }  # fmt: skip
        clock.time += 301
        run = await sup.view("t")
        assert [question.task_id for question in run.approvals] == ["other"]
        run = await sup.answer("t", {run.approvals[0].id: True})

    assert [task.result for task in run.tasks] == [
        "nobody answered within 5 minutes: rejected by policy (high risk)",
        "",
        "nobody answered within 1 minutes: rejected by policy (medium risk)",
    ]


@pytest.mark.parametrize("given", [0, -1, {"high": 0}, {"tall": 60}, {"default": "soon"}])
def test_a_deadline_that_is_none_is_refused_by_name(given: Any) -> None:
    with pytest.raises(PolicyInvalid, match="approval_timeout_s"):
        merged_policy(Policy(), {"approval_timeout_s": given})


@pytest.mark.parametrize(("risk", "verb"), [("low", "approve"), ("medium", "reject"), ("high", "reject")])
async def test_a_run_that_cannot_wait_decides_at_once_by_the_policy_says_so_and_calls_nobody(
    risk: str, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "baton.approvals")  # whatever people are told
    policy: Any = {"on_timeout": {"low": "approve", "high": "escalate"}}
    graph = build_supervisor(team=[agent(asking(risk))], policy=policy, model=ScriptedModel([]))
    ended = await graph.ainvoke({"query": "Q", "plan": plan("a", "b <- a")})

    assert (ended["phase"], caplog.messages) == ("complete", [])
    results = [task["outcome"]["result"] for task in ended["tasks"]]
    done = {"approve": "approved", "reject": "rejected"}[verb]
    assert results == [f"{verb} by policy: {NOBODY_ANSWERS}: {done} by policy ({risk} risk)"] * 2
    assert NOBODY_ANSWERS in ended["report"]


async def test_a_plan_that_nobody_can_be_shown_is_decided_at_once_too() -> None:
    policy: Any = {"oversight": "in_command", "on_timeout": {"default": "approve"}}
    graph = build_supervisor(team=[agent()], policy=policy, model=ScriptedModel([]))
    ended = await graph.ainvoke({"query": "Q", "plan": plan("a")})

    assert (ended["phase"], ended["tasks"][0]["outcome"]["result"]) == ("complete", "a is done")
