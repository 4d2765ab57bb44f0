"""The question about the plan is answered like any other: by a signal, also while the run is stopped; the first counts.

And whoever answers the moment he is told, before the run has come to wait, is heard.
"""

import asyncio
from typing import Any

import pytest

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from nodes.runtime.signals import read_log, waiting
from state.agent import Brief
from state.approval import Decision, Entry
from state.errors import BadInput
from state.replies import PlanDraft, TaskDraft
from state.run import Run
from state.signal import APPLIED, Cancel, Decide, Pause, Signal, Takeover, refused
from tests.journeys.doom import THREAD
from tests.journeys.turns import thinned
from tests.runs import agent, all_approved, opened, plan, statuses

OTHER = plan("x", "y <- x")
DECISIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({"type": "approve"}, ["a", "b"]),
    ({"type": "edit", "args": OTHER}, ["x", "y"]),
    ({"type": "reject", "message": "one task is enough"}, ["new"]),
]
TYPES = ["approve", "edit", "reject"]


def in_command(**more: Any) -> Any:
    """A run whose plan waits; another plan is made by a model that has one ready."""
    draft = PlanDraft(tasks=[TaskDraft(id="new", description="Do it better.")])
    return opened(model=ScriptedModel([draft]), oversight="in_command", **more)


async def asked(sup: Supervisor, **more: Any) -> Run:
    run = await sup.start("Q", thread_id=THREAD, plan=plan("a", "b <- a"), **more)
    assert [(question.id, question.subject) for question in run.approvals] == [("plan.0", "plan")]
    return run


def decide(said: dict[str, Any], by: str = "ana") -> Decide:
    return Decide(approval="plan.0", decision=Decision.model_validate({**said, "by": by}), by=by)


async def record(sup: Supervisor) -> list[tuple[str, ...]]:
    """Who was asked what and what was decided, whichever way that came."""
    entries, broken = await sup.audit(THREAD)
    assert broken == ""
    return [_line(entry) for entry in entries]


def _line(entry: Entry) -> tuple[str, ...]:
    return entry.kind, entry.approval, entry.decision, entry.by, entry.message, str(entry.args_after)


@pytest.mark.parametrize(("said", "tasks"), DECISIONS, ids=TYPES)
async def test_a_decision_that_comes_as_a_signal_counts_like_an_answer(said: dict[str, Any], tasks: list[str]) -> None:
    async with in_command(db="answered.db") as sup:
        await asked(sup)
        answered = await sup.answer(THREAD, {"plan.0": said}, by="ana")
        on_record = await record(sup)
    async with in_command(db="signalled.db") as sup:
        await asked(sup)
        run = await sup.signal(THREAD, decide(said))
        assert (statuses(run), run.approvals) == (statuses(answered), answered.approvals)
        assert await record(sup) == on_record
        run = await all_approved(sup, run)

    assert statuses(run) == dict.fromkeys(tasks, "done")


@pytest.mark.parametrize(("said", "tasks"), DECISIONS, ids=TYPES)
@pytest.mark.parametrize("stop", [Pause(by="bob"), Takeover(by="bob")], ids=["paused", "taken"])
@pytest.mark.parametrize("by_signal", thinned([True, False]), ids=["signal", "answer"])
async def test_a_plan_may_be_decided_while_the_run_is_stopped_and_counts_when_it_goes_on(
    stop: Pause | Takeover, said: dict[str, Any], tasks: list[str], by_signal: bool
) -> None:
    async with in_command() as sup:
        waiting = await asked(sup)
        stopped = await sup.signal(THREAD, stop)
        assert (stopped.status, stopped.approvals) == (
            "paused" if stop.kind == "pause" else "handed_over",
            waiting.approvals,
        )
        still = await (
            sup.signal(THREAD, decide(said)) if by_signal else sup.answer(THREAD, {"plan.0": said}, by="ana")
        )
        assert (still.status, still.approvals) == (stopped.status, [])
        again = await sup.resume(THREAD)
        assert again.phase == ("decomposing" if said["type"] == "reject" else "executing")
        run = await all_approved(sup, again)

    assert (run.status, statuses(run)) == ("complete", dict.fromkeys(tasks, "done"))


