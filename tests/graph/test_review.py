"""Review sends work back, and the plan waits for a human where the policy says so. Tried through the facade."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from graph.supervisor import Supervisor
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.errors import BadInput, ModelRejected
from state.replies import PlanDraft, Review, TaskDraft, Verdict
from state.run import Run
from tests.runs import Turns, agent, all_approved, opened, plan, statuses

REVIEWS = "You review the results"
PLANS = "You are the supervisor of a team"


def thinker(*tools: str) -> AgentSpec:
    return AgentSpec(name="ada", role="generalist", tools=list(tools))


def sends_back(task_id: str, why: str) -> Review:
    return Review(verdicts=[Verdict(task_id=task_id, accept=False, feedback=why)])


def prompts(model: ScriptedModel, part: str) -> list[str]:
    """The human messages of the calls that contain `part`."""
    texts = [str(call.messages[1].text) for call in model.calls]
    return [text for text in texts if part in text]


async def test_what_a_reviewer_sends_back_is_done_again_and_so_is_what_builds_on_it() -> None:
    model = ScriptedModel(
        {
            REVIEWS: [sends_back("a", "Say which year.")],
            '<task id="a"': ["It grew.", "It grew in 2024."],
            '<task id="b"': ["B of the first.", "B of the second."],
            '<task id="z"': ["Z."],
        }
    )
    async with opened(thinker(), model=model) as sup:
        run = await sup.start("Q", plan=plan("a", "z", "b <- a z", complexity=0.4))
    again = prompts(model, "<feedback>")

    assert [task.result for task in run.tasks] == ["It grew in 2024.", "Z.", "B of the second."]
    assert (run.status, run.iteration) == ("complete", 1)
    assert len(again) == 1
    assert "<feedback>\nSay which year.\n</feedback>" in again[0]
    assert "<previous>\nIt grew.\n</previous>" in again[0]
    assert '<input task="a">\nIt grew in 2024.\n</input>' in prompts(model, '<input task="a"')[-1]


async def test_what_is_done_again_stands_as_it_was_while_it_asks_a_human_and_where_it_fails_after_that() -> None:
    model = ScriptedModel(
        {
            REVIEWS: [sends_back("a", "Say which year.")],
            "<feedback>": [
                {"name": "publish", "args": {"name": "year.md", "content": "2024"}},
                ModelRejected("no more credit"),
            ],
            '<task id="a"': ["It grew."],
        }
    )
    async with opened(thinker("publish"), model=model) as sup:
        asked = await sup.start("Q", thread_id="t", plan=plan("a", complexity=0.4))
        run = await sup.answer("t", True)

    (before,), (after,) = asked.tasks, run.tasks
    assert (asked.status, before.status, before.result) == ("waiting", "parked", "It grew.")
    assert (after.status, after.result) == ("done", "It grew.")
    assert "no more credit" in " ".join(doubt.said for doubt in run.doubts)
    assert {"<previous>\nIt grew.\n</previous>" in text for text in prompts(model, "<feedback>")} == {True}


async def test_work_that_was_done_again_stays_counted() -> None:
    reviews = [sends_back("a", "More."), Review(verdicts=[Verdict(task_id="a")])]
    model = ScriptedModel({REVIEWS: reviews, '<task id="a"': ["One.", "Two."]}, usage=(10, 1))
    async with opened(thinker(), model=model) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (len(model.calls), run.usage.calls, run.usage.total_tokens) == (4, 4, 44)


@pytest.mark.parametrize(("rounds", "complexity", "made"), [(3, 0.8, 3), (3, 0.4, 1), (0, 0.8, 0), (2, 0.8, 2)])
async def test_a_reviewer_who_is_never_content_does_not_get_more_rounds_than_granted(
    rounds: int, complexity: float, made: int
) -> None:
    model = ScriptedModel({REVIEWS: sends_back("a", "More."), '<task id="a"': "The same."})
    async with opened(thinker(), model=model, max_iterations=rounds) as sup:
        run = await sup.start("Q", plan=plan("a", complexity=complexity))

    looks = made + 1 if made else 0
    assert (run.status, run.iteration) == ("partial" if made else "complete", made)
    assert len(prompts(model, "<request>")) == made + 1 + looks


async def test_a_simple_request_is_not_reviewed() -> None:
    model = ScriptedModel({'<task id="a"': "Paris."})
    async with opened(thinker(), model=model) as sup:
        run = await sup.start("Capital of France?", plan=plan({"id": "a", "tools": False}, complexity=0.1))

    assert run.mode
    assert (run.mode.name, len(model.calls)) == ("simple", 1)


@pytest.mark.parametrize(
    "verdict", [Verdict(task_id="nope", accept=False, feedback="x"), Verdict(task_id="a", accept=False)]
)
async def test_a_verdict_on_nothing_or_without_a_reason_changes_nothing(verdict: Verdict) -> None:
    model = ScriptedModel({REVIEWS: [Review(verdicts=[verdict])], '<task id="a"': ["One."]})
    async with opened(thinker(), model=model) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, run.iteration) == ("complete", 0)


async def test_functions_are_not_shown_to_a_reviewing_model() -> None:
    async with opened(model=ScriptedModel([])) as sup:
        run = await sup.start("Q", plan=plan("a", complexity=0.9))

    assert run.status == "complete"


async def test_made_up_labels_are_sent_back_and_the_good_ones_are_sources(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("LangGraph keeps every step.\n")
    model = ScriptedModel(
        {
            REVIEWS: Review(verdicts=[Verdict(task_id="a"), Verdict(task_id="b")]),
            '<task id="a"': ["It keeps steps [guide.md#L77].", "It keeps every step [guide.md#L1]."],
        }
    )
    async with opened(thinker(), model=model) as sup:
        run = await sup.start("Q", [tmp_path / "guide.md"], plan=plan({"id": "a", "kind": "research"}))

    assert "These citations are not in the sources: [guide.md#L77]." in prompts(model, "<feedback>")[0]
    assert '1. guide.md, line 1: "LangGraph keeps every step."' in (run.report or "")
    assert "L77" not in (run.report or "")


async def test_who_passes_on_a_figure_with_its_label_is_not_sent_back(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("vendor,price\nA,10\nB,14\n")
    query = {"name": "query", "args": {"sql": "SELECT avg(price) FROM prices"}}
    model = ScriptedModel(
        {
            REVIEWS: Review(verdicts=[Verdict(task_id="a"), Verdict(task_id="b")]),
            '<task id="a"': [query, "The average is 12 [prices.csv#table]."],
            '<task id="b"': ["On average 12 dollars [prices.csv#table]."],
        }
    )
    async with opened(thinker("query"), model=model) as sup:
        run = await sup.start("Q", [tmp_path / "prices.csv"], plan=plan({"id": "a", "kind": "analysis"}, "b <- a"))

    assert (run.status, run.iteration) == ("complete", 0)
    assert "On average 12 dollars [1]." in (run.report or "")
    assert "1. prices.csv, computed from the table: `SELECT avg(price) FROM prices`" in (run.report or "")


async def test_several_ends_are_put_together_by_the_model_that_made_them() -> None:
    model = ScriptedModel(
        {
            "You put the findings": ["Both A and B are so."],
            '<task id="a"': ["- The first finding is this.\n- Both of them found this."],
            '<task id="b"': ["- Both of them found this."],
        }
    )
    async with opened(thinker(), model=model, max_iterations=0) as sup:
        run = await sup.start("Q", plan=plan("a", "b"))

    assert (run.report or "").startswith("# Q\n\nBoth A and B are so.\n")
    (given,) = prompts(model, "<finding")
    assert '<finding task="a">\n- The first finding is this.' in given
    assert given.count("- Both of them found this.") == 1


async def the_plan_question(sup: Supervisor, thread: str = "t", **more: Any) -> Run:
    waiting = await sup.start(
        "Q", thread_id=thread, plan=plan("a", "b <- a"), policy={"oversight": "in_command"}, **more
    )
    assert (waiting.status, waiting.phase, [q.action for q in waiting.approvals]) == (
        "waiting",
        "decomposing",
        ["plan"],
    )
    return waiting


async def decided(sup: Supervisor, run: Run, answer: JsonValue) -> Run:
    return await sup.answer(run.thread_id, {run.approvals[0].id: answer})


async def test_in_command_nothing_is_done_before_the_plan_is_approved() -> None:
    work = Turns("So.")
    async with opened(agent(work)) as sup:
        waiting = await the_plan_question(sup)
        before = list(work.tasks)
        run = await all_approved(sup, waiting)

    assert before == []
    assert (run.status, work.tasks) == ("complete", ["a", "b"])


async def test_an_edited_plan_is_the_one_that_is_carried_out() -> None:
    async with opened() as sup:
        waiting = await the_plan_question(sup)
        run = await all_approved(
            sup, await decided(sup, waiting, {"type": "edit", "args": plan("x", "y <- x", "z <- y")})
        )

    assert statuses(run) == {"x": "done", "y": "done", "z": "done"}


async def test_an_edited_plan_gets_the_mode_that_fits_it() -> None:
    async with opened() as sup:
        waiting = await the_plan_question(sup)
        before = waiting.mode
        run = await decided(sup, waiting, {"type": "edit", "args": plan(*"tuvwxyz")})

    assert before is not None
    assert before.name == "dag"
    assert run.mode is not None
    assert run.mode.name == "supervisor"


async def test_a_plan_edited_into_nonsense_leaves_the_question_open() -> None:
    async with opened() as sup:
        waiting = await the_plan_question(sup)
        with pytest.raises(BadInput, match="'x' depends on itself"):
            await decided(sup, waiting, {"type": "edit", "args": plan("x <- x")})
        again = await sup.view(waiting.thread_id)
        assert (again.status, again.approvals) == ("waiting", waiting.approvals)
        run = await all_approved(sup, again)

    assert statuses(run) == {"a": "done", "b": "done"}


async def test_a_rejected_plan_is_planned_again_with_what_was_said() -> None:
    draft = PlanDraft(tasks=[TaskDraft(id="new", description="Do it better.")])
    model = ScriptedModel({PLANS: [draft]})
    async with opened(model=model) as sup:
        waiting = await the_plan_question(sup)
        again = await decided(sup, waiting, {"type": "reject", "message": "one task is enough"})
        assert (again.status, [task.id for task in again.tasks]) == ("waiting", ["new"])
        assert again.approvals[0].id != waiting.approvals[0].id
        run = await all_approved(sup, again)

    assert statuses(run) == {"new": "done"}
    assert "one task is enough" in prompts(model, "<objection>")[0]
