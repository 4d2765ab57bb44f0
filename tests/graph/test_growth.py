"""Plans grow and shrink on the way: gaps that review finds, tasks that a result has answered. Through the facade."""

from typing import Any

import pytest
from pydantic import JsonValue

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import PolicyInvalid
from state.record import FINAL
from state.replies import Gap, Review, Verdict
from tests.graph.test_review import REVIEWS, prompts, sends_back, thinker
from tests.runs import Turns, agent, all_approved, opened, plan, statuses

GOAL = "How large is the market, who leads it, and what are the risks?"
RISKS = Gap(description="Find the risks of the market.", kind="research")


def finds(*gaps: Gap) -> Review:
    return Review(gaps=list(gaps))


def market(**how: JsonValue) -> dict[str, Any]:
    return plan("size", "who", {"id": "text", "description": GOAL, "depends_on": ["size", "who"]}, **how)


def market_model(*reviews: Review, **more: Any) -> ScriptedModel:
    script: dict[Any, Any] = {
        REVIEWS: [*reviews],
        '<task id="size"': "It is five billion large.",
        '<task id="who"': "Acme leads it.",
        '<task id="text"': ["Five billion; Acme leads.", "Five billion; Acme leads; it may burst."],
        **more,
    }
    return ScriptedModel(script)


async def test_what_review_finds_missing_becomes_a_task_and_only_what_builds_on_it_is_done_again() -> None:
    model = market_model(finds(RISKS), finds(), **{'<task id="gap1"': "It may burst."})
    async with opened(thinker(), model=model) as sup:
        run = await sup.start(GOAL, plan=market())
        events = await sup.events(run.thread_id)

    assert (run.status, run.iteration, statuses(run)["gap1"]) == ("complete", 1, "done")
    assert [task.id for task in run.tasks] == ["size", "who", "text", "gap1"]
    assert run.tasks[2].depends_on == ["size", "who", "gap1"]
    worked = [text for text in prompts(model, "<task id=") if "<result" not in text]
    assert [sum(f'<task id="{name}"' in text for text in worked) for name in ("size", "who", "gap1", "text")] == [
        1, 1, 1, 2
    ]  # fmt: skip
    assert '<input task="gap1">\nIt may burst.\n</input>' in [text for text in worked if '<task id="text"' in text][-1]
    assert run.report
    assert "it may burst" in run.report
    assert [event.task_id for event in events if event.kind == "task_added"] == ["gap1"]


def asked(model: ScriptedModel, name: str) -> int:
    """How often a worker was asked to do a task."""
    return sum(f'<task id="{name}"' in text for text in prompts(model, "<task id=") if "<result" not in text)


async def test_who_writes_the_answer_says_what_its_inputs_lack_and_no_reviewer_is_asked() -> None:
    said = "Five billion; Acme leads.\nInput size: Which year?\nInput who: good\nMissing: Find the risks of the market."
    model = market_model(
        **{
            '<task id="size"': ["Five billion.", "Five billion in 2024."],
            '<task id="text"': [
                said,
                "All of it.\n- **Input size**: good.\n- Input `who`: OK\n- Input gap1: fine\nMissing: -",
            ],
            '<task id="gap1"': "It may burst.",
        }
    )
    async with opened(thinker(), model=model) as sup:
        run = await sup.start(GOAL, plan=market())
    first = next(text for text in prompts(model, '<task id="text"'))

    assert (run.status, run.iteration, run.warnings) == ("complete", 1, [])
    assert [asked(model, name) for name in ("size", "who", "gap1", "text")] == [2, 1, 1, 2]
    assert prompts(model, "<result") == []
    assert [task.result for task in run.tasks][:3] == ["Five billion in 2024.", "Acme leads it.", "All of it."]
    assert '<given task="who">\nDo who.\n</given>' in first


@pytest.mark.parametrize("said", ["So.", "So.\nInput size: good", "So.\nMissing: a sword"])
async def test_who_says_nothing_of_an_input_leaves_it_to_the_reviewer(said: str) -> None:
    model = market_model(finds(), **{'<task id="text"': said})
    async with opened(thinker(), model=model) as sup:
        await sup.start(GOAL, plan=market())

    assert len(prompts(model, "<result")) == 1


async def test_what_may_stand_below_the_answer_is_added_to_it_and_nobody_writes_it_again() -> None:
    review = Review(verdicts=[Verdict(task_id="size", accept=False, feedback="Which year?")], gaps=[RISKS], beside=True)
    work = Turns(
        "Five billion.", "Acme leads.", {"result": "All.", "review": review.model_dump()}, "In 2024.", "It may burst."
    )
    async with opened(agent(work)) as sup:
        run = await sup.start(GOAL, plan=market(complexity=0.9))

    assert (run.status, work.tasks) == ("complete", ["size", "who", "text", "size", "gap1"])
    assert work.briefs[2].reviews == {"size": "Do size.", "who": "Do who."}
    assert [said in (run.report or "") for said in ("All.", "In 2024.", "It may burst.", "Acme leads.")] == [
        True
    ] * 3 + [False]
    assert run.tasks[2].depends_on == ["size", "who", "gap1"]