async def test_a_plan_that_was_stopped_and_resumed_is_decided_by_a_signal() -> None:
    async with in_command() as sup:
        waiting = await asked(sup)
        await sup.signal(THREAD, Pause())
        again = await sup.resume(THREAD)
        assert (again.status, again.approvals) == ("waiting", waiting.approvals)
        run = await all_approved(sup, await sup.signal(THREAD, decide({"type": "edit", "args": OTHER})))

    assert (run.status, statuses(run)) == ("complete", {"x": "done", "y": "done"})


async def test_a_plan_that_was_approved_in_a_humans_hands_is_carried_out_with_his_results() -> None:
    async with in_command() as sup:
        await asked(sup)
        await sup.signal(THREAD, Takeover(by="bob"))
        await sup.signal(THREAD, decide({"type": "approve"}))
        run = await all_approved(sup, await sup.hand_back(THREAD, {"a": "A by hand"}, by="bob"))

    assert (run.status, [task.agent for task in run.tasks]) == ("complete", ["human", "ada"])


async def test_who_hands_back_without_another_plan_has_accepted_the_one_that_waits() -> None:
    async with in_command() as sup:
        await asked(sup)
        await sup.signal(THREAD, Takeover(by="bob"))
        back = await sup.hand_back(THREAD, {"a": "A by hand"}, by="bob")
        entries = await record(sup)
        run = await all_approved(sup, back)

    assert [(question.subject, question.task_id) for question in back.approvals] == [("task", "b")]
    assert [line for line in entries if line[1] == "plan.0"][1:] == [
        ("answered", "plan.0", "approve", "bob", "handed back", "None")
    ]
    assert (run.status, [task.agent for task in run.tasks]) == ("complete", ["human", "ada"])
    assert run.tasks[0].result == "A by hand"


async def test_a_plan_whose_tasks_a_human_has_all_done_by_hand_is_complete() -> None:
    async with in_command() as sup:
        await asked(sup)
        await sup.signal(THREAD, Takeover(by="bob"))
        run = await sup.hand_back(THREAD, {"a": "A by hand", "b": "B by hand"}, by="bob")

    assert (run.status, [task.result for task in run.tasks]) == ("complete", ["A by hand", "B by hand"])


async def test_a_plan_that_was_rejected_in_a_humans_hands_is_not_accepted_by_handing_back() -> None:
    async with in_command() as sup:
        await asked(sup)
        await sup.signal(THREAD, Takeover(by="bob"))
        await sup.signal(THREAD, decide({"type": "reject"}))
        back = await sup.hand_back(THREAD, {"a": "A by hand"}, by="bob")

    assert statuses(back).keys() == {"new"}


@pytest.mark.parametrize("stop", [Pause(), Takeover()], ids=["paused", "taken"])
async def test_a_plan_that_is_the_same_as_before_still_waits_when_the_run_goes_on(stop: Pause | Takeover) -> None:
    async def work(brief: Brief, desk: Any) -> str:
        return "Done." if brief.task.id == "a" else str((await desk.ask("launch")).by)

    same = PlanDraft(tasks=[TaskDraft(id="a", description="Do a."), TaskDraft(id="b", description="Do b.")])
    model = ScriptedModel([same])
    async with opened(agent(work), model=model, oversight="in_command", on_reject="replan") as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a", "b"))
        while run.approvals[0].action != "launch":
            run = await sup.answer(THREAD, {run.approvals[0].id: True})
        waiting = await sup.answer(THREAD, {run.approvals[0].id: False})
        assert [question.id for question in waiting.approvals] == ["plan.1"]
        await sup.signal(THREAD, stop)
        again = await sup.resume(THREAD)

    assert (again.status, again.approvals) == ("waiting", waiting.approvals)


async def test_a_plan_of_a_humans_own_is_not_asked_about() -> None:
    async with in_command() as sup:
        await asked(sup)
        await sup.signal(THREAD, Takeover(by="bob"))
        run = await sup.hand_back(THREAD, {"x": "mine", "y": "mine"}, OTHER, by="bob")

    assert (run.status, run.approvals) == ("complete", [])


