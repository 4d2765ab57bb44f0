"""Killed while agents below agents are at work: nothing that ended is done again, and questions at the bottom stay.

However often it is killed, a question is asked, answered, told and recorded once, in the outermost run.
"""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from graph.supervisor import Supervisor
from nodes.runtime.rows import read_all, space
from state.approval import Decision
from state.run import Run
from state.signal import Decide
from tests.journeys import nested_stories as stories
from tests.journeys.below import once, recorded, until_asked
from tests.journeys.doom import THREAD, Doom, Moment, Telling, die, live, notes, opened
from tests.journeys.turns import in_turns, thinned

SIGNED = "a letter, signed: True"


async def all_recorded(telling: Telling, folder: Path) -> dict[str, list[str]]:
    """What is on record of each question; nobody was told of any other."""
    async with opened(telling(folder), folder) as sup:
        found = await recorded(sup)
        assert {item.key for item in await read_all(sup.graph.store, space("told", THREAD))} <= set(found)
    return found


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
        assert list((await all_recorded(stories.three_levels, folder)).values()) == [once("ana")]

    await in_turns(story, range(4, 80, 11))
    assert sum(killed) >= len(killed) - 1


async def test_three_levels_killed_while_waiting_do_nothing_again(tmp_path: Path) -> None:
    waiting = await live(stories.three_levels, tmp_path)
    assert (waiting.status, waiting.approvals[0].path) == ("waiting", ["mid", "low", "signer"])
    await die(stories.three_levels, tmp_path)  # another process looks, and goes
    run = await live(stories.three_levels, tmp_path, onwards=answered)

    assert run.status == "complete"
    assert sorted(notes(tmp_path)) == stories.EVERYTHING
    assert list((await all_recorded(stories.three_levels, tmp_path)).values()) == [once("ana")]


async def answer_when_asked(folder: Path) -> None:
    """Answer the question two levels down as soon as it is asked, whichever process runs the rest."""
    async with opened(stories.asks_below_beside_work(folder), folder) as sup:
        await until_asked(sup, stories.ASKED)
        decision = Decision(type="approve", by="ana")
        await sup._runs.signal(THREAD, Decide(approval=stories.ASKED, decision=decision))


@pytest.mark.parametrize(("moment", "first"), thinned([("before a write", 50), ("after a write", 46)]))
async def test_killed_while_it_is_asked_and_answered_two_levels_down(
    tmp_path: Path, moment: Moment, first: int
) -> None:
    killed: list[bool] = []

    async def story(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        answering = asyncio.create_task(answer_when_asked(folder))
        killed.append(await die(stories.asks_below_beside_work, folder, Doom(moment, number)))
        run = await live(stories.asks_below_beside_work, folder)
        await answering
        assert (run.status, "approve by ana" in str(run.tasks[0].result)) == ("complete", True)
        ran = Counter(line.partition(" at ")[0] for line in notes(folder))
        assert ran["unparked"] <= 2, f"killed {moment} {number}: {ran}"
        assert await all_recorded(stories.asks_below_beside_work, folder) == {stories.ASKED: once("ana")}

    await in_turns(story, range(first, first + 64, 8))
    assert sum(killed) >= len(killed) - 3


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
