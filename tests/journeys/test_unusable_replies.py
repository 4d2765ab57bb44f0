"""A plan or a review that cannot be used does not stick, and costs nobody what was finished."""

import asyncio
from typing import Any

import pytest

from nodes.llm.scripted import Delay, ScriptedModel
from state.agent import AgentSpec
from state.errors import ModelRejected
from state.replies import PlanDraft, Review, TaskDraft, Verdict
from state.run import Run
from tests.runs import Turns, agent, opened, plan, statuses

PLANS = "You are the supervisor of a team"
REVIEWS = "You review the results"
WORK = '<task id="p"'
BAD = ["Hello!", "Hello again!", "Still here."]
YES = Review(verdicts=[Verdict(task_id="p")])
DRAFT = PlanDraft(tasks=[TaskDraft(id="p", description="Do it.")])
ADA = AgentSpec(name="ada", role="generalist")


def doubts(run: Run) -> list[tuple[str, str]]:
    return [(doubt.kind, doubt.task_id) for doubt in run.doubts]


@pytest.mark.parametrize("is_other", [False, True])
async def test_a_run_without_a_usable_plan_is_asked_for_a_new_one_when_it_is_resumed(is_other: bool) -> None:
    first = ScriptedModel([*BAD, DRAFT], usage=(10, 1))
    second = ScriptedModel([DRAFT], usage=(10, 1)) if is_other else first
    async with opened(model=first) as sup:
        failed = await sup.start("Q", thread_id="t")
    async with opened(model=second) as sup:
        run = await sup.resume("t")

    assert (failed.status, failed.waits_for, failed.hint) == ("failed", "model", ["resume"])
    assert (run.status, statuses(run)) == ("complete", {"p": "done"})
    assert len(second.calls) == (1 if is_other else 4)
    assert "Hello" not in "".join(str(message.text) for message in second.calls[-1].messages)
    assert (failed.usage.total_tokens, run.usage.total_tokens) == (33, 44)


async def test_a_run_without_a_usable_plan_has_a_report_of_what_was_done_before() -> None:
    """The second plan is the unusable one: what was finished by the first is reported."""

    async def asks(brief: Any, desk: Any) -> str:
        return str((await desk.ask("launch")).type)

    model = ScriptedModel(BAD)
    team = (agent(Turns("Found it."), role="finder", name="bo"), agent(asks))
    async with opened(*team, model=model, on_reject="replan") as sup:
        waiting = await sup.start("Q", plan=plan({"id": "found", "role": "finder"}, "asked <- found"))
        failed = await sup.answer(waiting.thread_id, {waiting.approvals[0].id: False})
        seen = await sup.view(waiting.thread_id)

    assert (failed.status, failed.waits_for) == ("failed", "model")
    assert "Found it." in (failed.report or "")
    assert "**Stopped early:** scripted gave no usable plan draft in 3 replies" in (failed.report or "")
    assert seen.report == failed.report


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Looks good to me!", "no usable review in 3 replies"),
        (ModelRejected("the key is refused"), "the key is refused"),
    ],
)
async def test_a_review_that_cannot_be_had_is_left_out_and_the_work_is_delivered(reply: Any, said: str) -> None:
    model = ScriptedModel({REVIEWS: reply, WORK: "It is so."})
    async with opened(ADA, model=model) as sup:
        run = await sup.start("Q", plan=plan("p"))
        events = [event for event in await sup.events(run.thread_id) if event.kind == "result_doubted"]

    assert (run.status, run.error, doubts(run)) == ("complete", None, [("unreviewed", "")])
    assert [event.data["doubt"] for event in events] == ["unreviewed"]
    assert said in run.doubts[0].said
    assert run.warnings == [run.doubts[0].said]
    assert "It is so." in (run.report or "")
    assert f"- In doubt: {run.warnings[0]}" in (run.report or "").rpartition("## How this was made")[2]


@pytest.mark.parametrize("asked_for", [PLANS, REVIEWS])
async def test_a_run_that_was_cut_off_while_it_asked_again_asks_another_model_anew(asked_for: str) -> None:
    """Not with the first model's bad reply, nor with what was wrong with it; what was finished is not done again."""
    usual: dict[Any, Any] = {PLANS: DRAFT, REVIEWS: YES, WORK: "It is so."}
    first = ScriptedModel({**usual, asked_for: ["Hello!", Delay(60, "Hello again!")]}, usage=(10, 1))
    second = ScriptedModel(usual, usage=(10, 1))
    async with opened(ADA, model=first) as sup:
        running = asyncio.create_task(sup.start("Q", thread_id="t"))
        while sum(asked_for in str(call.messages) for call in first.calls) < 2:  # noqa: ASYNC110 # what another thread does
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    async with opened(ADA, model=second) as sup:
        run = await sup.resume("t")

    assert (run.status, run.doubts) == ("complete", [])
    assert [asked_for in str(call.messages) for call in second.calls].count(True) == 1
    assert "Hello" not in str([call.messages for call in second.calls])
    texts = [str(call.messages) for call in [*first.calls, *second.calls]]
    assert sum(WORK in text and REVIEWS not in text for text in texts) == 1
    assert run.usage.total_tokens == 11 * (len(first.calls) + len(second.calls) - 1)


async def test_what_a_reviewer_refuses_to_the_end_is_no_plain_success() -> None:
    refuses = Review(verdicts=[Verdict(task_id="p", accept=False, feedback="Say which year."), Verdict(task_id="q")])
    model = ScriptedModel({REVIEWS: refuses, WORK: "It is so.", '<task id="q"': "On it."})
    async with opened(ADA, model=model, max_iterations=2) as sup:
        run = await sup.start("Q", plan=plan("p", "q <- p", complexity=0.8))

    assert (run.status, doubts(run)) == ("partial", [("refused", "p")])
    assert run.doubts[0].said == "the reviewer does not accept p: Say which year."
    assert all(f"- In doubt: {doubt.said}" in (run.report or "") for doubt in run.doubts)


async def test_an_editor_that_cannot_be_asked_costs_nobody_the_results() -> None:
    model = ScriptedModel({"You put the findings": ModelRejected("no"), '<task id="a"': "A.", '<task id="b"': "B."})
    async with opened(ADA, model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a", "b"))

    assert (run.status, doubts(run)) == ("complete", [("unedited", "")])
    assert "## Do a.\n\nA.\n\n## Do b.\n\nB." in (run.report or "")