@pytest.mark.parametrize(
    ("tasks", "how"),
    [
        (market(), {"reviewer": "critic"}),
        (market(), {"max_iterations": 0}),
        (plan("a", "b <- a", "c <- a"), {}),
        (plan("a"), {}),
    ],
)
async def test_who_is_not_the_one_that_ends_it_or_is_reviewed_by_another_is_not_asked(
    tasks: dict[str, Any], how: dict[str, Any]
) -> None:
    work = Turns("So.")
    critic = AgentSpec(name="critic", role="critic", model=ScriptedModel({REVIEWS: finds()}))
    async with opened(agent(work), critic, **how) as sup:
        await sup.start(GOAL, plan=tasks)

    assert [brief.reviews for brief in work.briefs] == [{} for _ in work.briefs]


async def test_the_mode_that_is_shown_follows_a_run_that_grows() -> None:
    model = market_model(finds(RISKS), finds(), **{'<task id="gap1"': "It may burst."})
    async with opened(thinker(), model=model) as sup:
        run = await sup.start(GOAL, plan=market())

    assert run.mode
    assert (run.mode.name, run.mode.reason) == ("supervisor", "the run has grown beyond its plan of 3 tasks")
    assert "- Mode supervisor: the run has grown" in (run.report or "")


async def test_a_simple_run_in_which_somebody_is_recruited_is_shown_as_what_it_is_also_while_it_works() -> None:
    seen = []

    async def recruits(brief: Brief, desk: Any) -> str:
        if brief.task.id == "a":
            await desk.recruit("generalist", "Look into it.")
            seen.append(await sup.view("t"))
        return f"{brief.task.id} done"

    async with opened(agent(recruits)) as sup:
        run = await sup.start("Q", thread_id="t", plan=plan({"id": "a", "tools": False}, complexity=0.1))

    assert [one.mode and one.mode.name for one in (*seen, run)] == ["supervisor", "supervisor"]


async def test_a_gap_that_is_found_too_late_is_said_and_the_run_is_not_complete() -> None:
    model = market_model(sends_back("size", "Which year?"), finds(RISKS))
    async with opened(thinker(), model=model, max_iterations=1) as sup:
        run = await sup.start(GOAL, plan=market())

    assert (run.status, len(run.tasks)) == ("partial", 3)
    assert run.error
    assert "Find the risks of the market." in run.error
    assert "- asked for, and not given to anybody: Find the risks of the market." in (run.report or "")


@pytest.mark.parametrize(
    "gap", [Gap(description=" "), Gap(description="Do size."), Gap(description="do the sizes!", kind="action")]
)
async def test_what_says_nothing_or_what_a_task_was_given_is_no_gap(gap: Gap) -> None:
    model = market_model(finds(gap))
    async with opened(thinker(), model=model) as sup:
        run = await sup.start(GOAL, plan=market())

    assert (run.status, run.iteration, len(run.tasks)) == ("complete", 0, 3)


async def test_what_is_added_waits_for_a_human_like_any_other_task() -> None:
    model = market_model(finds(RISKS), finds(), **{'<task id="gap1"': "It may burst."})
    async with opened(thinker(), model=model, oversight="in_command") as sup:
        run = await sup.start(GOAL, plan=market())
        asked = []
        while run.status == "waiting":
            asked += [question.task_id for question in run.approvals]
            run = await sup.answer(run.thread_id, {question.id: True for question in run.approvals})

    assert ("gap1" in asked, run.status) == (True, "complete")


async def test_nothing_is_added_once_the_budget_is_used_up() -> None:
    model = market_model(finds(RISKS))
    model.usage = (300, 100)
    async with opened(thinker(), model=model, token_budget=1_700, max_tokens={"worker": 100, "review": 100}) as sup:
        run = await sup.start(GOAL, plan=market())

    assert (len(run.tasks), run.iteration) == (3, 0)


async def test_a_task_that_a_dependency_has_answered_is_left_out() -> None:
    work = Turns({"result": "Ten, which is twice five.", "also_answers": ["b", "nobody"]}, "c is done")
    async with opened(agent(work)) as sup:
        run = await sup.start("Q", plan=plan("a", "b <- a", "c <- b"))
        (trust,) = (await sup.trust()).values()
        events = await sup.events(run.thread_id)

    assert (run.status, work.tasks) == ("complete", ["a", "c"])
    assert work.briefs[0].then == {"b": "Do b."}
    assert work.briefs[1].inputs == {"b": "Ten, which is twice five."}
    assert "- `b` was not done: the result of `a` answers it" in (run.report or "")
    assert trust.tasks_completed == 2
    assert [e.data["answered_by"] for e in events if e.kind == "task_finished" and e.data.get("answered_by")] == ["a"]


