"""A process is killed, another one goes on: what was finished is not done again, and the report is the same."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.journeys.doom import THREAD, Doom, Moment, die, live, notes, opened
from tests.journeys.stories import twelve
from tests.journeys.turns import in_turns


async def ended_before(folder: Path) -> set[str]:
    """Tasks whose end was both written down by the agent and recorded."""
    async with opened(twelve(folder), folder) as sup:
        recorded = {event.task_id for event in await sup.events(THREAD) if event.kind == "task_finished"}
    return {line.split()[1] for line in notes(folder) if line.startswith("end")} & recorded


@pytest.mark.parametrize(
    ("moment", "numbers"),
    [
        ("event", range(3, 29, 2)),
        ("before a write", range(4, 42, 6)),
        ("after a write", range(4, 42, 6)),
        ("seconds", [0.05, 0.1, 0.15]),
    ],
)
async def test_a_run_that_was_killed_ends_as_if_nothing_had_happened(
    tmp_path: Path, moment: Moment, numbers: Iterable[float]
) -> None:
    undisturbed = await live(twelve, tmp_path / "undisturbed")
    killed: list[bool] = []

    async def story(number: float) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(twelve, folder, Doom(moment, number)))
        ended = await ended_before(folder)
        run = await live(twelve, folder)
        assert (run.status, run.report) == ("complete", undisturbed.report)
        starts = [line.split()[1] for line in notes(folder) if line.startswith("start")]
        assert [task for task in ended if starts.count(task) != 1] == []

    await in_turns(story, numbers)
    assert sum(killed) >= len(killed) - 2
