"""Runs learn from runs: what went well for requests of one kind is the plan for the next of it, and says so."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from graph.sqlite.database import SqliteDatabase
from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.errors import AgentFailed
from state.replies import Gap, Review
from state.run import Run
from tests.graph.test_review import PLANS, REVIEWS
from tests.runs import agent, all_approved, opened

DRAFT: dict[str, JsonValue] = {
    "tasks": [
        {
            "id": "size",
            "description": "Find out how large the AI Agent market is",
            "role": "researcher",
            "kind": "research",
        },
        {"id": "who", "description": "Compare who sells AI Agents", "role": "analyst", "kind": "analysis"},
        {
            "id": "text",
            "description": "Write the report: Analyze the AI Agent market",
            "role": "writer",
            "kind": "writing",
            "depends_on": ["size", "who"],
        },
    ]
}
OTHER: dict[str, JsonValue] = {"tasks": [{"id": "t", "description": "Do it", "kind": "general"}]}
DB = Path("learned.db")


class Workers:
    """Agents that are functions; they fail while they are told to."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.is_broken = False

    async def __call__(self, brief: Brief, desk: Any) -> str:
        self.said.append(brief.task.description)
        if self.is_broken:
            raise AgentFailed("nothing works today")
        return f"done: {brief.task.description}"


TEAM = ("researcher", "analyst", "writer")


async def run_of(work: Workers, request: str, thread: str, *drafts: dict[str, JsonValue], **policy: Any) -> Run:
    """A run in a process of its own, as far as the database can tell; its model has these drafts and no more."""
    model = ScriptedModel([*drafts])
    team = [agent(work, name=f"{role}-1", role=role) for role in TEAM]
    clock = HeldClock()
    clock.time += 60 * len(work.said) + 1
    async with opened(*team, model=model, db=DB, clock=clock, **policy) as sup:
        run = await all_approved(sup, await sup.start(request, thread_id=thread))
    assert len(model.calls) == len(drafts)
    return run


async def market_analysed(work: Workers, times: int = 3, **policy: Any) -> None:
    for n in range(times):
        assert (await run_of(work, "Analyze the AI Agent market", f"ai {n}", DRAFT, **policy)).status == "complete"
    work.said.clear()
    work.said += ["later"] * 20


async def test_what_went_well_three_times_is_the_plan_for_the_next_of_its_kind_without_asking_a_model() -> None:
    work = Workers()
    await market_analysed(work)
    run = await run_of(work, "Analyze the RPA market", "rpa")
    async with opened(db=DB) as sup:
        again, events = await sup.view("rpa"), await sup.events("rpa")

    assert (run.status, [task.id for task in run.tasks]) == ("complete", ["size", "who", "text"])
    assert [task.description for task in run.tasks] == [
        "Find out how large the RPA market is",
        "Compare who sells RPA",
        "Write the report: Analyze the RPA market",
    ]
    assert [task.agent for task in run.tasks] == ["researcher-1", "analyst-1", "writer-1"]
    assert run.tasks[2].depends_on == ["size", "who"]
    assert again.advice
    assert (again.advice.is_applied, sorted(again.advice.threads)) == (True, ["ai 0", "ai 1", "ai 2"])
    assert (again.advice.runs, again.advice.successes) == (3, 3)
    assert 0.8 < again.advice.confidence == round(again.advice.success_rate * again.advice.similarity, 4)
    assert run.report
    assert "- Learned: the plan was taken from earlier runs (ai 2, ai 1, ai 0): 3 of 3 went well" in run.report
    (told,) = [event for event in events if event.kind == "plan_advised"]
    assert (told.data["applied"], told.data["confidence"]) == (True, again.advice.confidence)


@pytest.mark.parametrize(
    "request_", ["Plan a breakfast menu", "Delete the AI Agent market analysis", "Do not analyze it"]
)
async def test_what_asks_something_else_gets_nothing(request_: str) -> None:
    work = Workers()
    await market_analysed(work)
    run = await run_of(work, request_, "other", OTHER)

    assert (run.advice, [task.id for task in run.tasks]) == (None, ["t"])
    assert "Learned" not in (run.report or "")


