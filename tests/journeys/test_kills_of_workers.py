"""A worker that thinks with a model is killed inside its loop, or the supervisor while it thinks."""

from collections import Counter
from pathlib import Path

import pytest

from graph.supervisor import Supervisor
from state.run import Run
from tests.journeys import stories
from tests.journeys.doom import THREAD, Doom, Telling, die, live, notes
from tests.journeys.turns import in_turns

CALLS = ["plan", "review", "assemble"] + [f"{t} {n}" for t in ("north", "south") for n in range(stories.TICKS + 1)]


def made(folder: Path, kind: str) -> Counter[str]:
    return Counter(line.partition(" ")[2] for line in notes(folder) if line.startswith(kind))


def answer_of(run: Run) -> str:
    """The report without what was used: a call in flight is made again."""
    return str(run.report).partition("\n- Used: ")[0]


async def test_the_undisturbed_story_asks_the_model_what_the_others_are_measured_by(tmp_path: Path) -> None:
    run = await live(stories.workers, tmp_path)
    assert run.status == "complete"
    assert made(tmp_path, "asked") == Counter(CALLS)


@pytest.mark.parametrize(
    ("telling", "again"),
    [
        (stories.dies_planning, {"plan"}),
        (stories.dies_thinking, {"north", "south"}),
        (stories.dies_reviewing, {"review"}),
        (stories.dies_assembling, {"assemble"}),
    ],
)
async def test_only_the_model_call_in_flight_is_made_again(tmp_path: Path, telling: Telling, again: set[str]) -> None:
    """`again`: whose call may be in flight; nobody has more than one."""
    undisturbed = await live(stories.workers, tmp_path / "undisturbed")
    assert await die(telling, tmp_path / "killed")
    run = await live(telling, tmp_path / "killed")

    assert (run.status, answer_of(run)) == ("complete", answer_of(undisturbed))
    asked = made(tmp_path / "killed", "asked")
    assert set(asked) == set(CALLS)
    repeated = Counter(call.partition(" ")[0] for call in (asked - Counter(CALLS)).elements())
    assert repeated <= Counter(again)


async def test_a_worker_killed_in_a_tool_does_not_ask_its_model_again(tmp_path: Path) -> None:
    assert [await die(stories.dies_in_tools, tmp_path) for _ in range(2)] == [True, True]  # in one tool each
    run = await live(stories.dies_in_tools, tmp_path)
    assert run.status == "complete"
    assert made(tmp_path, "asked") == Counter(CALLS)


async def test_a_worker_killed_between_any_two_writes_repeats_at_most_what_was_in_flight(tmp_path: Path) -> None:
    undisturbed = await live(stories.workers, tmp_path / "undisturbed")
    killed: list[bool] = []

    async def story(number: int) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(stories.workers, folder, Doom("after a write", number)))
        run = await live(stories.workers, folder)
        assert (run.status, answer_of(run)) == ("complete", answer_of(undisturbed))
        repeated = made(folder, "asked") - Counter(CALLS)
        assert repeated.total() <= 2, f"killed after write {number}: {repeated}"  # one for each worker

    await in_turns(story, range(6, 46, 5))
    assert sum(killed) >= len(killed) - 1


async def test_an_open_question_survives_a_kill_and_its_answer_is_taken(tmp_path: Path) -> None:
    killed = []

    async def answered(sup: Supervisor) -> Run:
        run = await sup.resume(THREAD)
        assert (run.status, [approval.task_id for approval in run.approvals]) == ("waiting", ["asker"])
        return await sup.answer(THREAD, {run.approvals[0].id: "approve"}, by="ana")

    async def story(number: int) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(stories.asks, folder, Doom("event", number)))
        run = await live(stories.asks, folder, onwards=answered)
        assert (run.status, {task.id: task.result for task in run.tasks}) == (
            "complete",
            {"asker": "asker: approve", "builder": "builder: done", "free": "free: done", "late": "late: done"},
        )
        assert made(folder, "end")["asker"] == 1

    await in_turns(story, range(5, 12))
    assert sum(killed) >= len(killed) - 2
