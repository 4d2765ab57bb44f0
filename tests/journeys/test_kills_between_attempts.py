"""A process is killed after an agent's try: that try is not made again, whatever came of it."""

from pathlib import Path

from nodes.runtime.desk import Desk
from state.agent import AgentSpec, Brief
from tests.journeys.doom import Story, die, die_once, live, note, notes
from tests.postgres import count
from tests.runs import agent, plan


def fails_then_dies(folder: Path) -> Story:
    """The first try fails, the process ends in the second."""

    async def work(brief: Brief, desk: Desk) -> str:
        note(folder, "try")
        if len(notes(folder)) == 1:
            raise ConnectionError("not yet")
        die_once(folder, "trying")
        return "done"

    return Story([agent(work)], plan("a"), {"max_iterations": 0})


def is_doubted_then_dies(folder: Path) -> Story:
    """One result waits for a human while another task ends the process."""

    async def work(brief: Brief, desk: Desk) -> dict[str, object]:
        note(folder, brief.task.id)
        return {"result": "perhaps", "confidence": 0.1}

    async def dies(brief: Brief, desk: Desk) -> str:
        while not count(str(folder / "runs.db"), "SELECT count(*) FROM store WHERE prefix LIKE 'approvals.%'"):
            await desk.pause_point()
        die_once(folder, "working")
        return "done"

    doubter, killer = agent(work), AgentSpec(name="bob", role="killer", run=dies)
    return Story([doubter, killer], plan("a", {"id": "b", "role": "killer"}), {"max_iterations": 0})


async def test_a_try_that_failed_is_not_made_again_after_a_kill_in_the_next(tmp_path: Path) -> None:
    assert await die(fails_then_dies, tmp_path)
    run = await live(fails_then_dies, tmp_path)

    assert (run.status, run.tasks[0].attempts) == ("complete", 2)
    assert notes(tmp_path) == ["try", "try", "try"]  # the second one was cut off


async def test_a_result_that_a_human_is_asked_about_is_not_made_again_after_a_kill(tmp_path: Path) -> None:
    assert await die(is_doubted_then_dies, tmp_path)
    run = await live(is_doubted_then_dies, tmp_path)

    assert [(asked.task_id, asked.subject) for asked in run.approvals] == [("a", "result")]
    assert notes(tmp_path) == ["a"]
