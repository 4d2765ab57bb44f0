"""A process is killed while a question is asked, told, decided by its deadline, and while trust is counted.

Whenever that happens: one line of record for the request and one for the decision, in a chain that holds, and one run
in the agent's book.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from nodes.runtime.rows import read_all, space
from state.agent import Brief
from tests.journeys.below import unit
from tests.journeys.doom import THREAD, Doom, Moment, Story, Telling, die, note, notes, opened
from tests.journeys.doom import live as lived
from tests.journeys.turns import in_turns
from tests.runs import agent, plan


def decided_by_deadline(folder: Path) -> Story:
    """One task asks, and nobody answers within a moment; the other works until it was decided."""

    async def work(brief: Brief, desk: object) -> str:
        if brief.task.id == "other":
            while "decided" not in notes(folder):  # noqa: ASYNC110 # it may have been another process's
                await asyncio.sleep(0.005)
            return "Fine."
        decision = await desk.ask("launch", risk="low")  # type: ignore[attr-defined]
        note(folder, "decided")
        return f"{decision.type} by {decision.by}"

    return Story([agent(work)], plan("ask", "other"), {"approval_timeout_s": 0.001})


def decided_two_levels_down(folder: Path) -> Story:
    """The same, where the one that asks does so two levels down."""
    top = decided_by_deadline(folder)
    low = unit("low", *top.team, tasks=("ask",))
    team = [*top.team, unit("mid", low, tasks=("m: low",))]
    return Story(team, plan({"id": "a", "role": "mid"}, "other"), {**top.policy, "max_iterations": 0})


@pytest.mark.parametrize(
    ("telling", "moment", "numbers"),
    [
        (decided_by_deadline, "event", range(3, 16, 2)),
        (decided_by_deadline, "before a write", range(6, 50, 5)),
        (decided_by_deadline, "after a write", range(6, 50, 5)),
        (decided_two_levels_down, "before a write", range(44, 124, 10)),
        (decided_two_levels_down, "after a write", range(49, 124, 10)),
    ],
)
async def test_a_question_is_asked_and_decided_once_whenever_the_process_dies(
    tmp_path: Path, telling: Telling, moment: Moment, numbers: Iterable[float]
) -> None:
    killed: list[bool] = []

    async def story(number: float) -> None:
        folder = tmp_path / str(number)
        killed.append(await die(telling, folder, Doom(moment, number)))
        run = await lived(telling, folder)
        assert (run.status, run.tasks[0].result) == ("complete", "approve by policy")
        async with opened(telling(folder), folder) as sup:
            entries, broken = await sup.audit(THREAD)
            events = [event.kind for event in await sup.events(THREAD)]
            trust = (await sup.trust())["ada"]
            told = await read_all(sup.graph.store, space("told", THREAD))
        assert ([entry.kind for entry in entries], broken) == (["requested", "answered"], "")
        assert (events.count("approval_requested"), events.count("approval_answered")) == (1, 1)
        assert trust.tasks_completed == 2
        assert len(told) <= 1  # nobody is told of a question that was decided before anybody could be

    await in_turns(story, numbers)
    assert sum(killed) >= len(killed) - 3