async def test_a_signal_with_a_plan_that_cannot_be_used_leaves_the_question_open() -> None:
    async with in_command() as sup:
        waiting = await asked(sup)
        with pytest.raises(BadInput, match="'x' depends on itself"):
            await sup.signal(THREAD, decide({"type": "edit", "args": plan("x <- x")}))
        run = await sup.view(THREAD)
        [handled] = await read_log(sup.graph.store, THREAD)

    assert (run.status, run.approvals) == ("waiting", waiting.approvals)
    assert handled.outcome.status == "refused"
    assert handled.outcome.reason.startswith("plan.0: the new arguments cannot be used")
    assert "'x' depends on itself" in handled.outcome.reason


async def test_a_second_decision_about_a_plan_is_refused() -> None:
    async with in_command() as sup:
        await asked(sup)
        await sup.signal(THREAD, Pause())
        await sup.signal(THREAD, decide({"type": "approve"}))
        second = r"plan\.0 was answered before: ana said approve; the first answer stands"
        with pytest.raises(BadInput, match=second):
            await sup.signal(THREAD, decide({"type": "reject"}, by="bob"))
        with pytest.raises(BadInput, match=second):
            await sup.answer(THREAD, {"plan.0": False}, by="bob")
        outcomes = [handled.outcome for handled in await read_log(sup.graph.store, THREAD)]
        run = await all_approved(sup, await sup.resume(THREAD))

    assert outcomes == [
        APPLIED,
        APPLIED,
        refused("plan.0 was answered before: ana said approve; the first answer stands"),
    ]
    assert (run.status, statuses(run)) == ("complete", {"a": "done", "b": "done"})


class Prompt:
    """Somebody who answers the moment he is told, before the run has come to wait."""

    def __init__(self, *says: Signal) -> None:
        self.says = list(says)
        self.said: list[asyncio.Task[Run]] = []
        self.sup: Supervisor

    async def tell(self, title: str, body: str, *, escalated: bool) -> bool:
        says, self.says = self.says, []
        assert self.sup.graph.store
        for signal in says:
            self.said.append(asyncio.create_task(self.sup.signal(THREAD, signal)))
            while not await waiting(self.sup.graph.store, THREAD):  # noqa: ASYNC110 - a row of the Store
                await asyncio.sleep(0)
        return True


async def test_who_decides_about_a_plan_before_the_run_has_come_to_wait_is_heard() -> None:
    somebody = Prompt(decide({"type": "edit", "args": OTHER}))
    async with in_command(notifier=somebody) as somebody.sup:
        await somebody.sup.start("Q", thread_id=THREAD, plan=plan("a", "b <- a"))
        await asyncio.gather(*somebody.said)  # who was heard drives the run on
        run = await somebody.sup.view(THREAD)
        assert (run.status, statuses(run)) == ("waiting", {"x": "parked", "y": "pending"})
        assert [question.subject for question in run.approvals] == ["task"]


async def test_who_answers_an_agent_before_the_run_has_come_to_wait_is_heard() -> None:
    async def asks(brief: Brief, desk: Any) -> str:
        return str((await desk.ask("launch")).by)

    somebody = Prompt(Decide(approval="a.0.q1", decision=Decision(type="approve", by="ana"), by="ana"))
    async with opened(agent(asks), notifier=somebody) as somebody.sup:
        await somebody.sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await asyncio.gather(*somebody.said)  # who was heard drives the run on
        run = await somebody.sup.view(THREAD)

    assert (run.status, run.tasks[0].result) == ("complete", "ana")


async def test_who_cancels_a_run_before_it_has_come_to_wait_is_heard() -> None:
    somebody = Prompt(Cancel(by="ana"))
    async with in_command(notifier=somebody) as somebody.sup:
        await somebody.sup.start("Q", thread_id=THREAD, plan=plan("a"))
        await asyncio.gather(*somebody.said)  # who was heard drives the run on
        run = await somebody.sup.view(THREAD)

    assert run.status == "cancelled"
