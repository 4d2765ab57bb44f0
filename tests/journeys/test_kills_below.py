"""Killed while agents below agents are at work: nothing that ended is done again, and questions at the bottom stay."""

from collections import Counter
from pathlib import Path

from graph.supervisor import Supervisor
from state.run import Run
from tests.journeys import nested_stories as stories
from tests.journeys.doom import THREAD, Doom, die, live, notes
from tests.journeys.turns import in_turns

SIGNED = "a letter, signed: True"


async def answered(sup: Supervisor) -> Run:
    """Go on to the question, and answer it."""
    run = await sup.resume(THREAD)
    assert (run.status, [question.args for question in run.approvals]) == ("waiting", [{"sign": "a letter"}])
    return await sup.answer(THREAD, {run.approvals[0].id: "approve"}, by="ana")


async def test_three_levels_killed_resumed_by_another_process_and_answered(tmp_path: Path) -> None:
    killed: list[bool] = []

    async def story(number: int) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(stories.three_levels, folder, Doom("after a write", number)))
        run = await live(stories.three_levels, folder, onwards=answered)
        assert (run.status, run.tasks[1].result) == ("complete", "other did free")
        assert SIGNED in str(run.tasks[0].result)
        assert run.tasks[0].agent == "mid"
        ran = Counter(notes(folder))
        assert sorted(ran) == stories.EVERYTHING
        repeated = [line for line, times in ran.items() if times > 1]
        assert len(repeated) <= 2, f"killed after write {number}: {repeated}"  # what was in flight, one for each branch

    await in_turns(story, range(4, 80, 11))
    assert sum(killed) >= len(killed) - 1


async def test_three_levels_killed_while_waiting_do_nothing_again(tmp_path: Path) -> None:
    waiting = await live(stories.three_levels, tmp_path)
    assert (waiting.status, waiting.approvals[0].path) == ("waiting", ["mid", "low", "signer"])
    await die(stories.three_levels, tmp_path)  # another process looks, and goes
    run = await live(stories.three_levels, tmp_path, onwards=answered)

    assert run.status == "complete"
    assert sorted(notes(tmp_path)) == stories.EVERYTHING


async def test_delegations_that_ended_are_not_repeated(tmp_path: Path) -> None:
    killed: list[bool] = []

    async def story(number: int) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(stories.delegating, folder, Doom("after a write", number)))
        run = await live(stories.delegating, folder, onwards=answered)
        assert (run.status, run.tasks[0].result) == ("complete", f"lead: aide did it; mid: {SIGNED}")
        ran = Counter(line for line in notes(folder) if line.startswith("ran "))
        assert set(ran) == {"ran aide", "ran draft", "ran sign"}
        assert ran["ran sign"] == 1
        assert sum(ran.values()) <= 4, f"killed after write {number}: {ran}"

    await in_turns(story, range(6, 60, 9))
    assert sum(killed) >= len(killed) - 2