@pytest.mark.parametrize(
    "told",
    [
        {"id": "b", "depends_on": ["a"], "action": "publish"},
        {"id": "b", "depends_on": ["a"], "kind": "critical"},
        {"id": "b", "depends_on": ["a", "z"]},
    ],
)
async def test_what_acts_is_critical_or_builds_on_more_is_done_whatever_is_said(told: dict[str, JsonValue]) -> None:
    work = Turns({"result": "So.", "also_answers": ["b"]})
    async with opened(agent(work)) as sup:
        run = await all_approved(sup, await sup.start("Q", plan=plan("z", "a", told)))

    assert (run.status, "b" in work.tasks) == ("complete", True)


async def test_in_command_nothing_is_left_out() -> None:
    work = Turns({"result": "So.", "also_answers": ["b"]})
    async with opened(agent(work), oversight="in_command") as sup:
        run = await all_approved(sup, await sup.start("Q", plan=plan("a", "b <- a")))

    assert (run.status, work.tasks) == ("complete", ["a", "b"])


async def test_a_model_says_so_in_a_line_and_what_the_reviewer_does_not_believe_is_done_after_all() -> None:
    script: Any = {
        REVIEWS: [sends_back("b", "That is no reason."), Review(verdicts=[Verdict(task_id="b")])],
        '<task id="a"': "It grew.\nAlso answers: b\nConfidence: 0.9",
        '<task id="b"': "Because of prices.",
    }
    model = ScriptedModel(script)
    async with opened(thinker(), model=model) as sup:
        run = await sup.start("Q", plan=plan("a", "b <- a"))
    (brief,) = [text for text in prompts(model, '<task id="a"') if "<result" not in text]

    assert [task.result for task in run.tasks] == ["It grew.", "Because of prices."]
    assert (run.status, run.iteration) == ("complete", 1)
    assert '<next task="b">\nDo b.\n</next>' in brief


async def test_the_reviewer_may_be_an_agent_with_a_model_of_its_own_and_then_sees_what_functions_did() -> None:
    reviews = ScriptedModel(
        {REVIEWS: [sends_back("a", "Too vague."), Review(verdicts=[Verdict(task_id="a")])]}, name_for_people="critic"
    )
    critic = AgentSpec(name="critic", role="critic", model=reviews, instructions="Be strict about units.")
    work = Turns("Some.", "Twelve kilograms.")
    async with opened(agent(work), critic, reviewer="critic") as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert (run.status, [task.result for task in run.tasks]) == ("complete", ["Twelve kilograms."])
    assert [brief.feedback for brief in work.briefs] == ["", "Too vague."]
    assert "Be strict about units." in reviews.calls[0].messages[0].text


async def test_a_result_that_is_sent_back_stands_where_doing_it_again_fails() -> None:
    reviews = ScriptedModel({REVIEWS: sends_back("a", "Which unit?")})
    critic = AgentSpec(name="critic", role="critic", model=reviews)
    work = Turns("Twelve.", ValueError("no ships"))
    async with opened(agent(work), critic, reviewer="critic", max_iterations=1, max_attempts=1) as sup:
        run = await sup.start("Q", plan=plan("a"))

    assert [(task.status, task.result) for task in run.tasks] == [("done", "Twelve.")]
    assert work.briefs[1].feedback == "Which unit?"
    assert run.status == "partial"
    assert "Which unit?, and could not be done again" in str(run.error)
    assert "a was sent back, and doing it again failed: ValueError: no ships" in str(run.report)


@pytest.mark.parametrize(("name", "says"), [("nobody", "not in the team"), ("ada", "not led by a chat model")])
async def test_a_reviewer_that_cannot_review_is_refused_by_name(name: str, says: str) -> None:
    async with opened(reviewer=name) as sup:
        with pytest.raises(PolicyInvalid, match=says):
            await sup.start("Q", plan=plan("a"))


@pytest.mark.parametrize(("required", "status"), [(True, "partial"), (False, "complete")])
async def test_the_third_refusal_ends_in_a_report_that_says_what_is_missing(required: bool, status: str) -> None:
    model = ScriptedModel(
        {
            REVIEWS: [sends_back("a", f"Refused {n}.") for n in (1, 2, 3)],
            '<task id="a"': ["One.", "Two.", "Three."],
            '<task id="b"': "B of it.",
            '<task id="z"': "Z.",
        }
    )
    tasks = plan({"id": "a", "required": required}, "z", "b <- a", complexity=0.9)
    async with opened(thinker(), model=model) as sup:
        run = await sup.start("Q", plan=tasks)
    worked = [text for text in prompts(model, "<task id=") if "<result" not in text]

    assert (run.status, run.iteration) == (status, 2)
    assert [sum(f'<task id="{name}"' in text for text in worked) for name in "azb"] == [3, 1, 3]
    assert "- `a` (not accepted), Do a.: Refused 3." in (run.report or "")
    assert ("**Not complete:**" in (run.report or "")) == required
    assert all(task.status in FINAL for task in run.tasks)