async def test_one_lucky_run_is_no_evidence() -> None:
    work = Workers()
    await market_analysed(work, times=1)
    assert (await run_of(work, "Analyze the RPA market", "rpa", OTHER)).advice is None


async def test_a_plan_that_begins_to_fail_is_not_proposed_again() -> None:
    work = Workers()
    await market_analysed(work)
    work.is_broken = True
    failed = await run_of(work, "Analyze the RPA market", "rpa", max_attempts=1, consecutive_failures=20)
    work.is_broken = False
    next_one = await run_of(work, "Analyze the coffee market", "coffee", OTHER)

    assert (failed.status, failed.advice and failed.advice.is_applied) == ("failed", True)
    assert (next_one.advice, next_one.status) == (None, "complete")


async def test_a_plan_that_a_human_rejects_is_not_proposed_again() -> None:
    work = Workers()
    await market_analysed(work)
    model = ScriptedModel([OTHER])
    async with opened(agent(work), model=model, db=DB, oversight="in_command") as sup:
        run = await sup.start("Analyze the RPA market", thread_id="rpa")
        assert (len(run.tasks), run.advice and run.advice.is_applied) == (3, True)
        run = await sup.answer("rpa", {run.approvals[0].id: {"type": "reject", "message": "too much"}})
        run = await all_approved(sup, run)
    assert (len(run.tasks), run.advice and run.advice.is_rejected) == (1, True)

    assert (await run_of(work, "Analyze the coffee market", "coffee", OTHER)).advice is None


async def test_suggest_shows_the_plan_to_whoever_plans_and_applies_nothing() -> None:
    work = Workers()
    await market_analysed(work)
    model = ScriptedModel([OTHER])
    async with opened(agent(work), model=model, db=DB, learning="suggest") as sup:
        run = await sup.start("Analyze the RPA market")

    asked = "\n".join(message.text for message in model.calls[0].messages)
    assert ("plan-before" in asked, "how large the AI Agent market is" in asked) == (True, True)
    assert (run.advice and run.advice.is_applied, len(run.tasks)) == (False, 1)
    assert "- Learned: a plan was suggested by earlier runs" in (run.report or "")


@pytest.mark.of_files  # it listens to SQLite
async def test_with_learning_off_nothing_is_remembered_and_nothing_looked_up() -> None:
    work = Workers()
    await market_analysed(work, learning="off")
    async with opened(db=DB) as sup:
        assert not await sup._runs.database.store.asearch(("episodes",))
    await market_analysed(work)
    asked: list[str] = []
    async with opened(agent(work), model=ScriptedModel([OTHER]), db=DB, learning="off") as sup:
        database = sup._runs.database
        assert isinstance(database, SqliteDatabase)
        database.connection.sqlite.set_trace_callback(asked.append)
        run = await sup.start("Analyze the RPA market")
        database.connection.sqlite.set_trace_callback(None)

    assert run.advice is None
    assert not [statement for statement in asked if "episodes" in statement]


async def test_a_follow_up_is_no_new_request_of_its_kind() -> None:
    work = Workers()
    await market_analysed(work)
    await run_of(work, "Compare tea and coffee", "talk", OTHER)
    work.said += ["later"] * 5
    run = await run_of(work, "Analyze the RPA market", "talk", OTHER)

    assert run.advice is None


