"""In every phase a run can be taken and given back, paused and resumed, and cancelled; nothing counts twice."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from state.agent import Brief
from state.errors import AgentFailed
from state.replies import Review, Verdict
from state.signal import Cancel, Pause, Recruit, Signal, Takeover
from tests.journeys.doom import THREAD, notes
from tests.journeys.phases import PHASES, UNDISTURBED, spoken_to
from tests.runs import agent, opened, plan, statuses

TAKEOVER = Takeover(reason="I know this one", by="ana")
NORTH = {"id": "north", "description": "Look into north."}
BEFORE = {phase: Counter({name: UNDISTURBED[name] for name in PHASES[:n]}) for n, phase in enumerate(PHASES)}
"""The model calls that have been made when a phase begins."""
SUPERVISING = ("decomposing", "reviewing", "assembling")
"""Phases in which the supervisor itself asks a model."""


@pytest.fixture
def another(tmp_path: Path) -> Path:
    """A folder for the run that nobody disturbs."""
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    return folder


async def undisturbed(folder: Path) -> tuple[str | None, Counter[str]]:
    async with spoken_to(folder) as (sup, model):
        run = await sup.start("Q", thread_id=THREAD)
        assert run.status == "complete"
        return run.report, model.asked


async def test_the_undisturbed_run_is_in_every_phase(another: Path) -> None:
    report, asked = await undisturbed(another)

    assert asked == UNDISTURBED
    assert "North and south agree." in (report or "")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    ("results", "changed", "agents"),
    [
        ({"north": "North by hand."}, None, {"north": "human", "south": "ada"}),
        ({"x": "X by hand."}, {"tasks": [NORTH, {"id": "x", "description": "Do x."}]}, {"north": "ada", "x": "human"}),
    ],
    ids=["with results", "with a changed plan"],
)
async def test_a_run_that_is_taken_goes_on_with_what_the_human_has_done(
    tmp_path: Path, phase: str, results: dict[str, Any], changed: Any, agents: dict[str, str]
) -> None:
    async with spoken_to(tmp_path, phase, TAKEOVER) as (sup, _):
        taken = await sup.start("Q", thread_id=THREAD)
        assert (taken.status, taken.phase, taken.report) == ("handed_over", "handed_over", None)
        run = await sup.hand_back(THREAD, results, changed, by="ana")

    assert (run.status, {task.id: task.agent for task in run.tasks}) == ("complete", agents)
    by_model = next(name for name, agent in agents.items() if agent == "ada")
    assert all(text in (run.report or "") for text in (*results.values(), f"{by_model} is looked into."))
    assert "North and south agree." not in (run.report or "")
    assert notes(tmp_path).count(f"left {by_model}") == 1


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("said", [Pause(by="ana"), TAKEOVER], ids=["paused", "taken"])
async def test_a_run_that_is_given_back_as_it_was_ends_as_if_nothing_had_been_said(
    tmp_path: Path, another: Path, phase: str, said: Signal
) -> None:
    report, asked = await undisturbed(another)
    async with spoken_to(tmp_path, phase, said) as (sup, model):
        stopped = await sup.start("Q", thread_id=THREAD)
        assert stopped.status == {"pause": "paused", "takeover": "handed_over"}[said.kind]
        run = await sup.resume(THREAD)

    used = "\n- Used: "  # what was thought in vain counts
    assert (run.status, str(run.report).partition(used)[0]) == ("complete", str(report).partition(used)[0])
    void = Counter({phase: 1}) if phase in ("reviewing", "assembling") else Counter[str]()
    assert model.asked == asked + void
    assert sorted(notes(tmp_path)) == ["left north", "left south"]


@pytest.mark.parametrize("phase", PHASES)
async def test_a_run_that_is_cancelled_ends_there_and_is_rolled_back(tmp_path: Path, phase: str) -> None:
    cancel = Cancel(rollback=True, by="ana")
    async with spoken_to(tmp_path, phase, cancel, max_parallel=1) as (sup, model):
        run = await sup.start("Q", thread_id=THREAD)

    assert (run.status, run.phase) == ("cancelled", "cancelled")
    during = Counter({phase: 1}) if phase in SUPERVISING else Counter[str]()  # a worker's call is broken off
    assert model.asked == BEFORE[phase] + during
    left = ["north", "south"] if phase in ("reviewing", "assembling") else []
    assert notes(tmp_path) == [*(f"left {name}" for name in left), *(f"took {name}" for name in reversed(left))]
    assert "## Rolled back" in (run.report or "")
    assert "North and south agree." not in (run.report or "")


async def test_what_was_recruited_while_the_answer_was_put_together_is_reviewed(tmp_path: Path) -> None:
    more = Recruit(role="helper", task="Look at it all.", by="ana")
    async with spoken_to(tmp_path, "assembling", TAKEOVER, more) as (sup, model):
        await sup.start("Q", thread_id=THREAD)
        run = await sup.hand_back(THREAD)

    assert (run.status, set(statuses(run).values()), len(run.tasks)) == ("complete", {"done"}, 3)
    assert (model.asked["reviewing"], model.asked["assembling"]) == (2, 2)


@pytest.mark.parametrize("phase", ["reviewing", "assembling"])
@pytest.mark.parametrize("on_record", [True, False], ids=["before the model is asked", "while it thinks"])
async def test_who_is_recruited_when_all_is_done_does_his_task_and_it_is_reviewed_and_reported(
    tmp_path: Path, phase: str, *, on_record: bool
) -> None:
    more = Recruit(role="helper", task="Look at it all.", by="ana")
    async with spoken_to(tmp_path, phase, more, on_record=on_record) as (sup, _):
        run = await sup.start("Q", thread_id=THREAD)

    assert (run.status, [task.agent for task in run.tasks]) == ("complete", ["ada", "ada", "hal"])
    assert set(statuses(run).values()) == {"done"}


async def test_what_was_changed_is_reviewed_only_as_often_as_is_granted(tmp_path: Path) -> None:
    back = Review(verdicts=[Verdict(task_id="north", accept=False, feedback="Say more.")])
    async with spoken_to(tmp_path, "assembling", TAKEOVER, max_iterations=1) as (sup, model):
        model.script = {"You review": [back], **model.script}
        await sup.start("Q", thread_id=THREAD)
        run = await sup.hand_back(THREAD, {"south": "South by hand."})

    assert (run.status, run.iteration, model.asked["reviewing"]) == ("complete", 1, 3)
    assert "South by hand." in (run.report or "")


@pytest.mark.parametrize("said", [Pause(by="ana"), TAKEOVER], ids=["paused", "taken"])
async def test_a_run_that_is_stopped_before_the_answer_is_put_together_asks_no_model_for_it(
    tmp_path: Path, said: Signal
) -> None:
    async with spoken_to(tmp_path, "assembling", said, on_record=True) as (sup, model):
        await sup.start("Q", thread_id=THREAD)
        assert model.asked == BEFORE["assembling"]
        run = await sup.resume(THREAD)

    assert (run.status, model.asked) == ("complete", UNDISTURBED)


async def test_a_run_that_has_given_up_ends_whoever_takes_the_wheel_then(tmp_path: Path) -> None:
    async def fails(brief: Brief, desk: Any) -> str:
        await sup.signal(THREAD, TAKEOVER)
        raise AgentFailed("it broke", "permanent")

    async with opened(agent(fails)) as sup:
        run = await sup.start("Q", thread_id=THREAD, plan=plan("a"))

    assert (run.status, run.error) == (
        "failed",
        "1 of 1 tasks failed; at 1 the run stops (threshold 50%); the last one: it broke",
    )
