"""A database of the version before: every thread of it is loaded and shown, and goes on to its end."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from graph.testing import HeldClock
from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec, Brief
from state.replies import PlanDraft, Review, TaskDraft
from state.run import Run
from tests import postgres
from tests.runs import agent, all_approved, opened, statuses

WRITTEN_AT = 1_795_308_620.0
"""Seconds since the epoch, just after the last line of it: no deadline has passed."""
ABC_DONE = dict.fromkeys("abc", "done")
B_ASKED = {"a": "done", "b": "parked", "c": "pending"}
PENDING = dict.fromkeys("abc", "pending")
CUT = {"a": "done", "b": "cancelled", "c": "cancelled"}

FOUND: dict[str, tuple[str, str, dict[str, str]]] = {
    "complete": ("complete", "complete", ABC_DONE),
    "planned": ("waiting", "decomposing", PENDING),
    "taken_planned": ("handed_over", "handed_over", PENDING),
    "asked": ("waiting", "executing", B_ASKED),
    "paused": ("paused", "executing", B_ASKED),
    "taken": ("handed_over", "handed_over", B_ASKED),
    "killed": ("paused", "executing", {"a": "done", "b": "running", "c": "pending"}),
    "recruited": ("paused", "executing", {"a": "running", "b": "pending", "c": "pending", "a.r1": "pending"}),
    "cancelled": ("paused", "cancelled", CUT),
    "unplanned": ("failed", "decomposing", {}),
    "reviewing": ("paused", "reviewing", ABC_DONE),
}
"""Status, phase and tasks as each thread was left."""


@pytest.fixture
def db(tmp_path: Path, root: Path) -> Path:
    path = tmp_path / "before.db"
    path.write_bytes(gzip.decompress((root / "tests" / "fixtures" / "version_0_1.db.gz").read_bytes()))
    postgres.bring(path)
    return path


class Work:
    """The agent that wrote it."""

    def __init__(self) -> None:
        self.undone: list[str] = []

    async def __call__(self, brief: Brief, desk: Any) -> str:
        return f"{brief.task.id} is done"


def opened_now(db: Path, *, by_model: bool = False) -> Any:
    """A supervisor of today on it, whose model plans one task."""
    draft = PlanDraft(tasks=[TaskDraft(id="n", description="Do n.")])
    model = ScriptedModel({"You are the supervisor": draft, "You review": Review(verdicts=[])})
    ada = AgentSpec(name="ada", role="generalist") if by_model else agent(Work())
    return opened(ada, model=model, db=db, clock=HeldClock(WRITTEN_AT))


async def test_it_has_these_threads_and_no_others(db: Path) -> None:
    async with opened_now(db) as sup:
        assert {run.thread_id for run in await sup.runs()} == FOUND.keys()


@pytest.mark.parametrize("thread", FOUND)
async def test_each_thread_is_shown_as_it_was_left(db: Path, thread: str) -> None:
    async with opened_now(db) as sup:
        run = await sup.view(thread)

    assert (run.status, run.phase, statuses(run)) == FOUND[thread]
    assert run.query == "How are a, b and c?"


async def resumed(db: Path, thread: str, *, by_model: bool = False) -> Run:
    """The run as it ends when it is resumed, and everything it asks is approved."""
    async with opened_now(db, by_model=by_model) as sup:
        return await all_approved(sup, await sup.resume(thread))


@pytest.mark.parametrize("thread", ["complete", "planned", "taken_planned", "asked", "paused", "taken", "killed"])
async def test_a_thread_that_waits_or_was_stopped_or_killed_goes_on_to_its_end(db: Path, thread: str) -> None:
    run = await resumed(db, thread)

    assert (run.status, statuses(run)) == ("complete", ABC_DONE)
    assert {task.agent for task in run.tasks} == {"ada"}


async def test_a_recruit_is_done_with_the_task_that_asked_for_it(db: Path) -> None:
    run = await resumed(db, "recruited")

    assert (run.status, statuses(run)) == ("complete", {**ABC_DONE, "a.r1": "done"})


async def test_one_that_was_cancelled_and_killed_while_it_undid_things_ends_as_cancelled(db: Path) -> None:
    run = await resumed(db, "cancelled")

    assert (run.status, run.phase, statuses(run)) == ("cancelled", "cancelled", CUT)
    assert "## Rolled back" in (run.report or "")


async def test_one_whose_model_failed_is_planned_when_there_is_a_model(db: Path) -> None:
    run = await resumed(db, "unplanned")

    assert (run.status, statuses(run)) == ("complete", {"n": "done"})


async def test_one_whose_process_died_in_the_reviewer_is_reviewed_again(db: Path) -> None:
    run = await resumed(db, "reviewing", by_model=True)

    assert (run.status, statuses(run)) == ("complete", ABC_DONE)


@pytest.mark.parametrize("thread", ["taken", "taken_planned"])
async def test_what_a_human_holds_is_handed_back_with_results(db: Path, thread: str) -> None:
    async with opened_now(db) as sup:
        run = await all_approved(sup, await sup.hand_back(thread, {"b": "B by hand"}, by="ana"))

    assert (run.status, statuses(run)) == ("complete", ABC_DONE)
    assert [task.agent for task in run.tasks] == ["ada", "human", "ada"]


async def test_a_request_on_a_thread_that_had_ended_is_a_follow_up(db: Path) -> None:
    seen: list[Brief] = []

    async def keeps(brief: Brief, desk: Any) -> str:
        seen.append(brief)
        return "shorter"

    async with opened(agent(keeps), db=db, clock=HeldClock(WRITTEN_AT)) as sup:
        await sup.resume("complete")
        run = await sup.start("shorter", thread_id="complete", to="ada")

    assert run.status == "complete"
    assert [(turn.query, turn.status) for turn in seen[0].earlier] == [("How are a, b and c?", "complete")]
    assert "c is done" in seen[0].earlier[0].answer