async def test_work_moves_away_from_an_agent_that_keeps_failing_at_its_kind_and_the_scores_say_why() -> None:
    broken, sound, clock = Workers(), Workers(), HeldClock()
    broken.is_broken = True
    task: dict[str, JsonValue] = {
        "tasks": [{"id": "a", "description": "Count it.", "role": "nobody", "kind": "analysis"}]
    }
    team = [
        agent(broken, name="weak", role="one", skills={"kinds": {"analysis": 0.9}}),
        agent(sound, name="next", role="two", skills={"kinds": {"analysis": 0.8}}),
    ]
    chosen = []
    async with opened(*team, db=DB, clock=clock, max_attempts=1) as sup:
        for _ in range(12):
            clock.time += 60
            run = await sup.start("Q", plan=task)
            chosen.append(run.tasks[0].scores[0].agent)
        still = await sup.start("Q", plan=task, policy={"learning": "suggest"})

    assert (chosen[0], chosen[-1], run.status) == ("weak", "next", "complete")
    assert -0.15 <= min(score.learned for score in run.tasks[0].scores) < 0 < run.tasks[0].scores[0].learned <= 0.15
    assert still.tasks[0].scores[0].agent == "weak"


async def test_a_simple_request_of_a_known_shape_costs_one_answer_and_nothing_else() -> None:
    simple: dict[str, JsonValue] = {
        "tasks": [{"id": "t", "description": "Translate the motto of Rome into German", "needs_tools": False}],
        "complexity": 0.1,
    }
    one = AgentSpec(name="ada", role="generalist")
    for n in range(3):
        model = ScriptedModel({PLANS: [simple], "<task id=": "So."})
        async with opened(one, model=model, db=DB) as sup:
            await sup.start("Translate the motto of Rome into German", thread_id=f"r{n}")
        assert len(model.calls) == 2
    model = ScriptedModel({"<task id=": "So."})
    async with opened(one, model=model, db=DB) as sup:
        run = await sup.start("Translate the motto of Paris into German", thread_id="p")

    assert (run.status, run.mode and run.mode.name, len(model.calls)) == ("complete", "simple", 1)
    assert [task.description for task in run.tasks] == ["Translate the motto of Paris into German"]
    assert run.usage.calls == 1


async def test_a_plan_that_review_has_completed_is_the_whole_plan_for_the_next_of_its_kind() -> None:
    gap = Review(gaps=[Gap(description="Find the risks of the AI Agent market", kind="research", role="researcher")])
    script: dict[Any, Any] = {PLANS: DRAFT, "<task id=": "So."}
    team = [AgentSpec(name=f"{role}-1", role=role) for role in TEAM]
    for n in range(3):
        model = ScriptedModel({REVIEWS: [gap, Review()], **script})
        async with opened(*team, model=model, db=DB) as sup:
            assert (await sup.start("Analyze the AI Agent market", thread_id=f"a{n}")).status == "complete"
        spent = len(model.calls)
    model = ScriptedModel({REVIEWS: [Review()], "<task id=": "So."})
    async with opened(*team, model=model, db=DB) as sup:
        run = await sup.start("Analyze the RPA market", thread_id="r")

    assert [task.id for task in run.tasks] == ["size", "who", "text", "gap1"]
    assert run.tasks[3].description == "Find the risks of the RPA market"
    assert (run.status, run.iteration, spent - len(model.calls)) == ("complete", 0, 3)


async def test_a_task_that_review_words_with_a_passage_of_the_sources_is_not_remembered_by_it(tmp_path: Path) -> None:
    passage = "the secret yield of the northern plant fell by nine percent in May"
    (tmp_path / "notes.md").write_text(f"We know that {passage}.\n")
    gap = Review(gaps=[Gap(description=f"Explain why {passage}.", kind="research")])
    work = f"It says that {passage} [notes.md#L1]."
    model = ScriptedModel({PLANS: DRAFT, REVIEWS: [gap, Review()], "<task id=": work})
    async with opened(AgentSpec(name="ada", role="generalist"), model=model, db=DB) as sup:
        run = await sup.start("Analyze the AI Agent market", [tmp_path / "notes.md"])
        kept = await sup._runs.database.store.asearch(("episodes",))

    assert "gap1" in [task.id for task in run.tasks]
    assert len(kept) == 1
    assert "secret yield" not in str(kept[0].value)
    assert kept[0].value["is_whole"] is False
